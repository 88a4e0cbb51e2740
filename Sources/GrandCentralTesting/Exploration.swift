// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Which schedules come, one after the other.
package struct Exploration {
  /// There is one simulation at a time in a process.
  static let one = Mutex(())

  package let seed: UInt64
  private let strategy: Simulation.Strategy
  private let processors: Int
  private var left: Int
  private var randomness: Randomness
  private let replayed: Token?
  /// How many choices a run has: the most that were seen, and for the first run a guess.
  private var length = 16
  /// Of an exhaustive exploration: what is to come, what comes now, and whether the next one is the first.
  private var frontier = Frontier(most: 0)
  private var path: Frontier.Path?
  private var hasBegun = false
  /// Of runs of an exhaustive exploration: one has not come by the switches of its path, so that what lies behind them has not been seen; or
  /// has started what takes no part.
  private var gapsOfRuns: OrderGaps = []
  /// Whether a run has shown more than was written down.
  private var isCut = false
  private var orders: OrderSearch
  private static let leastProcessors = 16
  /// Whether all schedules within the bound have been run.
  package private(set) var isComplete = false
  /// Why all schedules may not be all, a sentence for each reason.
  package var gaps: [String] { orders.gaps.union(gapsOfRuns).sentences }

  /// The next schedule.
  package struct Plan {
    package let token: Token
    package let schedule: any Schedule
  }

  /// - Parameter dependence: For a test of the search for all orders.
  package init(
    _ runs: Int, _ strategy: Simulation.Strategy, _ processors: Int, _ seed: UInt64, _ dependence: Dependence? = nil
  ) {
    self.strategy = strategy
    orders = OrderSearch(dependence ?? Dependence(), collects: dependence != nil)
    self.processors = processors
    self.seed = seed
    randomness = Randomness(seed: seed)
    var (left, replayed) = (runs, Token?.none)
    switch strategy {
    case .replay(let text):
      replayed = Token(text)
      left = min(1, runs)
    case .exhaustive(let preemptions, let most):
      frontier = Frontier(most: max(0, preemptions))
      left = most
    case .everyOrder(let most): left = most
    case .random, .pct: break
    }
    self.left = left
    self.replayed = replayed
  }

  /// Whether the token to replay is none.
  package var isBad: Bool {
    if case .replay = strategy { return replayed == nil }
    return false
  }

  /// Whether a schedule that fails is shrunk: one that is replayed stays what it is.
  package var shrinks: Bool { replayed == nil }

  /// The next schedule; nil when there were enough.
  package mutating func next() -> Plan? {
    if case .exhaustive = strategy { return nextOfAll() }
    if case .everyOrder = strategy { return nextOrder() }
    if left <= 0 { return nil }
    left -= 1
    switch strategy {
    case .random: return plan(.random(seed: randomness.next()))
    case .pct(let depth):
      return plan(.priorityChange(seed: randomness.next(), depth: min(max(1, depth), 100), length: length))
    case .replay: return replayed.map { Plan(token: $0, schedule: $0.schedule) }
    case .exhaustive, .everyOrder: return nil
    }
  }

  private mutating func nextOfAll() -> Plan? {
    if hasBegun {
      path = frontier.next()
      if path == nil {
        isComplete = gapsOfRuns.isEmpty && !frontier.isCut && !isCut
        return nil
      }
    }
    if left <= 0 { return nil }
    hasBegun = true
    left -= 1
    let switches = path?.switches ?? []
    return Plan(token: Token(.switches(switches), processors: processors), schedule: BranchSchedule(switches))
  }

  private mutating func nextOrder() -> Plan? {
    if isComplete { return nil }
    guard let schedule = orders.next() else {
      isComplete = orders.gaps.isEmpty && gapsOfRuns.isEmpty
      return nil
    }
    if left <= 0 { return nil }
    left -= 1
    return Plan(
      token: Token(.fineSwitches([]), processors: max(processors, Self.leastProcessors)), schedule: schedule)
  }

  /// How many runs of the search for all orders have shown nothing new, and the classes that the others have shown.
  var classes: (redundant: Int, hashes: Set<UInt64>) { (orders.redundant, orders.hashes) }

  private func plan(_ kind: Token.Kind) -> Plan {
    let token = Token(kind, processors: processors)
    return Plan(token: token, schedule: token.schedule)
  }

  /// What the run has shown.
  package mutating func note(_ plan: Plan, _ attempt: Attempt) {
    length = max(length, attempt.choices)
    if attempt.hasTaskOutside, strategy.isExhaustive { gapsOfRuns.insert(OrderGaps(.taskOutside)) }
    if let schedule = plan.schedule as? OrderSchedule { orders.note(schedule) }
    guard let schedule = plan.schedule as? BranchSchedule else { return }
    if let made = attempt.switches, made != path?.switches ?? [] { gapsOfRuns.insert(OrderGaps(.lostWay)) }
    if schedule.isCut { isCut = true }
    frontier.add(schedule.branches, behind: path, room: left) { $0.isPreemption ? 1 : 0 }
  }
}
