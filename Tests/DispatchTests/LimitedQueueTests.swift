// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("A concurrent queue with a limit")
struct LimitedQueueTests {
  private func limited(_ limit: Int, target: DispatchQueue? = nil) -> DispatchQueue {
    DispatchQueue(label: "limited", maximumConcurrency: limit, target: target)
  }

  /// Items take so many places of the queue, and keep them until the latch is opened.
  private func hold(_ places: Int, of queue: DispatchQueue, _ occupancy: Occupancy) -> Latch {
    let (full, gate) = (Latch(places), Latch())
    for _ in 0..<places {
      queue.async {
        occupancy.enter()
        full.open()
        gate.wait()
        occupancy.leave()
      }
    }
    #expect(full.wait())
    return gate
  }

  @Test("Q3: never more items run at once than the limit says, however they come", arguments: [1, 2, 3, 7])
  func limitIsKept(limit: Int) {
    let queue = limited(limit)
    let (occupancy, alone) = (Occupancy(), Counter())
    let each = 300
    let done = Latch(22 + 4 * each)
    let item: @Sendable () -> Void = {
      occupancy.enter()
      occupancy.leave()
      done.open()
    }
    let gate = hold(limit, of: queue, occupancy)
    // All places are taken: what comes now waits.
    for _ in 0..<10 {
      queue.async(execute: item)
      queue.asyncAfter(deadline: .now(), execute: item)
    }
    let callers = [BlockedThread { queue.sync(execute: item) }, BlockedThread { queue.asyncAndWait(execute: item) }]
    for caller in callers { #expect(caller.isAsleep()) }
    letOthersStart()
    #expect(occupancy.inside == limit)
    gate.open()
    for caller in callers { caller.join() }
    // A thread that sleeps is replaced: there are more of them than processors.
    let long: @Sendable () -> Void = {
      occupancy.enter()
      usleep(1_000)
      occupancy.leave()
      done.open()
    }
    PlainThread.concurrently(4) { thread in
      for index in 0..<each {
        switch (index + thread) % 8 {
        case 0: queue.sync(execute: item)
        case 1: queue.asyncAndWait(execute: item)
        case 2:
          queue.async(flags: .barrier) {
            if occupancy.enter() > 1 { alone.add() }
            occupancy.leave()
            done.open()
          }
        case 3: queue.asyncAfter(deadline: .now() + .microseconds(index), execute: item)
        default: queue.async(execute: index % 40 == 4 ? long : item)
        }
      }
    }
    #expect(done.wait())
    #expect(occupancy.peak == limit)
    #expect(alone.value == 0, "a barrier was not alone")
  }

  @Test("Q3: all places of the limit are used", arguments: [1, 2, 5])
  func limitIsReached(limit: Int) {
    let queue = limited(limit)
    let (occupancy, gate, done) = (Occupancy(), Latch(), Latch(20))
    let full = Latch(limit)
    for _ in 0..<20 {
      queue.async {
        occupancy.enter()
        full.open()
        gate.wait()
        occupancy.leave()
        done.open()
      }
    }
    #expect(full.wait())
    #expect(occupancy.inside == limit)
    gate.open()
    #expect(done.wait())
    #expect(occupancy.peak == limit)
  }

  @Test("Q3: a place is filled as soon as it is free: an item that takes long holds no other up")
  func placesAreRefilled() {
    let queue = limited(2)
    let (gate, done) = (Latch(), Latch(50))
    let waited = Recorder<Bool>()
    // This item goes on when the items behind it have run, one after the other in the second place.
    queue.async { waited.note(gate.wait()) }
    for index in 0..<50 {
      queue.async {
        if index == 49 { gate.open() }
        done.open()
      }
    }
    #expect(done.wait())
    queue.sync(flags: .barrier) {}
    #expect(waited.values == [true])
  }

  @Test("Q1: items of a queue with a limit start in the order of their submission", arguments: [1, 3])
  func startsInOrder(limit: Int) {
    let queue = limited(limit)
    let order = StartOrder(items: 3_000)
    let done = Latch(3_000)
    for index in 0..<3_000 {
      queue.async {
        order.started(index)
        done.open()
      }
    }
    #expect(done.wait())
    #expect(order.worst < limit)
  }

  @Test("Q3: a barrier waits for all earlier items, runs alone, and later items wait for it")
  func barriersSeparate() {
    let queue = limited(3)
    let (readers, faults, itemsRun) = (Occupancy(), Recorder<String>(), Counter())
    for index in 0..<2_000 {
      if index % 10 == 9 {
        queue.async(flags: .barrier) {
          if readers.inside != 0 { faults.note("barrier \(index) met a reader") }
          if itemsRun.add() != index + 1 { faults.note("barrier \(index) came after \(itemsRun.value - 1) items") }
        }
      } else {
        queue.async {
          readers.enter()
          if itemsRun.add() <= index / 10 * 10 { faults.note("item \(index) came before its barrier") }
          readers.leave()
        }
      }
    }
    queue.sync(flags: .barrier) {}
    #expect(itemsRun.value == 2_000)
    #expect(faults.values == [])
    #expect(readers.peak <= 3)
  }

  @Test("Q3: a sync takes a place, and waits for one in order")
  func syncCounts() {
    let queue = limited(2)
    let (isIn, gate, order) = (Latch(2), Latch(), Recorder<String>())
    let syncer = BlockedThread {
      queue.sync {
        isIn.open()
        gate.wait()
      }
    }
    queue.async {
      isIn.open()
      gate.wait()
    }
    #expect(isIn.wait())
    queue.async { order.note("async") }
    let late = BlockedThread { queue.sync { order.note("sync") } }
    #expect(late.isAsleep())
    #expect(order.count == 0)
    gate.open()
    syncer.join()
    late.join()
    queue.sync(flags: .barrier) {}
    #expect(Set(order.values) == ["async", "sync"])
  }

  @Test("Q3: asyncAndWait takes a place", arguments: [1, 2])
  func asyncAndWaitCounts(limit: Int) {
    let queue = limited(limit)
    let (isIn, gate, order) = (Latch(limit), Latch(), Recorder<Int>())
    for index in 0..<limit {
      queue.async {
        isIn.open()
        gate.wait()
        order.note(index)
      }
    }
    #expect(isIn.wait())
    let waiter = BlockedThread { queue.asyncAndWait { order.note(limit) } }
    #expect(waiter.isAsleep())
    #expect(order.count == 0)
    gate.open()
    waiter.join()
    #expect(order.count >= 1)
  }

  @Test("Q10: queues that target one with a limit share its places; it keeps the limit when it is retargeted")
  func sharedLimit() {
    let serial = DispatchQueue(label: "target")
    let queue = limited(2)
    let children = (0..<3).map { DispatchQueue(label: "child \($0)", attributes: .concurrent, target: queue) }
    let (occupancy, utility) = (Occupancy(), DispatchQueue.global(qos: .utility))
    // On the serial target one of the two has its turn.
    for (places, next) in [(2, utility), (2, serial), (1, DispatchQueue.global())] {
      let (full, gate, done) = (Latch(places), Latch(), Latch(301))
      let item: @Sendable () -> Void = {
        occupancy.enter()
        full.open()
        gate.wait()
        occupancy.leave()
        done.open()
      }
      for index in 0..<300 { children[index % 3].async(execute: item) }
      #expect(full.wait())
      let caller = BlockedThread { children[0].sync(execute: item) }
      #expect(caller.isAsleep())
      letOthersStart(before: utility)
      #expect(occupancy.inside == places)
      queue.setTarget(queue: next)
      gate.open()
      #expect(done.wait())
      caller.join()
    }
    #expect(occupancy.peak == 2)
  }

  @Test("Q16: apply nests on a queue with a limit whose places its callers have taken", arguments: [1, 2, 3])
  func applyNests(limit: Int) {
    let queue = limited(limit)
    let (arrived, calls, occupancy) = (Latch(limit), Counter(), Occupancy())
    let done = Latch(limit)
    for _ in 0..<limit {
      queue.async {
        arrived.open()
        if arrived.wait() {
          queue.apply(iterations: 20) { _ in
            occupancy.enter()
            calls.add()
            occupancy.leave()
          }
        }
        done.open()
      }
    }
    #expect(done.wait() && calls.value == 20 * limit && occupancy.peak <= limit)
  }

  @Test("Q16: apply nests where a target has the limit, and in an item that a barrier waits for", arguments: [1, 2])
  func applyNestsBelow(limit: Int) {
    let target = limited(limit)
    let upon = DispatchQueue(label: "upon", attributes: .concurrent, target: target)
    let unlimited = DispatchQueue(label: "unlimited", attributes: .concurrent)
    let (arrived, calls, done) = (Latch(limit), Counter(), Latch(limit + 1))
    for _ in 0..<limit {
      upon.async {
        arrived.open()
        if arrived.wait() {
          upon.apply(iterations: 5) { _ in target.apply(iterations: 5) { _ in calls.add() } }
        }
        done.open()
      }
    }
    unlimited.async {
      unlimited.async(flags: .barrier) {}
      unlimited.apply(iterations: 25) { _ in calls.add() }
      done.open()
    }
    #expect(done.wait() && calls.value == 25 * (limit + 1))
  }

  @Test("Q16, Q14: iterations are items of the queue that apply is called on, wherever its place comes from")
  func applyElsewhere() {
    let (queue, inside) = (limited(3), DispatchQueue(label: "inside"))
    let (labels, done) = (Recorder<String>(), Latch())
    queue.async {
      inside.sync { queue.apply(iterations: 10) { _ in labels.note(DispatchQueue.current.label) } }
      done.open()
    }
    #expect(done.wait() && labels.values == Array(repeating: "limited", count: 10))
  }

  @Test("Q3: apply on a queue with a limit keeps it", arguments: [1, 2, 3])
  func applyKeepsTheLimit(limit: Int) {
    let (queue, occupancy, calls) = (limited(limit), Occupancy(), Counter())
    let gate = hold(limit - 1, of: queue, occupancy)
    // The caller has the last place, and its helpers wait for one.
    queue.apply(iterations: 400) { index in
      occupancy.enter()
      if index == 40 { letOthersStart() }
      calls.add()
      occupancy.leave()
    }
    gate.open()
    #expect(calls.value == 400)
    #expect(occupancy.peak == limit)
  }

  @Test("O5: suspension holds back what waits for a place, and resuming loses nothing")
  func suspension() {
    let queue = limited(2)
    let (gate, isIn, ran) = (Latch(), Latch(2), Counter())
    for _ in 0..<2 {
      queue.async {
        isIn.open()
        gate.wait()
      }
    }
    #expect(isIn.wait())
    for _ in 0..<100 { queue.async { ran.add() } }
    queue.suspend()
    gate.open()
    // Time for the two items to leave: their places must not be filled now.
    let passed = Latch()
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(5)) { passed.open() }
    #expect(passed.wait())
    #expect(ran.value == 0)
    queue.resume()
    queue.sync(flags: .barrier) {}
    #expect(ran.value == 100)
  }

