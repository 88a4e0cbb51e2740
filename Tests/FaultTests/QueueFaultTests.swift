// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("Misuse of queues traps")
struct QueueFaultTests {
  @Test("F1, Q10 GC0009: a target that closes a circle", arguments: [false, true])
  func targetCycle(active: Bool) async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      [active] in
      let attributes: DispatchQueue.Attributes = active ? [] : .initiallyInactive
      let first = DispatchQueue(label: "org.example.first", attributes: attributes)
      let second = DispatchQueue(label: "org.example.second", target: first)
      let third = DispatchQueue(label: "org.example.third", target: second)
      first.setTarget(queue: third)
      first.activate()
      first.sync {}
    }
    expectFault(result, "GC0009", mentions: "\"org.example.first\"", "\"org.example.third\"", "cycle")
  }

  @Test("F1, Q10 GC0009: a queue as its own target")
  func targetIsSelf() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let queue = DispatchQueue(label: "org.example.self")
      queue.setTarget(queue: queue)
      queue.sync {}
    }
    expectFault(result, "GC0009", mentions: "\"org.example.self\"")
  }

  @Test("F1, Q10 GC0010: a new target for a global queue")
  func setTargetOnGlobal() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      DispatchQueue.global(qos: .utility).setTarget(queue: DispatchQueue(label: "target"))
    }
    expectFault(result, "GC0010", mentions: "setTarget", "\"com.apple.root.utility-qos\"")
  }

  @Test("F1, Q10 GC0010: a new target for the main queue")
  func setTargetOnMain() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      DispatchQueue.main.setTarget(queue: .global())
    }
    expectFault(result, "GC0010", mentions: "setTarget", "\"com.apple.main-thread\"")
  }

  @Test("F1, Q18 GC0031: a queue that may run nothing at once", arguments: [0, -1])
  func noConcurrency(limit: Int) async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) { [limit] in
      _ = DispatchQueue(label: "org.example.narrow", maximumConcurrency: limit)
    }
    expectFault(result, "GC0031", mentions: "\"org.example.narrow\"", "maximumConcurrency", "1 or more")
  }

  @Test("F1, Q19 GC0022: a target for a workloop that it cannot have")
  func invalidTargetForWorkloop() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      DispatchWorkloop(label: "org.example.loop").setTarget(queue: DispatchQueue(label: "org.example.target"))
    }
    expectFault(result, "GC0022", mentions: "\"org.example.loop\"")
  }

  @Test("F1, Q13 GC0011: a precondition to be on a queue")
  func preconditionOnQueue() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let expected = DispatchQueue(label: "org.example.expected")
      let actual = DispatchQueue(label: "org.example.actual")
      actual.sync { dispatchPrecondition(condition: .onQueue(expected)) }
    }
    expectFault(
      result, "GC0011", mentions: "\"org.example.expected\"", "\"org.example.actual\"", "QueueFaultTests.swift")
  }

  @Test("F1, Q13 GC0011: running on the target is not running on the queue above it")
  func preconditionUpTheChain() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let target = DispatchQueue(label: "org.example.target")
      let above = DispatchQueue(label: "org.example.above", target: target)
      target.sync { dispatchPrecondition(condition: .onQueue(above)) }
    }
    expectFault(result, "GC0011", mentions: "\"org.example.above\"")
  }

  @Test("F1, Q13 GC0012: a precondition to be a barrier, in a reader")
  func preconditionAsBarrier() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let queue = DispatchQueue(label: "org.example.concurrent", attributes: .concurrent)
      queue.async { dispatchPrecondition(condition: .onQueueAsBarrier(queue)) }
      Latch().wait()
    }
    expectFault(result, "GC0012", mentions: "\"org.example.concurrent\"", "barrier")
  }

  @Test("F1, Q13 GC0013: a precondition not to be on a queue, which is the target of the current one")
  func preconditionNotOnQueue() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let target = DispatchQueue(label: "org.example.target")
      let queue = DispatchQueue(label: "org.example.queue", target: target)
      queue.async { dispatchPrecondition(condition: .notOnQueue(target)) }
      Latch().wait()
    }
    expectFault(result, "GC0013", mentions: "expects not to be on queue \"org.example.target\"")
  }

  @Test("F1, Q15 GC0014: dispatchMain off the main thread")
  func dispatchMainOffMainThread() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      PlainThread { dispatchMain() }.join()
    }
    expectFault(result, "GC0014", mentions: "dispatchMain", "main thread")
  }

  @Test("F1, Q15 GC0014: dispatchMain in an async main that the runtime has taken off the main thread")
  func dispatchMainInAsyncMain() {
    let result = Probe.run("dispatch-main-at-end", of: .asyncMain)
    #expect(result.end == .killed(SIGABRT), "\(result)")
    expectFault(result.errors, "GC0014", mentions: ["dispatchMain", "async"])
  }

  @Test("F1, Q15 GC0036: dispatchMain in an item of the main queue", arguments: ["main-again", "main-again-in-drain"])
  func dispatchMainInItem(scenario: String) {
    let result = Probe.run(scenario)
    #expect(result.end == .killed(SIGABRT), "\(result)")
    expectFault(result.errors, "GC0036", mentions: ["dispatchMain", "\"com.apple.main-thread\""])
  }

  @Test("F1, Q15 GC0036: dispatchMain in an async main that runs in items of the main queue")
  func dispatchMainInAsyncMainOnPool() {
    let result = Probe.run("pool-dispatch-main", of: .asyncMain)
    if result.skipped != nil { return }
    #expect(result.end == .killed(SIGABRT), "\(result)")
    expectFault(result.errors, "GC0036", mentions: ["dispatchMain", "async"])
  }

  @Test("F1, Q15 GC0020: draining the main queue off the main thread")
  func drainOffMainThread() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      PlainThread { DispatchMainLoop.drain() }.join()
    }
    expectFault(result, "GC0020", mentions: "drain", "main thread")
  }

  @Test("F1, Q18 GC0015: a relative priority out of range", arguments: [1, -16])
  func relativePriorityOutOfRange(priority: Int) async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      [priority] in
      let qos = DispatchQoS(qosClass: .utility, relativePriority: priority)
      DispatchQueue(label: "org.example.priority", qos: qos).sync {}
    }
    expectFault(result, "GC0015", mentions: String(priority), "15")
  }

  @Test("F1, Q16 GC0016: a negative number of iterations")
  func negativeIterations() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      DispatchQueue.concurrentPerform(iterations: -3) { _ in }
    }
    expectFault(result, "GC0016", mentions: "concurrentPerform", "-3")
  }

  @Test("F1, E1 GC0025: a pool size out of range", arguments: [0, -1, 1_025])
  func poolOverrideOutOfRange(size: Int) async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) { [size] in
      GrandCentralRuntime.processorOverride = size
    }
    expectFault(result, "GC0025", mentions: String(size), "1024")
  }
}
