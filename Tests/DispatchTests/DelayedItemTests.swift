// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import GrandCentral
import Testing

@Suite("A work item that waits for its time")
struct DelayedItemTests {
  private let queue = DispatchQueue(label: "delayed")

  /// How many seconds `count` timers take to fire, due one after the other, each with a work item of `item`'s, together with
  /// one more timer behind them.
  private func secondsToFire(_ count: Int, _ runs: Latch, _ item: () -> DispatchWorkItem) -> Double {
    let stranger = Latch()
    let start = DispatchTime.now() + .milliseconds(1)
    return measureSeconds {
      for index in 0..<count { queue.asyncAfter(deadline: start + .microseconds(index), execute: item()) }
      DispatchQueue(label: "stranger").asyncAfter(deadline: start + .microseconds(count)) { stranger.open() }
      #expect(stranger.wait(seconds: 120))
      #expect(runs.wait(seconds: 120))
    }
  }

  @Test("Q17: timers of one work item cost no more than timers of many, and hold up no other timer")
  func timersOfOneItem() {
    let count = 16_000
    let others = Latch(count)
    let many = secondsToFire(count, others) { DispatchWorkItem { others.open() } }
    // What the machine does besides can only add to a time: the least of some is the timers'.
    let one = (0..<3).map { _ in
      let runs = Latch(count)
      let item = DispatchWorkItem { runs.open() }
      return secondsToFire(count, runs) { item }
    }.min()!
    // A quadratic algorithm would take hundreds of times as long.
    #expect(one < max(1, 20 * many), "\(one) s for one item, \(many) s for many")
  }