  @Test("O3: a queue with items that wait for a place stays alive until they have run")
  func staysAlive() {
    let (gate, done) = (Latch(), Latch(100))
    do {
      let queue = limited(1)
      queue.async { gate.wait() }
      for _ in 0..<100 { queue.async { done.open() } }
    }
    gate.open()
    #expect(done.wait())
  }

  @Test("Q18: a queue says what its limit is")
  func limitIsReadable() {
    #expect(limited(4).maximumConcurrency == 4)
    #expect(limited(100_000).maximumConcurrency == nil)
    #expect(DispatchQueue(label: "serial").maximumConcurrency == 1)
    #expect(DispatchQueue(label: "concurrent", attributes: .concurrent).maximumConcurrency == nil)
    #expect(DispatchQueue.main.maximumConcurrency == 1)
    #expect(DispatchQueue.global().maximumConcurrency == nil)
    #expect("\(limited(4))" == "<DispatchQueue \"limited\": concurrent, at most 4 at once>")
    let inactive = DispatchQueue(label: "inactive", attributes: .initiallyInactive, maximumConcurrency: 2)
    let done = Latch()
    inactive.async { done.open() }
    #expect(!done.isOpen)
    inactive.activate()
    #expect(done.wait())
  }

  @Test("Q3: many threads, limits of every size, barriers and syncs: nothing is lost and no limit is broken")
  func underLoad() {
    for limit in 1...4 {
      let queue = limited(limit)
      let (occupancy, ran) = (Occupancy(), Counter())
      PlainThread.concurrently(6) { thread in
        var random = SeededRandom(seed: UInt64(thread + limit * 10))
        for _ in 0..<150 {
          let item: @Sendable () -> Void = {
            occupancy.enter()
            ran.add()
            occupancy.leave()
          }
          switch random.below(6) {
          case 0: queue.sync(execute: item)
          case 1: queue.async(flags: .barrier, execute: item)
          case 2: queue.sync(flags: .barrier, execute: item)
          default: queue.async(execute: item)
          }
        }
      }
      queue.sync(flags: .barrier) {}
      #expect(ran.value == 900)
      #expect(occupancy.peak <= limit)
    }
  }
}
