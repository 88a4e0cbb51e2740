// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Schedules that are still to come, the cheapest ones first.
///
/// A schedule is a list of switches, and the usual one behind them. A run of it shows where another thread could have gone on behind its
/// last switch: each of these is a schedule of its own. So every schedule comes once.
struct Frontier {
  /// A list of switches, which has all but its last one in common with others.
  final class Path {
    let before: Path?
    let last: Switch
    /// What it costs, as the frontier's user has it.
    let cost: Int

    init(_ last: Switch, behind before: Path?, cost: Int) {
      self.before = before
      self.last = last
      self.cost = cost
    }

    var switches: [Switch] {
      var switches: [Switch] = []
      var path: Path? = self
      while let one = path {
        switches.append(one.last)
        path = one.before
      }
      return switches.reversed()
    }
  }

  private let most: Int
  private var paths: [[Path]] = []
  private(set) var count = 0
  /// Whether schedules have been left out.
  private(set) var isCut = false

  /// - Parameter most: What a schedule may cost.
  init(most: Int) {
    self.most = most
  }

  mutating func next() -> Path? {
    for cost in paths.indices {
      guard let path = paths[cost].popLast() else { continue }
      count -= 1
      return path
    }
    return nil
  }

  /// Takes in what a run has shown.
  ///
  /// - Parameters:
  ///   - room: How many schedules may be run yet. Those that would come behind so many others are left out.
  ///   - price: What one more switch costs.
  mutating func add(
    _ branches: [BranchSchedule.Branch], behind path: Path?, room: Int, price: (BranchSchedule.Branch) -> Int
  ) {
    for branch in branches.reversed() {
      let cost = (path?.cost ?? 0) + price(branch)
      if cost > most { continue }
      while paths.count <= cost { paths.append([]) }
      for to in branch.others.reversed() {
        let last = Switch(thread: branch.thread, choice: branch.choice, to: to)
        paths[cost].append(Path(last, behind: path, cost: cost))
      }
      count += branch.others.count
      // It takes as long as there are schedules left.
      if count / 2 >= room { cut(to: room) }
    }
  }

  /// Leaves out those that would come last.
  private mutating func cut(to room: Int) {
    for cost in paths.indices.reversed() where count > room {
      let excess = min(count - room, paths[cost].count)
      paths[cost].removeFirst(excess)
      count -= excess
      isCut = true
    }
  }
}

/// Follows a list of switches, and writes down where another thread could have gone on behind the last one.
package final class BranchSchedule: Schedule {
  package struct Branch {
    let thread: Int
    let choice: Int
    /// Whether the thread could have gone on.
    let isPreemption: Bool
    /// Those that could have gone on instead.
    let others: [Int]

    package init(thread: Int, choice: Int, isPreemption: Bool, others: [Int]) {
      self.thread = thread
      self.choice = choice
      self.isPreemption = isPreemption
      self.others = others
    }
  }

  /// What was seen; set where the schedule was followed in another process.
  package var branches: [Branch] = []
  /// Whether there were more.
  package var isCut = false
  package let most: Int
  private var switches: ArraySlice<Switch>
  private var choices = ChoiceCounts()

  /// - Parameter most: So many branches are written down.
  init(_ switches: [Switch], most: Int = .max) {
    self.switches = switches[...]
    self.most = most
  }

  package func choose(among ready: [Int], current: Int?, from thread: Int) -> Int {
    let choice = choices.next(of: thread)
    let usual = Switch.usual(among: ready, current: current)
    if let next = switches.first {
      guard next.thread == thread, next.choice == choice, ready.contains(next.to) else { return usual }
      switches.removeFirst()
      return next.to
    }
    if branches.count < most {
      let others = ready.filter { $0 != usual }
      branches.append(Branch(thread: thread, choice: choice, isPreemption: current != nil, others: others))
    } else {
      isCut = true
    }
    return usual
  }
}