  @Test(
    "W2: a thread that waits for a cancelled item waits for the execution that is under way, whenever the item was due besides"
  )
  func cancelWhileRunning() {
    for isRegisteredBefore in [true, false] {
      let wasInTime = (0..<10).contains { _ in
        let (begun, end) = (Latch(), Latch())
        let item = DispatchWorkItem {
          begun.open()
          end.wait()
        }
        DispatchQueue.global().async(execute: item)
        #expect(begun.wait())
        let deadline = DispatchTime.now() + .milliseconds(40)
        let due = isRegisteredBefore ? deadline : DispatchTime.now()
        queue.asyncAfter(deadline: deadline, execute: item)
        item.cancel()
        // Where the machine has taken longer than to the deadline, there may be another execution.
        guard DispatchTime.now() < deadline else {
          end.open()
          return false
        }
        let notified = Latch()
        if isRegisteredBefore { item.notify(queue: .global()) { notified.open() } }
        // The other time the instant has passed before the thread waits.
        while DispatchTime.now() < due + .milliseconds(60) {}
        #expect(item.wait(timeout: .now() + .milliseconds(60)) == .timedOut)
        #expect(!notified.isOpen)
        end.open()
        #expect(item.wait(timeout: .now() + Patience.seconds) == .success)
        if isRegisteredBefore { #expect(notified.wait()) }
        return true
      }
      #expect(wasInTime)
    }
  }

  /// Notes whether it ends outside of the queue's items.
  private final class Captured: Sendable {
    static let key = DispatchSpecificKey<Bool>()
    let elsewhere: Counter
    let gone: Latch

    init(_ elsewhere: Counter, _ gone: Latch) { (self.elsewhere, self.gone) = (elsewhere, gone) }

    deinit {
      if DispatchQueue.getSpecific(key: Self.key) != true { elsewhere.add() }
      gone.open()
    }
  }

  @Test("Q7: what a delayed item captures goes on the queue, before the next item")
  func captures() {
    let count = 4_000
    queue.setSpecific(key: Captured.key, value: true)
    // Where the machine has taken longer than to the deadline, this thread had some of the items still.
    let wasInTime = (1...10).contains { attempt in
      let (elsewhere, gone) = (Counter(), Latch(count))
      let deadline = DispatchTime.now() + .milliseconds(300 * attempt)
      for _ in 0..<count {
        let captured = Captured(elsewhere, gone)
        queue.asyncAfter(deadline: deadline, execute: DispatchWorkItem { withExtendedLifetime(captured) {} })
      }
      let wasInTime = DispatchTime.now() < deadline
      #expect(gone.wait())
      if wasInTime { #expect(elsewhere.value == 0) }
      return wasInTime
    }
    #expect(wasInTime)
  }

  @Test("W2: cancelling a delayed item releases its waiters when it would have been dequeued")
  func cancelWhileWaiting() {
    let due = DispatchTime.now() + .milliseconds(150)
    let (notified, runs) = (Latch(), Counter())
    let item = DispatchWorkItem { runs.add() }
    queue.asyncAfter(deadline: due, execute: item)
    let early = Counter()
    item.notify(queue: queue) {
      if DispatchTime.now() < due { early.add() }
      notified.open()
    }
    let waiter = BlockedThread {
      if item.wait(timeout: .now() + Patience.seconds) != .success { early.add(100) }
      if DispatchTime.now() < due { early.add() }
    }
    item.cancel()
    // On a loaded machine the item may have run before it was cancelled.
    let wasInTime = DispatchTime.now() < due
    #expect(notified.wait())
    waiter.join()
    #expect(early.value == 0)
    if wasInTime { #expect(runs.value == 0) }
  }

  @Test("Q17: a cancelled item's timers let go of it at once")
  func cancelReleasesTheItem() {
    weak var gone: DispatchWorkItem?
    do {
      let item = DispatchWorkItem {}
      gone = item
      for hours in 1...3 {
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(3_600 * hours), execute: item)
      }
      item.cancel()
    }
    // Long before any of them is due.
    #expect(eventually { gone == nil })
  }

  @Test("W2: a delayed item that has been cancelled can be waited for afterwards, and finishes with its first timer")
  func waitAfterCancel() {
    let item = DispatchWorkItem {}
    queue.asyncAfter(deadline: .now() + .seconds(3_600), execute: item)
    let due = DispatchWallTime.now() + .milliseconds(100)
    queue.asyncAfter(wallDeadline: due, execute: item)
    queue.asyncAfter(deadline: .now() + .seconds(1_800), execute: item)
    item.cancel()
    let first = item.wait(timeout: .now())
    // The clock may be put back by a little meanwhile.
    if DispatchWallTime.now() + .milliseconds(5) < due { #expect(first == .timedOut) }
    #expect(item.wait(timeout: .now() + Patience.seconds) == .success)
    let notified = Latch()
    item.notify(queue: queue) { notified.open() }
    #expect(notified.wait())
  }

  @Test("W2: an item that was cancelled before it was delayed finishes at its deadline")
  func cancelledBefore() {
    let item = DispatchWorkItem {}
    item.cancel()
    let (due, notified) = (DispatchTime.now() + .milliseconds(30), Latch())
    item.notify(queue: queue) { notified.open() }
    queue.asyncAfter(deadline: due, execute: item)
    #expect(notified.wait())
    #expect(DispatchTime.now() >= due)
    #expect(item.wait(timeout: .now()) == .success)
  }

  @Test("W2: a deadline that passes unwatched after the cancellation counts as soon as somebody asks")
  func dueInSilence() {
    let item = DispatchWorkItem {}
    queue.asyncAfter(deadline: .now() + .milliseconds(2), execute: item)
    item.cancel()
    let later = Latch()
    queue.asyncAfter(deadline: .now() + .milliseconds(10)) { later.open() }
    #expect(later.wait())
    #expect(item.wait(timeout: .now()) == .success)
  }

  @Test("W2 Q17: cancelled items that nobody watches any more are gone, whatever their deadlines")
  func cancelledAreReleased() {
    let buried = Latch(100)
    for _ in 0..<100 {
      let item = DispatchWorkItem {}
      let tombstone = Tombstone(buried)
      item.notify(queue: queue) { tombstone.visit() }
      queue.asyncAfter(deadline: .now() + .milliseconds(20), execute: item)
      item.cancel()
    }
    #expect(buried.wait())
  }

  @Test("W1 W2: cancelling races with the timers, and every waiter is released")
  func cancelRaces() {
    let runs = Counter()
    for round in 0..<200 {
      let item = DispatchWorkItem { runs.add() }
      let notified = Latch()
      item.notify(queue: queue) { notified.open() }
      for step in 0..<4 {
        queue.asyncAfter(deadline: .now() + .microseconds(20 + round % 50 + step), execute: item)
      }
      DispatchQueue.global().async { item.cancel() }
      guard item.wait(timeout: .now() + Patience.seconds) == .success, notified.wait() else {
        Issue.record("round \(round): the waiter is not released")
        return
      }
    }
    #expect(runs.value <= 800)
  }

  @Test("Q11: a delayed work item has the quality of service of its delayer, not of the timer's thread")
  func qosOfADelayedItem() {
    let seen = Recorder<UInt32>()
    for _ in 0..<20 {
      let done = Latch(2)
      DispatchQueue.global(qos: .userInitiated).async {
        let item = DispatchWorkItem {
          seen.note(gc_thread_self().pointee.qos >> 8)
          done.open()
        }
        queue.asyncAfter(deadline: .now() + .milliseconds(1), execute: item)
        DispatchQueue.global(qos: .background).async { done.open() }
      }
      #expect(done.wait())
    }
    #expect(Set(seen.values) == [0x19])
  }

  @Test("Q11: an item that asyncAndWait leaves to the drainer runs at its caller's quality of service")
  func qosOfAWaitedItem() {
    let (isIn, gate, seen) = (Latch(), Latch(), Recorder<UInt32>())
    queue.async(qos: .background, flags: .enforceQoS) {
      isIn.open()
      gate.wait()
    }
    #expect(isIn.wait())
    let caller = BlockedThread {
      gc_thread_self().pointee.qos = 0x2100
      queue.asyncAndWait { seen.note(gc_thread_self().pointee.qos) }
      gc_thread_self().pointee.qos = 0
    }
    #expect(caller.isAsleep())
    gate.open()
    caller.join()
    #expect(seen.values == [0x2100])
  }

  @Test("Q11: asyncAndWait runs an item at the queue's quality of service, and leaves the caller's alone")
  func qosOfAnItemInPlace() {
    let urgent = DispatchQueue(label: "urgent", qos: .userInitiated)
    let outer = gc_thread_self().pointee.qos
    #expect(urgent.asyncAndWait { gc_thread_self().pointee.qos } == 0x1900)
    #expect(gc_thread_self().pointee.qos == outer)
    let seen = Recorder<UInt32>()
    urgent.asyncAndWait(
      execute: DispatchWorkItem(qos: .userInteractive, flags: .enforceQoS) { seen.note(gc_thread_self().pointee.qos) })
    #expect(seen.values == [0x2100])
    #expect(gc_thread_self().pointee.qos == outer)
  }
}
