// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

private struct Refusal: Error, Equatable { let index: Int }
private enum Local { @TaskLocal static var value = 0 }

@Suite("A scope of items", .timeLimit(.minutes(30)))
struct GroupScopeTests {
  @Test("X2: returns when everything that it has started has ended")
  func waits() async {
    let count = Counter()
    let result = await withDispatchGroup { scope in
      for _ in 0..<100 { scope.async(on: .global()) { count.add() } }
      for _ in 0..<100 { scope.async(on: DispatchQueue(label: "own")) { count.add() } }
      return 5
    }
    #expect(result == 5)
    #expect(count.value == 200)
  }

  @Test("X2: a body that throws keeps back what has not started, and waits for the rest")
  func throwing() async {
    let queue = DispatchQueue(label: "scope")
    let (started, gate, count, finished) = (Latch(), Latch(), Counter(), Counter())
    await #expect(throws: Refusal(index: 1)) {
      try await withDispatchGroup { scope in
        scope.async(on: queue) {
          started.open()
          gate.wait()
          finished.add()
        }
        for _ in 0..<10 { scope.async(on: queue) { count.add() } }
        await blocking { started.wait() }
        // The first item ends some time after the throw has been seen, however long the thread of the throw is kept waiting.
        DispatchQueue.global().async {
          #expect(eventually { scope.isCancelled })
          DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(20)) { gate.open() }
        }
        throw Refusal(index: 1)
      }
    }
    #expect(finished.value == 1)
    #expect(count.value == 0)
  }

  @Test("X2: cancelling the task is seen while the body runs")
  func cancelledDuringBody() async {
    let (inside, sees) = (Latch(), Latch())
    let task = Task {
      await withDispatchGroup { scope in
        inside.open()
        await blocking { if eventually({ scope.isCancelled }) { sees.open() } }
      }
    }
    await blocking { inside.wait() }
    task.cancel()
    await task.value
    #expect(sees.isOpen)
  }

  @Test("X2: cancelling the task keeps back what has not started")
  func cancelled() async {
    let queue = DispatchQueue(label: "scope")
    let (started, count, saw) = (Latch(), Counter(), Counter())
    let task = Task {
      await withDispatchGroup { scope in
        scope.async(on: queue) {
          started.open()
          if eventually({ scope.isCancelled }) { saw.add() }
        }
        for _ in 0..<10 { scope.async(on: queue) { count.add() } }
      }
    }
    await blocking { started.wait() }
    task.cancel()
    await task.value
    #expect(saw.value == 1)
    #expect(count.value == 0)
  }

  @Test("X2: the end waits for no work but the scope's own, while less urgent bands starve")
  func endsWhileBandsStarve() {
    let result = Probe.run(
      "overtaken-scope", environment: ["GRANDCENTRAL_THREADS": "1", "GRANDCENTRAL_THREAD_BUDGET": "1"])
    #expect(result.ended, "\(result)")
    #expect(result["ended"] == "1", "\(result)")
  }

  @Test("X2: an entry ends with its first leave, or when it is forgotten")
  func entries() async {
    let left = Counter()
    await withDispatchGroup { scope in
      let entry = scope.enter()
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(10)) {
        left.add()
        entry.leave()
        entry.leave()
      }
      _ = scope.enter()
    }
    #expect(left.value == 1)
  }
}

/// Off the threads of Swift Concurrency, where a test may block.
func blocking(_ work: @escaping @Sendable () -> Void) async {
  await withUnsafeContinuation { continuation in
    DispatchQueue.global().async {
      work()
      continuation.resume()
    }
  }
}

@Suite("concurrentMap", .timeLimit(.minutes(30)))
struct ConcurrentMapTests {
  @Test("X2: keeps the order, of any number of elements", arguments: [0, 1, 2, 3, 100, 10_000])
  func order(count: Int) async throws {
    #expect(try await DispatchQueue.concurrentMap(0..<count) { $0 * 2 } == (0..<count).map { $0 * 2 })
    #expect(try await DispatchQueue(label: "serial").concurrentMap(0..<count) { $0 + 1 } == Array(1..<count + 1))
    let slice = Array(0..<count + 5).dropFirst(5)
    #expect(try await DispatchQueue.global(qos: .utility).concurrentMap(slice) { $0 } == Array(slice))
  }

