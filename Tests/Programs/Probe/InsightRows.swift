// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral
import Synchronization

// GRANDCENTRAL_RECORD=collect: short items of a serial queue that follow one another, and share readings of the counter.
extension Scenario {
  static func rows() {
    let count = 100_000
    let queue = DispatchQueue(label: "row")
    for _ in 0..<count { queue.async {} }
    queue.sync {}
    let region = awaitRegion()
    let mine = region.records.filter { $0.queue == region.number(labelled: "row") }
    // One thread submits, and the queue is first in, first out.
    let submissions = mine.filter { $0.kind == UInt8(GC_RECORD_SUBMIT) }.map(\.time).sorted()
    let items = mine.filter { $0.kind == UInt8(GC_RECORD_ITEM) }.sorted { $0.time < $1.time }
    let starts = items.map { $0.time - UInt64($0.length) }
    report("items", items.count)
    report("submissions", submissions.count)
    report("early", zip(starts, submissions).filter { $0 < $1 }.count)
    report("overlapping", zip(starts.dropFirst(), items).filter { $0 < $1.time }.count)
    report("follow", zip(starts.dropFirst(), items).filter { $0 == $1.time }.count > 0)
  }

  /// A row ends where the drainer's turn does: at a suspension, and where the queue goes to another target.
  static func endsOfRows() {
    var (whileSuspended, besideTarget) = (0, 0)
    for _ in 0..<50 {
      let (early, late) = endOfRow()
      whileSuspended += early
      besideTarget += late
    }
    report("whileSuspended", whileSuspended)
    report("afterSuspension", (0..<50).reduce(0) { most, _ in max(most, afterSuspension()) })
    report("besideTarget", besideTarget)
  }

  /// How many items begin after the queue has been suspended, in the middle of many: one may have begun before.
  private static func afterSuspension() -> Int {
    let begun = Atomic(0)
    let queue = DispatchQueue(label: "row")
    for _ in 0..<5_000 { queue.async { begun.wrappingAdd(1, ordering: .relaxed) } }
    queue.suspend()
    let seen = begun.load(ordering: .relaxed)
    for _ in 0..<500 { sched_yield() }
    let more = begun.load(ordering: .relaxed) - seen
    queue.resume()
    queue.sync {}
    return more
  }

  /// In an unoptimised build the items that suspend and that change the target are mostly too long for a row: with a larger
  /// `Lane.shortItem` this is seen to fail where a row goes on.
  private static func endOfRow() -> (early: Int, late: Int) {
    let (mayBegin, isBeforeChange) = (Latch(1), Latch(1))
    let (isSuspended, isResumed, isFree) = (Flag(), Flag(), Flag())
    let other = DispatchQueue(label: "other")
    let mayEnd = DispatchSemaphore(value: 0)
    other.async { mayEnd.wait() }
    let queue = DispatchQueue(label: "row", target: DispatchQueue(label: "target"))
    // Guarded by the queue.
    nonisolated(unsafe) var (early, late) = (0, 0)
    queue.async { mayBegin.wait() }
    for _ in 0..<3 { queue.async {} }
    queue.async {
      queue.suspend()
      // A call of the kernel would make a long item of it, which ends a row as well.
      isSuspended.set()
    }
    for _ in 0..<3 { queue.async { early += isResumed.isSet ? 0 : 1 } }
    queue.async { isBeforeChange.open() }
    queue.setTarget(queue: other)
    // The other queue has an item of its own.
    for _ in 0..<3 { queue.async { late += isFree.isSet ? 0 : 1 } }
    mayBegin.open()
    while !isSuspended.isSet {}
    isResumed.set()
    queue.resume()
    isBeforeChange.wait()
    isFree.set()
    mayEnd.signal()
    queue.sync {}
    return (early, late)
  }

  private final class Flag: Sendable {
    private let word = Atomic(false)
    var isSet: Bool { word.load(ordering: .acquiring) }
    func set() { word.store(true, ordering: .releasing) }
  }
}
