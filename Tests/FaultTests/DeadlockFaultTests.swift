// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("A sync that would deadlock traps at once")
struct DeadlockFaultTests {
  @Test("F1, Q9 GC0007: sync onto the queue that the thread is on")
  func syncOnSelf() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let queue = DispatchQueue(label: "org.example.self")
      queue.sync { queue.sync {} }
    }
    expectFault(result, "GC0007", mentions: "sync", "\"org.example.self\"", "async")
  }

  @Test("F1, Q9 GC0007: sync from an asynchronous item onto its own queue")
  func syncFromItem() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let queue = DispatchQueue(label: "org.example.self")
      queue.async { queue.sync {} }
      Latch().wait()
    }
    expectFault(result, "GC0007", mentions: "\"org.example.self\"")
  }

  @Test("F1, Q9 GC0007: asyncAndWait onto the queue that the thread is on")
  func asyncAndWaitOnSelf() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let queue = DispatchQueue(label: "org.example.self")
      queue.async { queue.asyncAndWait {} }
      Latch().wait()
    }
    expectFault(result, "GC0007", mentions: "\"org.example.self\"")
  }

  @Test("F1, Q9 GC0007: apply onto the queue that the thread is on")
  func applyOnSelf() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let queue = DispatchQueue(label: "org.example.self")
      queue.sync { queue.apply(iterations: 2) { _ in } }
    }
    expectFault(result, "GC0007", mentions: "\"org.example.self\"", "(sync, asyncAndWait, apply)")
  }

  @Test("F1, Q9 GC0007: sync onto a target of the current queue, with the chain")
  func syncOnTarget() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let bottom = DispatchQueue(label: "org.example.bottom")
      let middle = DispatchQueue(label: "org.example.middle", target: bottom)
      let top = DispatchQueue(label: "org.example.top", target: middle)
      top.async { bottom.sync {} }
      Latch().wait()
    }
    expectFault(result, "GC0007", mentions: "\"org.example.bottom\"", "org.example.top", "org.example.middle")
  }

  @Test("F1, Q9 GC0007: sync onto a queue whose target this thread holds")
  func syncOnSibling() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let target = DispatchQueue(label: "org.example.target")
      let first = DispatchQueue(label: "org.example.first", target: target)
      let second = DispatchQueue(label: "org.example.second", target: target)
      first.async { second.sync {} }
      Latch().wait()
    }
    expectFault(result, "GC0007", mentions: "org.example.target")
  }

  @Test("F1, Q9 GC0007: sync onto a busy queue that targets the one that the thread is on")
  func syncOnBusyClient() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let target = DispatchQueue(label: "org.example.target")
      let client = DispatchQueue(
        label: "org.example.client", target: DispatchQueue(label: "org.example.between", target: target))
      target.async {
        client.async {}
        client.sync {}
      }
      Latch().wait()
    }
    expectFault(
      result, "GC0007", mentions: "item of \"org.example.client\"", "its items run as items of \"org.example.target\"")
  }

  @Test("F1, Q9 GC0007: asyncAndWait onto an idle queue that targets the one that the thread is on")
  func asyncAndWaitOnIdleClient() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let target = DispatchQueue(label: "org.example.target")
      let client = DispatchQueue(label: "org.example.client", target: target)
      target.sync {
        client.asyncAndWait {}
      }
    }
    expectFault(result, "GC0007", mentions: "\"org.example.client\"", "\"org.example.target\"")
  }

  @Test("F1, Q9 GC0007: asyncAndWait onto a busy queue that targets the one that the thread is on")
  func asyncAndWaitOnBusyClient() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let target = DispatchQueue(label: "org.example.target")
      let client = DispatchQueue(label: "org.example.client", target: target)
      target.sync {
        client.async {}
        client.asyncAndWait {}
      }
    }
    expectFault(result, "GC0007", mentions: "\"org.example.client\"", "\"org.example.target\"")
  }

  @Test("F1, Q9 GC0007: sync from a barrier onto a queue whose target is held")
  func syncFromBarrierOnClient() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let target = DispatchQueue(label: "org.example.target", attributes: .concurrent)
      let client = DispatchQueue(label: "org.example.client", target: target)
      target.async(flags: .barrier) { client.sync {} }
      Latch().wait()
    }
    expectFault(result, "GC0007", mentions: "\"org.example.client\"", "\"org.example.target\"")
  }

  @Test("F1, Q10 GC0009: two queues that become each other's targets while both wait for it")
  func mutualTargets() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let (first, second) = (DispatchQueue(label: "org.example.first"), DispatchQueue(label: "org.example.second"))
      first.suspend()
      second.suspend()
      first.setTarget(queue: second)
      second.setTarget(queue: first)
      first.resume()
      second.resume()
      Latch().wait()
    }
    expectFault(result, "GC0009", mentions: "\"org.example.first\"", "\"org.example.second\"")
  }

  @Test("F1, Q9 GC0007: sync onto an outer queue of nested syncs")
  func syncOnOuter() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let (outer, inner) = (DispatchQueue(label: "org.example.outer"), DispatchQueue(label: "org.example.inner"))
      outer.sync { inner.sync { outer.sync {} } }
    }
    expectFault(result, "GC0007", mentions: "\"org.example.outer\"")
  }

  @Test("F1, Q9 GC0007: sync from inside a barrier of a concurrent queue")
  func syncFromBarrier() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let queue = DispatchQueue(label: "org.example.concurrent", attributes: .concurrent)
      queue.sync(flags: .barrier) { queue.sync {} }
    }
    expectFault(result, "GC0007", mentions: "\"org.example.concurrent\"")
  }

  @Test("F1, Q9 GC0007: sync on the main queue from the main thread")
  func syncOnMain() {
    let result = Probe.run("main-sync-on-main")
    #expect(result.end == .killed(SIGABRT), "\(result)")
    expectFault(result.errors, "GC0007", mentions: ["\"com.apple.main-thread\""])
  }

  @Test("F1, Q9 GC0018: a barrier sync from a reader of the same queue")
  func barrierFromReader() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let queue = DispatchQueue(label: "org.example.concurrent", attributes: .concurrent)
      queue.sync { queue.sync(flags: .barrier) {} }
    }
    expectFault(result, "GC0018", mentions: "\"org.example.concurrent\"", "barrier", "async")
  }

  @Test("F1, Q9 GC0018: a barrier sync from an asynchronous reader of the same queue")
  func barrierFromAsyncReader() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let queue = DispatchQueue(label: "org.example.concurrent", attributes: .concurrent)
      queue.async { queue.sync(flags: .barrier) {} }
      Latch().wait()
    }
    expectFault(result, "GC0018", mentions: "\"org.example.concurrent\"")
  }

  @Test("F1, Q9 GC0007: sync onto a queue with a limit by a thread that holds all of its places", arguments: [1, 3])
  func syncOntoOwnPlaces(limit: Int) async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) { [limit] in
      let queue = DispatchQueue(label: "org.example.limited", maximumConcurrency: limit)
      @Sendable func enter(_ left: Int) { left == 0 ? queue.asyncAndWait {} : queue.sync { enter(left - 1) } }
      queue.async { enter(limit - 1) }
      Latch().wait()
    }
    expectFault(result, "GC0007", mentions: "\"org.example.limited\"", "at once")
  }

  @Test("F1, Q9 GC0007: sync onto a queue whose target has a limit of one, from that target")
  func syncOntoLimitedTarget() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let target = DispatchQueue(label: "org.example.limited", maximumConcurrency: 1)
      let (first, second) = (
        DispatchQueue(label: "first", target: target), DispatchQueue(label: "second", target: target)
      )
      first.sync { second.sync {} }
    }
    expectFault(result, "GC0007", mentions: "\"org.example.limited\"")
  }

  @Test("F1, Q9 GC0007: sync onto a queue that waits for a place of its target, by a thread that holds all places")
  func syncOntoWaitingForOwnPlaces() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let target = DispatchQueue(label: "org.example.limited", maximumConcurrency: 1)
      let queue = DispatchQueue(label: "org.example.waiting", target: target)
      target.async {
        queue.async {}
        queue.sync {}
        exit(1)
      }
      exit(Latch().wait() ? 1 : 2)
    }
    expectFault(result, "GC0007", mentions: "\"org.example.waiting\"", "items of \"org.example.limited\"", "at once")
  }

  @Test("Q9: a sync onto a queue with a limit goes through while others hold its places, and below the limit")
  func syncOntoOthersPlaces() async {
    await #expect(processExitsWith: .exitCode(0)) {
      let queue = DispatchQueue(label: "org.example.limited", maximumConcurrency: 2)
      queue.sync { queue.sync {} }
      let child = DispatchQueue(label: "child", target: queue)
      child.async { queue.sync {} }
      child.sync { queue.sync {} }
      let (isIn, gate, done) = (Latch(2), Latch(), Latch())
      for _ in 0..<2 {
        queue.async {
          isIn.open()
          gate.wait()
        }
      }
      guard isIn.wait() else { exit(2) }
      let syncer = BlockedThread { queue.sync { done.open() } }
      guard syncer.isAsleep() else { exit(3) }
      gate.open()
      exit(done.wait() ? 0 : 1)
    }
  }

  @Test("Q9: a sync that only looks like it is let through")
  func innocentSyncs() async {
    await #expect(processExitsWith: .exitCode(0)) {
      let concurrent = DispatchQueue(label: "org.example.concurrent", attributes: .concurrent)
      concurrent.sync { concurrent.sync {} }
      DispatchQueue.global().sync { DispatchQueue.global().sync {} }
      let (first, second) = (DispatchQueue(label: "first"), DispatchQueue(label: "second"))
      first.sync { second.sync {} }
      second.sync { first.sync {} }
      let done = Latch(2)
      for target in [DispatchQueue.global(), concurrent] {
        let left = DispatchQueue(label: "left", target: target)
        let right = DispatchQueue(label: "right", target: target)
        left.async { right.sync { done.open() } }
      }
      exit(done.wait() ? 0 : 1)
    }
  }
}
