// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Synchronization

/// What one submitter knows of its items on one queue. Items with a number are those submitted by `async` and `sync`,
/// for which contract Q1 promises an order; delayed and cancellable ones have none.
final class Ledger: Sendable {
  let finished = Counter()
  let barriersFinished = Counter()
  /// Written by the submitter only.
  let numbered = Unprotected(0)
  let barriers = Unprotected(0)
}

/// A queue of a random hierarchy, and what must be true of it.
final class StressQueue: Sendable {
  let index: Int
  let queue: DispatchQueue
  let isConcurrent: Bool
  /// Serial queues on the way to the root, this one included, as far as they never change.
  let serialChain: [StressQueue]
  let ledgers: [Ledger]
  private let occupied = Counter()
  private let readers = Counter()

  init(index: Int, isConcurrent: Bool, target: StressQueue?, qos: DispatchQoS, submitters: Int) {
    self.index = index
    self.isConcurrent = isConcurrent
    queue = DispatchQueue(
      label: "stress-\(index)", qos: qos, attributes: isConcurrent ? .concurrent : [], target: target?.queue)
    serialChain = (target?.serialChain ?? []) + (target.map { $0.isConcurrent ? [] : [$0] } ?? [])
    ledgers = (0..<submitters).map { _ in Ledger() }
  }

  /// Serial exclusivity, of this queue and of every serial queue below it.
  func enterChain(_ faults: Recorder<String>) {
    for link in isConcurrent ? serialChain : serialChain + [self] where link.occupied.add() != 1 {
      faults.note("two items at once on serial queue \(link.index)")
    }
  }

  func leaveChain() {
    for link in isConcurrent ? serialChain : serialChain + [self] { link.occupied.add(-1) }
  }

  /// Readers and barriers of this queue.
  func enter(asBarrier: Bool, _ faults: Recorder<String>) {
    guard isConcurrent else { return }
    let barrier = 1 << 32
    let now = readers.add(asBarrier ? barrier : 1)
    let isAlone = asBarrier ? now == barrier : now < barrier
    if !isAlone { faults.note("a barrier and another item at once on queue \(index)") }
  }

  func leave(asBarrier: Bool) {
    guard isConcurrent else { return }
    readers.add(asBarrier ? -(1 << 32) : -1)
  }
}

/// A forest of random queues. Queues of a lower tree may wait for those of a higher one, never the other way round.
final class StressWorld: Sendable {
  static let submitters = 3
  /// Names the nearest queue that never changes its target.
  static let base = DispatchSpecificKey<Int>()

  let trees: [[StressQueue]]
  /// Queues that change their targets, with the tree in which they stay.
  let wanderers: [(queue: StressQueue, tree: Int)]
  let faults = Recorder<String>()
  let submitted = Counter()
  let settled = Counter()

  init(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let classes: [DispatchQoS] = [.unspecified, .unspecified, .background, .utility, .default, .userInitiated]
    var index = 0
    var trees: [[StressQueue]] = []
    var wanderers: [(StressQueue, Int)] = []
    for tree in 0..<3 {
      var queues: [StressQueue] = []
      for _ in 0..<(2 + random.below(5)) {
        let target = queues.isEmpty || random.oneIn(3) ? nil : queues[random.below(queues.count)]
        let queue = StressQueue(
          index: index, isConcurrent: random.oneIn(3), target: target, qos: classes[random.below(classes.count)],
          submitters: Self.submitters)
        queue.queue.setSpecific(key: Self.base, value: index)
        queues.append(queue)
        index += 1
      }
      trees.append(queues)
      let wanderer = StressQueue(
        index: index, isConcurrent: random.oneIn(3), target: nil, qos: .unspecified, submitters: Self.submitters)
      wanderers.append((wanderer, tree))
      index += 1
    }
    self.trees = trees
    self.wanderers = wanderers
  }

  /// The queue of the current chain that `base` names.
  private func currentBase() -> StressQueue? {
    guard let index = DispatchQueue.getSpecific(key: Self.base) else { return nil }
    for tree in trees {
      for queue in tree where queue.index == index { return queue }
    }
    return nil
  }

  /// The checks around one item.
  func run(on queue: StressQueue, asBarrier: Bool, _ body: () -> Void) {
    let base = currentBase()
    // A queue that never changes its target is its own base.
    if base !== queue { queue.enterChain(faults) }
    base?.enterChain(faults)
    queue.enter(asBarrier: asBarrier, faults)
    body()
    queue.leave(asBarrier: asBarrier)
    base?.leaveChain()
    if base !== queue { queue.leaveChain() }
    settled.add()
  }

  /// A numbered item of `submitter`, whose place in the order is taken here, on the submitting thread.
  func numberedItem(
    on queue: StressQueue, submitter: Int, asBarrier: Bool, _ body: @escaping @Sendable () -> Void = {}
  ) -> @Sendable () -> Void {
    let ledger = queue.ledgers[submitter]
    let (number, barriers) = (ledger.numbered.value, ledger.barriers.value)
    ledger.numbered.value += 1
    if asBarrier { ledger.barriers.value += 1 }
    submitted.add()
    return { [self] in
      run(on: queue, asBarrier: asBarrier) {
        let (finished, barriersFinished) = (ledger.finished.value, ledger.barriersFinished.value)
        if (asBarrier || !queue.isConcurrent) && finished != number {
          faults.note("item \(number) of submitter \(submitter) on queue \(queue.index) ran after \(finished) others")
        }
        if barriersFinished != barriers {
          faults.note("item \(number) on queue \(queue.index) saw \(barriersFinished) barriers, not \(barriers)")
        }
        body()
        ledger.finished.add()
        if asBarrier { ledger.barriersFinished.add() }
      }
    }
  }

  /// An item without a place in the order.
  func looseItem(on queue: StressQueue, asBarrier: Bool) -> @Sendable () -> Void {
    submitted.add()
    return { [self] in run(on: queue, asBarrier: asBarrier) {} }
  }
}
