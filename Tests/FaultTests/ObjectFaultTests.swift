// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

@testable import GrandCentral

@Suite("Misuse of objects traps")
struct ObjectFaultTests {
  @Test("F1, O6 GC0001: resume without suspend")
  func resumeWithoutSuspend() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      DispatchQueue(label: "org.example.resumed").resume()
    }
    expectFault(result, "GC0001", mentions: "resume", "\"org.example.resumed\"", "suspend")
  }

  @Test("F1, O6 GC0001: one resume too many after balanced ones")
  func resumeTooOften() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let queue = DispatchQueue(label: "org.example.resumed", attributes: .concurrent)
      for _ in 0..<100 { queue.suspend() }
      for _ in 0..<101 { queue.resume() }
    }
    expectFault(result, "GC0001", mentions: "\"org.example.resumed\"")
  }

  @Test("F1, O6 GC0002: last release of a suspended queue")
  func releasedWhileSuspended() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      var queue: DispatchQueue? = DispatchQueue(label: "org.example.suspended")
      queue?.suspend()
      queue = nil
    }
    expectFault(result, "GC0002", mentions: "\"org.example.suspended\"", "suspended", "Resume")
  }

  @Test("F1, O6 GC0039: last release of a queue inside a synchronous item of it", arguments: [false, true])
  func releasedWhileHeld(concurrent: Bool) async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      [concurrent] in
      let queue = Unmanaged.passRetained(
        DispatchQueue(label: "org.example.held", attributes: concurrent ? .concurrent : []))
      // Without optimization the call itself has references.
      queue._withUnsafeGuaranteedRef { $0.sync { for _ in 0..<8 { queue.release() } } }
    }
    expectFault(result, "GC0039", mentions: "\"org.example.held\"", "synchronous item", "Keep")
  }

  @Test("F1, O6 GC0002: last release of a source that is active and suspended")
  func sourceReleasedWhileSuspended() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      var source: (any DispatchSourceTimer)? = DispatchSource.makeTimerSource(queue: .global())
      source?.schedule(deadline: .now() + .seconds(100))
      source?.activate()
      source?.suspend()
      source = nil
      // If a worker has begun with an event, it holds the last reference. Then that worker traps.
      sleep(UInt32(Patience.seconds))
    }
    expectFault(result, "GC0002", mentions: "timer source", "suspended", "Resume")
  }

  @Test("F1, O6 GC0002: last release of a source that watches a descriptor, is cancelled, and was not resumed")
  func sourceReleasedWhileCancelledAndSuspended() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      var source: (any DispatchSourceRead)? = DispatchSource.makeReadSource(fileDescriptor: 0, queue: .global())
      source?.activate()
      source?.suspend()
      source?.suspend()
      source?.resume()
      source?.cancel()
      source = nil
      // As above.
      sleep(UInt32(Patience.seconds))
    }
    expectFault(result, "GC0002", mentions: "read source", "suspended", "Resume")
  }

  @Test("F1, O6: a source that was suspended and resumed lives on by itself")
  func sourceReleasedAfterResume() async {
    await #expect(processExitsWith: .exitCode(7)) {
      var source: (any DispatchSourceTimer)? = DispatchSource.makeTimerSource(queue: .global())
      source?.schedule(deadline: .now() + .milliseconds(1))
      source?.setEventHandler { exit(7) }
      source?.suspend()
      source?.activate()
      source?.suspend()
      source?.resume()
      source?.resume()
      source = nil
      sleep(UInt32(Patience.seconds))
    }
  }

  @Test("F1, O6 GC0003: last release of a source that was not activated, with a handler")
  func sourceReleasedWhileInactive() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      var source: (any DispatchSourceTimer)? = DispatchSource.makeTimerSource(queue: .global())
      source?.setEventHandler {}
      source = nil
    }
    expectFault(result, "GC0003", mentions: "timer source", "activate")
  }

  @Test("F1, O6: a source that has no handlers, or is cancelled, may go before it is activated")
  func sourceReleasedInPeace() async {
    await #expect(processExitsWith: .exitCode(0)) {
      _ = DispatchSource.makeTimerSource(queue: .global())
      let source = DispatchSource.makeTimerSource(queue: .global())
      source.setEventHandler {}
      source.cancel()
      exit(0)
    }
  }

  @Test("F1, O6 GC0003: last release of a queue that was not activated, with work pending")
  func releasedWhileInactive() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      var queue: DispatchQueue? = DispatchQueue(label: "org.example.inactive", attributes: .initiallyInactive)
      queue?.async {}
      queue = nil
    }
    expectFault(result, "GC0003", mentions: "\"org.example.inactive\"", "activate")
  }

  @Test("F1, O6 GC0004: leaving a group that was not entered")
  func leaveWithoutEnter() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let group = DispatchGroup()
      group.enter()
      group.leave()
      group.leave()
    }
    expectFault(result, "GC0004", mentions: "leave", "enter")
  }

  @Test("F1, O6 GC0005: last release of a group that is entered")
  func groupReleasedWhileEntered() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      var group: DispatchGroup? = DispatchGroup()
      group?.enter()
      group = nil
    }
    expectFault(result, "GC0005", mentions: "DispatchGroup", "leave")
  }

  @Test("F1, O6 GC0006: last release of a semaphore whose value is below its start")
  func semaphoreReleasedInUse() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      var semaphore: DispatchSemaphore? = DispatchSemaphore(value: 2)
      semaphore?.wait()
      semaphore = nil
    }
    expectFault(result, "GC0006", mentions: "DispatchSemaphore", "Signal")
  }

  @Test("F1, O6: a semaphore above its start value, or back at it, is released in peace")
  func semaphoreReleasedAtRest() async {
    await #expect(processExitsWith: .exitCode(0)) {
      for value in 0..<3 {
        let semaphore = DispatchSemaphore(value: value)
        semaphore.signal()
        if value == 1 { semaphore.wait() }
      }
      exit(0)
    }
  }

  @Test("F1, G3 GC0008: a negative start value")
  func semaphoreNegativeValue() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      _ = DispatchSemaphore(value: -1)
    }
    expectFault(result, "GC0008", mentions: "DispatchSemaphore", "-1")
  }

  @Test("F1, G1 GC0019: entering a group more often than it can count")
  func groupEnterOverflow() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      DispatchGroup(entered: DispatchGroup.mostEntered).enter()
    }
    expectFault(result, "GC0019", mentions: "enter", "leave")
  }

  @Test("F1, W2 GC0017: an item that waits for itself")
  func workItemWaitOnSelf() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let holder = Guarded<DispatchWorkItem?>(nil)
      let item = DispatchWorkItem { holder.with { $0! }.wait() }
      holder.with { $0 = item }
      DispatchQueue(label: "org.example.waiting").async(execute: item)
      Latch().wait()
    }
    expectFault(result, "GC0017", mentions: "wait", "\"org.example.waiting\"", "notify")
  }

  @Test("F1, X2 GC0040: two tasks that wait for the events of one iterator")
  func eventsOfTwoTasks() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      nonisolated(unsafe) let iterator = DispatchSource.timer(every: .seconds(1_000)).makeAsyncIterator()
      for _ in 0..<2 { Task { _ = await iterator.next() } }
      // Until one of them traps.
      try await Task.sleep(for: .seconds(Patience.seconds))
    }
    expectFault(result, "GC0040", mentions: "two tasks", "DispatchSource.Events", "Give each")
  }

  @Test("F1, G4 GC0023: once called from inside its body")
  func onceReentered() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let once = DispatchOnce()
      once.run { once.run {} }
    }
    expectFault(result, "GC0023", mentions: "DispatchOnce")
  }
}
