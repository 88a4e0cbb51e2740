// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

/// One life: some trees of queues, threads that do whatever comes to their minds with them, and what must hold:
///
/// 1  What was submitted runs exactly once, or is cancelled; all ends, by itself.
/// 2  Along the chain on which an item runs, each serial queue runs nothing else; a queue with a limit runs no more
///    than that; a barrier is alone on its queue.
/// 3  Items of one submitter run in order on a serial queue, whatever its target; on a concurrent one, around barriers.
/// 4  `concurrentPerform` returns when all is done, and each index was done once.
/// 5  A delayed item does not come early; a group is empty when it says so; a semaphore lets through what it was given.
/// 6  Afterwards nothing holds a queue or a closure.
final class Life: FuzzLife, Sendable {
  let seed: UInt64
  let trees: [[FuzzQueue]]
  let threads: Int
  /// Whether the threads do nothing but `concurrentPerform`, with bodies long enough for the monitor to help.
  let isConvoy: Bool
  let story: String
  let failures = Recorder<String>()
  let (submitted, settled, ended) = (Counter(), Counter(), Counter())
  /// Items that hold a thread while they wait: few enough for any pool.
  let waiting = Counter()
  /// What closures and queues hold.
  let tokens: Counter

  init(seed: UInt64) {
    self.seed = seed
    var random = SeededRandom(seed: seed)
    let tokens = Counter()
    self.tokens = tokens
    isConvoy = random.oneIn(5)
    threads = isConvoy ? 24 : [2, 3, 4, 8, 24][random.below(5)]
    var trees: [[FuzzQueue]] = []
    for tree in 0..<(1 + random.below(3)) {
      var queues: [FuzzQueue] = []
      for _ in 0..<(2 + random.below(6)) {
        let target = queues.isEmpty || random.oneIn(5) ? nil : queues[random.below(queues.count)]
        queues.append(.init(tree: tree, number: queues.count, target: target, threads: threads, tokens, &random))
      }
      trees.append(queues)
    }
    // The last tree has the main queue at its bottom: what runs there waits for no other.
    let last = trees.count - 1
    var queues = [FuzzQueue(main: last, threads: threads, tokens)]
    for number in 1...(2 + random.below(5)) {
      let target = random.oneIn(4) ? nil : queues[random.below(queues.count)]
      queues.append(.init(tree: last + 1, number: number, target: target, threads: threads, tokens, &random))
    }
    trees.append(queues)
    self.trees = trees
    story = isConvoy ? "a convoy" : "\(trees.map(\.count)) queues, \(threads) threads"
  }

  func fail(_ text: String) { failures.note(text) }

  func token() -> Token { Token(tokens) }

  /// What went wrong, if anything did.
  func run() -> String? {
    for queue in trees.joined() where queue.isInactive { activateSoon(queue) }
    var handles: [PlainThread] = []
    for thread in 0..<threads {
      handles.append(
        PlainThread { [self] in
          var submitter = Submitter(number: thread, life: self)
          submitter.run()
          ended.add()
        })
    }
    if let failure = waitFor("threads", { [self] in ended.value == threads }) { return failure }
    for handle in handles { handle.join() }
    if let failure = waitFor("items", { [self] in settled.value == submitted.value }) { return failure }
    for queue in trees.joined() { queue.letGo() }
    if let failure = waitFor("tokens", { [self] in tokens.value == 0 }) { return failure }
    return failures.values.first
  }

  /// The guard against a hang; a failure ends the wait.
  private func waitFor(_ what: String, _ condition: () -> Bool) -> String? {
    let isOver = eventually(seconds: Patience.seconds) { condition() || failures.count > 0 }
    if let failure = failures.values.first { return failure }
    return isOver ? nil : "\(what) do not end"
  }

  private func activateSoon(_ queue: FuzzQueue) {
    submitted.add()
    let token = token()
    DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(Int(seed % 1500))) { [self] in
      token.visit()
      queue.activate()
      settled.add()
    }
  }

  var state: String {
    var text =
      "threads \(ended.value) of \(threads), items \(settled.value) of \(submitted.value), tokens \(tokens.value)"
    for queue in trees.joined() { text += "\n  \(queue.state)" }
    return text
  }
}

/// Held by each closure and queue: it goes when the last of them goes.
final class Token: Sendable {
  private let tokens: Counter

  init(_ tokens: Counter) {
    self.tokens = tokens
    tokens.add()
  }

  func visit() {}

  deinit { tokens.add(-1) }
}