  @Test("X2: calls beside each other on a concurrent queue, one at a time on a serial one")
  func width() async throws {
    let serial = Occupancy()
    _ = try await DispatchQueue(label: "serial").concurrentMap(0..<200) { _ in
      serial.enter()
      serial.leave()
    }
    #expect(serial.peak == 1)
    if Kernel.usableProcessors > 1 {
      let (both, arrived) = (Latch(2), Counter())
      _ = try await DispatchQueue.concurrentMap(0..<2) { _ in
        both.open()
        if both.wait() { arrived.add() }
      }
      #expect(arrived.value == 2)
    }
  }

  @Test("X2: throws the error of the earliest element that failed, and begins no more calls")
  func errors() async {
    let calls = Counter()
    await #expect(throws: Refusal(index: 3)) {
      try await DispatchQueue(label: "serial").concurrentMap(0..<1_000) { index in
        calls.add()
        if index >= 3 { throw Refusal(index: index) }
        return index
      }
    }
    #expect(calls.value == 4)
    await #expect(throws: Refusal.self) {
      try await DispatchQueue.concurrentMap(0..<1_000) { index in
        if index % 10 == 3 { throw Refusal(index: index) }
        return index
      }
    }
  }

  @Test("X2: a cancelled task begins no more calls, and throws")
  func cancellation() async {
    let (calls, inside, gate) = (Counter(), Latch(), Latch())
    let task = Task {
      // A helper takes 64 elements at once.
      try await DispatchQueue(label: "serial").concurrentMap(0..<65_536) { index in
        calls.add()
        inside.open()
        gate.wait()
        return index
      }
    }
    await blocking { inside.wait() }
    task.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(calls.value == 1)
  }

  @Test("X2: task-local values and the queue are there inside")
  func context() async throws {
    let queue = DispatchQueue(label: "context", attributes: .concurrent)
    let seen = try await Local.$value.withValue(9) {
      try await queue.concurrentMap(0..<50) { _ in "\(Local.value) \(DispatchQueue.current.label)" }
    }
    #expect(seen == Array(repeating: "9 context", count: 50))
  }
}

@Suite("Clocks", .timeLimit(.minutes(30)))
struct ClockTests {
  @Test("X2: sleeping on a clock is never too short, and ends when cancelled")
  func sleep() async throws {
    let start = DispatchTime.now()
    try await Task.sleep(until: .init(start + .milliseconds(20)), clock: DispatchClock())
    #expect(DispatchTime.now() >= start + .milliseconds(20))
    let wall = DispatchWallTime.now() + .milliseconds(20)
    try await Task.sleep(until: .init(wall), tolerance: .milliseconds(1), clock: DispatchWallClock())
    // The clock may be put back by a little just then.
    #expect(DispatchWallTime.now() + .milliseconds(5) >= wall)
    try await Task.sleep(until: .init(start), clock: DispatchClock())
    let long = Task { try await Task.sleep(for: .seconds(600), clock: DispatchClock()) }
    long.cancel()
    await #expect(throws: CancellationError.self) { try await long.value }
  }

  @Test("X2: instants can be reckoned with, and work can be measured")
  func instants() {
    let clock = DispatchClock()
    let now = clock.now
    #expect(now.advanced(by: .seconds(2)).time == now.time + .seconds(2))
    #expect(now.duration(to: now.advanced(by: .milliseconds(-5))) == .milliseconds(-5))
    #expect(now < now.advanced(by: .nanoseconds(1)))
    #expect(DispatchTimeInterval(.seconds(Int64.max)) == .nanoseconds(.max))
    let took = clock.measure {
      let start = DispatchTime.now()
      while DispatchTime.now() < start + .milliseconds(2) {}
    }
    #expect(took >= .milliseconds(2))
  }
}
