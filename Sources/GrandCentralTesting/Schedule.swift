// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Decides which thread goes on, at each point of a run.
package protocol Schedule: AnyObject {
  /// A thread that goes on.
  ///
  /// - Parameters:
  ///   - ready: The threads that can go on, by their numbers, in order: two or more.
  ///   - current: The one that runs, if it can go on.
  ///   - thread: The one that has run until now, whether it can go on or not.
  ///   - step: How many points the run has passed.
  func choose(among ready: [Int], current: Int?, from thread: Int, step: Int) -> Int
}

/// At each point another thread goes on with the same probability. Each run has its own: rarely, often, or at every second point.
package final class RandomSchedule: Schedule {
  private var randomness: Randomness
  private let rarity: Int

  init(seed: UInt64) {
    randomness = Randomness(seed: seed)
    rarity = [2, 4, 16, 64][randomness.below(4)]
  }

  package func choose(among ready: [Int], current: Int?, from thread: Int, step: Int) -> Int {
    guard let current else { return ready[randomness.below(ready.count)] }
    if randomness.below(rarity) != 0 { return current }
    return ready[randomness.below(ready.count)]
  }
}

/// Probabilistic concurrency testing: each thread has a priority by chance, and the most urgent one that can go on does. At `depth - 1`
/// points, by chance as well, the thread that runs becomes the least urgent one. A bug that needs `depth` steps in a certain order is
/// found with a probability of at least one in (2 × threads × length ^ (depth - 1)) a run.
///
/// In every other run a thread that begins to wait becomes less urgent, too. So it may be overtaken, when it is woken, by one that has not
/// run yet: by changes at points it would have had to be urgent before, and not afterwards.
package final class PriorityChangeSchedule: Schedule {
  private var randomness: Randomness
  /// By number of thread; the greatest goes first.
  private var priorities: [UInt64] = []
  /// Where priorities change, the next one last.
  private var changes: [Int]
  /// Behind which point the next thread that waits becomes less urgent; `.max` if none does, any more.
  private var changeAtWait = Int.max

  /// - Parameter length: How many points a run has, about.
  init(seed: UInt64, depth: Int, length: Int) {
    var randomness = Randomness(seed: seed)
    changes = (1..<max(1, depth)).map { _ in randomness.below(max(1, length)) }.sorted(by: >)
    if randomness.below(2) == 0 { changeAtWait = randomness.below(max(1, length)) }
    self.randomness = randomness
  }

  package func choose(among ready: [Int], current: Int?, from thread: Int, step: Int) -> Int {
    while let next = changes.last, next <= step {
      changes.removeLast()
      // The later the change, the lower the priority.
      setPriority(of: thread, to: UInt64(changes.count))
    }
    if current == nil, changeAtWait <= step {
      changeAtWait = .max
      setPriority(of: thread, to: UInt64(changes.count))
    }
    var best = ready[0]
    for thread in ready where priority(of: thread) > priority(of: best) { best = thread }
    return best
  }

  private func priority(of thread: Int) -> UInt64 {
    while priorities.count <= thread { priorities.append(randomness.next() | 1 << 32) }
    return priorities[thread]
  }

  private func setPriority(of thread: Int, to priority: UInt64) {
    _ = self.priority(of: thread)
    priorities[thread] = priority
  }
}
