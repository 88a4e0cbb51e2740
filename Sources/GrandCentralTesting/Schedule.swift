// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Decides which thread goes on, at each point of a run.
package protocol Schedule: AnyObject {
  /// A thread that goes on.
  ///
  /// - Parameters:
  ///   - ready: The threads that can go on, by their numbers, in order: two or more.
  ///   - current: The one that runs, if it can go on.
  ///   - thread: The one that has run until now, whether it can go on or not.
  func choose(among ready: [Int], current: Int?, from thread: Int) -> Int
}

/// At each point another thread goes on with the same probability. Each run has its own: rarely, often, or at every second point.
package final class RandomSchedule: Schedule {
  private var randomness: Randomness
  private let rarity: Int

  init(seed: UInt64) {
    randomness = Randomness(seed: seed)
    rarity = [2, 4, 16, 64][randomness.below(4)]
  }

  package func choose(among ready: [Int], current: Int?, from thread: Int) -> Int {
    guard let current else { return ready[randomness.below(ready.count)] }
    if randomness.below(rarity) != 0 { return current }
    return ready[randomness.below(ready.count)]
  }
}

/// Probabilistic concurrency testing: each thread has a priority by chance, and the most urgent one that can go on does. At `depth - 1`
/// choices, by chance as well, the thread that runs becomes the least urgent one. A bug that needs `depth` steps in a certain order is
/// found with a probability of at least one in (8/3 × threads × length ^ (depth - 1)) a run.
///
/// What counts are choices: points at which another thread could go on. A change elsewhere would change nothing, and where most points are of
/// that kind, as at the beginning of a program, hardly any change would be left.
///
/// In every other run a thread that begins to wait becomes less urgent, too. So it may be overtaken, when it is woken, by one that has not
/// run yet: by changes at points it would have had to be urgent before, and not afterwards. And in every fourth run there are more changes,
/// up to one at every second choice: a bug that needs one change more than `depth` has is found by those, and a short program soon.
package final class PriorityChangeSchedule: Schedule {
  private var randomness: Randomness
  /// By number of thread; the greatest goes first.
  private var priorities: [UInt64] = []
  /// Where priorities change, the next one last.
  private var changes: [Int]
  /// Behind which choice the next thread that waits becomes less urgent; `.max` if none does, any more.
  private var changeAtWait = Int.max
  /// How many choices there were.
  private var choices = 0

  /// The most changes of a run with more of them.
  private static let most = 64

  /// - Parameter length: How many choices a run has, about.
  init(seed: UInt64, depth: Int, length: Int) {
    var randomness = Randomness(seed: seed)
    let length = max(1, length)
    var count = max(1, depth) - 1
    if randomness.below(4) == 0 { count += 1 + randomness.below(min(max(1, length / 2), Self.most)) }
    changes = (0..<count).map { _ in randomness.below(length) }.sorted(by: >)
    if randomness.below(2) == 0 { changeAtWait = randomness.below(length) }
    self.randomness = randomness
  }

  package func choose(among ready: [Int], current: Int?, from thread: Int) -> Int {
    while let next = changes.last, next <= choices {
      changes.removeLast()
      // The later the change, the lower the priority.
      setPriority(of: thread, to: UInt64(changes.count))
    }
    if current == nil, changeAtWait <= choices {
      changeAtWait = .max
      setPriority(of: thread, to: UInt64(changes.count))
    }
    choices += 1
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
