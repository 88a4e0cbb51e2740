// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("A group")
struct GroupTests {
  private let group = DispatchGroup()

  @Test("G1: wait on a group that nobody entered returns at once")
  func emptyGroup() {
    group.wait()
    #expect(group.wait(timeout: .now()) == .success)
    #expect(group.wait(wallTimeout: .now()) == .success)
  }

  @Test("G1: wait returns when as many have left as had entered")
  func countsEntries() {
    let passed = Latch()
    for _ in 0..<3 { group.enter() }
    let waiter = BlockedThread { [group] in
      group.wait()
      passed.open()
    }
    for _ in 0..<2 {
      #expect(waiter.isAsleep())
      group.leave()
    }
    #expect(waiter.isAsleep())
    #expect(!passed.isOpen)
    group.leave()
    waiter.join()
    #expect(passed.isOpen)
  }

  @Test("G1: async with a group enters before it returns and leaves after the item ran")
  func asyncEntersAndLeaves() {
    let gate = Latch()
    let finished = Counter()
    for index in 0..<20 {
      DispatchQueue(label: "member-\(index)").async(group: group) {
        if index == 0 { gate.wait() }
        finished.add()
      }
    }
    #expect(group.wait(timeout: .now()) == .timedOut)
    gate.open()
    group.wait()
    #expect(finished.value == 20)
  }

  @Test("G1: work items join a group too, cancelled ones as well")
  func workItems() {
    let queue = DispatchQueue(label: "member")
    let runs = Counter()
    let (item, cancelled) = (DispatchWorkItem { runs.add() }, DispatchWorkItem { runs.add() })
    cancelled.cancel()
    queue.async(group: group, execute: item)
    queue.async(group: group, execute: cancelled)
    #expect(group.wait(timeout: .now() + 30) == .success)
    #expect(runs.value == 1)
  }

  @Test("G1: a wait with a timeout returns no earlier than the deadline")
  func timeout() {
    group.enter()
    let start = monotonicNanoseconds()
    #expect(group.wait(timeout: .now() + .milliseconds(30)) == .timedOut)
    #expect(monotonicNanoseconds() - start >= 30_000_000)
    // By that clock alone, which may be put right against the other one.
    let wall = DispatchWallTime.now() + .milliseconds(30)
    #expect(group.wait(wallTimeout: wall) == .timedOut)
    #expect(hasCome(wall))
    #expect(group.wait(timeout: .now() - 1) == .timedOut)
    group.leave()
    #expect(group.wait(timeout: .distantFuture) == .success)
    #expect(group.wait(wallTimeout: .distantFuture) == .success)
  }

  @Test("G1: many waiters are all let through, and what the members did is seen")
  func manyWaiters() {
    let sum = Unprotected(0)
    let (passed, wrong) = (Counter(), Counter())
    group.enter()
    let waiters = (0..<6).map { _ in
      BlockedThread { [group] in
        group.wait()
        if sum.value != 42 { wrong.add() }
        passed.add()
      }
    }
    for waiter in waiters { #expect(waiter.isAsleep()) }
    sum.value = 42
    group.leave()
    for waiter in waiters { waiter.join() }
    #expect(passed.value == 6)
    #expect(wrong.value == 0)
  }

  @Test("G2: notify submits after the count has reached zero")
  func notifies() {
    let queue = DispatchQueue(label: "notified")
    let (gate, finished, seen, done) = (Latch(), Counter(), Recorder<Int>(), Latch())
    for _ in 0..<10 {
      DispatchQueue.global().async(group: group) {
        gate.wait()
        finished.add()
      }
    }
    group.notify(queue: queue) {
      seen.note(finished.value)
      done.open()
    }
    queue.sync {}
    #expect(seen.count == 0)
    gate.open()
    #expect(done.wait())
    #expect(seen.values == [10])
  }

  @Test("G2: notify on a group at zero submits at once, asynchronously")
  func notifiesAtZero() {
    let (queue, done) = (DispatchQueue(label: "notified"), Latch(2))
    queue.suspend()
    group.notify(queue: queue) { done.open() }
    group.notify(queue: queue, work: DispatchWorkItem { done.open() })
    #expect(!done.isOpen)
    queue.resume()
    #expect(done.wait())
  }

  @Test("G2: every notification is submitted once, in the order in which they were asked for")
  func severalNotifications() {
    let (queue, recorder) = (DispatchQueue(label: "notified"), Recorder<Int>())
    group.enter()
    for index in 0..<10 { group.notify(queue: queue) { recorder.note(index) } }
    group.leave()
    group.wait()
    #expect(eventually { recorder.count == 10 })
    queue.sync {}
    #expect(recorder.values == Array(0..<10))
  }

  @Test("G2: a group is used again and again")
  func reuse() {
    let (queue, notified, finished) = (DispatchQueue(label: "notified"), Counter(), Counter())
    for round in 1...300 {
      for _ in 0..<3 { DispatchQueue.global().async(group: group) { finished.add() } }
      let done = Latch()
      group.notify(queue: queue) {
        notified.add()
        done.open()
      }
      group.wait()
      #expect(finished.value == round * 3)
      #expect(done.wait())
      #expect(notified.value == round)
    }
  }

  @Test("G2: an item that adds items to its own group never lets a waiter through early")
  func itemsAddItems() {
    let finished = Counter()
    for round in 1...30 {
      @Sendable func grow(_ depth: Int) {
        if depth > 0 {
          for _ in 0..<2 { DispatchQueue.global().async(group: group) { grow(depth - 1) } }
        }
        finished.add()
      }
      DispatchQueue.global().async(group: group) { grow(5) }
      group.wait()
      #expect(finished.value == round * 63)
    }
  }

  @Test("G2: a notification may enter the group again")
  func notificationReenters() {
    let (queue, done) = (DispatchQueue(label: "notified"), Latch())
    group.enter()
    group.notify(queue: queue) { [group] in
      group.enter()
      group.notify(queue: queue) { done.open() }
      group.leave()
    }
    group.leave()
    #expect(done.wait())
  }

  @Test("G1: entering and leaving from many threads balances")
  func contended() {
    let notified = Latch()
    group.enter()
    group.notify(queue: .global()) { notified.open() }
    PlainThread.concurrently(4) { [group] _ in
      for _ in 0..<5_000 {
        group.enter()
        group.leave()
      }
    }
    #expect(!notified.isOpen)
    #expect(group.wait(timeout: .now()) == .timedOut)
    group.leave()
    #expect(notified.wait())
    #expect(group.wait(timeout: .now()) == .success)
  }
}
