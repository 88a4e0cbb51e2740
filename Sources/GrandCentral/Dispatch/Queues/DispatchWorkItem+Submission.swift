// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Where an item was submitted last, so that a thread that waits for it can boost that queue: `submittedTo`.
//
//   | value   | means                                                          |
//   |---------|----------------------------------------------------------------|
//   | 0       | nowhere, or it has run                                         |
//   | busy    | a waiter is boosting the queue                                 |
//   | address | of the queue, not retained                                     |
//
// WorkItem.B1  A queue with a pending item is alive, and its runner forgets it before the item's turn is over.
//     Forgetting waits while the word is busy; so a waiter that has made an address busy may use that queue until it
//     puts the address back.
// WorkItem.B2  While the word is busy, only the thread that made it busy changes it.
//
// An item that is submitted to several queues remembers at most one of them: boosting is best effort.
//
// Rejected: a retained reference (four more atomic changes for each item, for the sake of those that are waited for).
extension DispatchWorkItem {
  private static var busy: UInt { 1 }

  /// Before the item is put into `queue`.
  final func noteSubmission(to queue: DispatchQueue) {
    let address = Borrowed(queue).bits
    var seen: UInt = 0
    // Nearly always it is nowhere.
    if exchangeSubmission(&seen, address) || seen == address { return }
    noteScattering()
    replaceSubmission(with: address)
  }

  /// Before the turn of the item on its queue is over.
  final func forgetSubmission() {
    // relaxed: the thread that runs the item sees at least what its submitter noted.
    if submittedTo.load(ordering: .relaxed) != 0 { replaceSubmission(with: 0) }
  }

  @inline(__always)
  private final func replaceSubmission(with new: UInt) {
    // relaxed: verified by the exchange.
    var seen = submittedTo.load(ordering: .relaxed)
    while seen != new {
      if seen == Self.busy {
        seen = awaitBooster()
      } else if exchangeSubmission(&seen, new) {
        return
      }
    }
  }

  @inline(__always)
  private final func exchangeSubmission(_ seen: inout UInt, _ new: UInt) -> Bool {
    // pairs with: boostSubmission – publishes the queue; waits for its last use of the one before
    let (exchanged, found) = submittedTo.compareExchange(
      expected: seen, desired: new, successOrdering: .acquiringAndReleasing,
      // relaxed: followed by another attempt.
      failureOrdering: .relaxed)
    seen = found
    return exchanged
  }

  @inline(never)
  private final func awaitBooster() -> UInt {
    var backoff = Backoff()
    while true {
      // relaxed: verified by the exchange that follows.
      let seen = submittedTo.load(ordering: .relaxed)
      if seen != Self.busy { return seen }
      backoff.wait()
    }
  }

  /// Contract.W4: the item's queue moves up to the waiter's band until it has caught up.
  ///
  /// - Parameter waiter: The band of the thread or the task that waits; the calling thread's by default.
  /// - Returns: what the waiter lends besides, until its wait is over.
  final func boostSubmission(for waiter: Band = QoSWord.ofThread.band) -> Loan {
    // relaxed: verified by the exchange.
    var seen = submittedTo.load(ordering: .relaxed)
    while true {
      if seen == Self.busy { seen = awaitBooster() }
      if seen == 0 { return .none }
      let address = seen
      guard exchangeSubmission(&seen, Self.busy) else { continue }
      // unsafe: WorkItem.B1.
      let loan = Borrowed<DispatchQueue>(bits: address)!.use { queue in
        queue.boost(Urgency.of(waiter))
        return queue.lend(from: waiter, for: wantedQoS)
      }
      // pairs with: exchangeSubmission – publishes that the queue is no longer used
      submittedTo.store(address, ordering: .releasing)
      return loan
    }
  }
}

extension Items {
  /// A work item; `extra` is the item, retained.
  static let workItem: Job.Invoke = { raw in
    let job = Job(raw: raw)
    let item = Borrowed<DispatchWorkItem>(word: job.extra!)
    job.recycle()
    item.use { $0.runSubmitted() }
    item.giveBack()
  }
}
