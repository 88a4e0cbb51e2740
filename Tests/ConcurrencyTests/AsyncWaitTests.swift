// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

private enum Refusal: Error, Equatable { case refused(Int) }
private enum Local { @TaskLocal static var value = 0 }

@Suite("Running on a queue in async code", .timeLimit(.minutes(30)))
struct AsyncRunTests {
  @Test("X2: run gives back the result, from the queue")
  func result() async {
    let queue = DispatchQueue(label: "run")
    #expect(await queue.run { DispatchQueue.current.label } == "run")
    #expect(await DispatchQueue.global(qos: .utility).run { 42 } == 42)
  }

  @Test("X2: run throws what the work throws, with its type")
  func errors() async {
    let queue = DispatchQueue(label: "run")
    do throws(Refusal) {
      _ = try await queue.run { () throws(Refusal) -> Int in throw .refused(7) }
      Issue.record("nothing was thrown")
    } catch {
      #expect(error == .refused(7))
    }
  }

  @Test("X2: run is an item: it comes after earlier ones, and runs alone on a serial queue")
  func order() async {
    let queue = DispatchQueue(label: "order")
    let log = Unprotected<[Int]>([])
    for index in 0..<100 { queue.async { log.value.append(index) } }
    #expect(await queue.run { log.value } == Array(0..<100))
    let occupancy = Occupancy()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<200 {
        group.addTask {
          await queue.run {
            occupancy.enter()
            log.value.append(0)
            occupancy.leave()
          }
        }
      }
    }
    #expect(occupancy.peak == 1)
    #expect(queue.sync { log.value.count } == 300)
  }

  @Test("X2: task-local values, priority and cancellation are there inside run")
  func context() async {
    let queue = DispatchQueue(label: "context")
    let seen = await Local.$value.withValue(5) {
      await Task(priority: .high) { await queue.run { (Local.value, Task.currentPriority) } }.value
    }
    #expect(seen.0 == 5)
    #expect(seen.1 == .high)
    let started = Latch()
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      started.open()
      return await queue.run { Task.isCancelled }
    }
    task.cancel()
    #expect(await task.value)
    #expect(started.isOpen)
  }

  @Test("X2: run on the queue that the task is on runs at once")
  func nested() async {
    let queue = DispatchQueue(label: "nested")
    let value = await Task(executorPreference: queue) { await queue.run { DispatchQueue.current.label } }.value
    #expect(value == "nested")
  }

  @Test("X2: run from an actor, and back")
  func fromActor() async {
    actor Owner {
      let queue = DispatchQueue(label: "helper")
      var count = 0
      func work() async -> Int {
        for _ in 0..<100 { count += await queue.run { 1 } }
        return count
      }
    }
    #expect(await Owner().work() == 100)
  }

  @Test("X2: a barrier run is alone on a concurrent queue")
  func barrierRun() async {
    let queue = DispatchQueue(label: "barriers", attributes: .concurrent)
    let (inside, alone) = (Occupancy(), Counter())
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<300 {
        group.addTask {
          await queue.run(flags: index % 10 == 0 ? .barrier : []) {
            let others = inside.enter()
            if index % 10 == 0, others == 1 { alone.add() }
            if index % 10 == 0, inside.inside != 1 { alone.add(1_000) }
            inside.leave()
          }
        }
      }
    }
    #expect(alone.value == 30)
  }

  @Test("X2: barrier waits for what was submitted before, and lets go when cancelled")
  func barrier() async throws {
    for queue in [DispatchQueue(label: "serial"), DispatchQueue(label: "concurrent", attributes: .concurrent)] {
      let (gate, count) = (Latch(), Counter())
      for _ in 0..<20 {
        queue.async {
          gate.wait()
          count.add()
        }
      }
      let waits = Task { try await queue.barrier() }
      waits.cancel()
      await #expect(throws: CancellationError.self) { try await waits.value }
      gate.open()
      try await queue.barrier()
      #expect(count.value == 20)
    }
  }
}

/// Takes a signal if there is one, without waiting.
private func tryTake(_ semaphore: DispatchSemaphore) -> Bool { semaphore.wait(timeout: .now()) == .success }

@Suite("Waiting in async code", .timeLimit(.minutes(30)))
struct AsyncWaitTests {
  @Test("X2: a task waits for a group")
  func group() async throws {
    let (group, count) = (DispatchGroup(), Counter())
    try await group.asyncWait()
    for _ in 0..<100 { DispatchQueue.global().async(group: group) { count.add() } }
    try await group.asyncWait()
    #expect(count.value == 100)
  }

  @Test("X2: tasks and threads wait for one group together")
  func groupTogether() async throws {
    let (group, threads, tasks) = (DispatchGroup(), Counter(), Counter())
    group.enter()
    let thread = BlockedThread {
      group.wait()
      threads.add()
    }
    let waits = (0..<10).map { _ in
      Task {
        try await group.asyncWait()
        tasks.add()
      }
    }
    #expect(thread.isAsleep())
    group.leave()
    for wait in waits { try await wait.value }
    thread.join()
    #expect(threads.value == 1)
    #expect(tasks.value == 10)
  }

  @Test("X2: a wait with a timeout ends no earlier than that, and not at all when it has come")
  func timeouts() async throws {
    let group = DispatchGroup()
    group.enter()
    let start = DispatchTime.now()
    #expect(try await group.asyncWait(timeout: start + .milliseconds(30)) == .timedOut)
    #expect(DispatchTime.now() >= start + .milliseconds(30))
    #expect(try await group.asyncWait(timeout: .now()) == .timedOut)
    #expect(try await group.asyncWait(wallTimeout: .now() + .milliseconds(5)) == .timedOut)
    let semaphore = DispatchSemaphore(value: 0)
    #expect(try await semaphore.asyncWait(timeout: .now() + .milliseconds(5)) == .timedOut)
    #expect(try await semaphore.asyncWait(timeout: .now()) == .timedOut)
    semaphore.signal()
    #expect(try await semaphore.asyncWait(timeout: .now()) == .success)
    let item = DispatchWorkItem {}
    #expect(try await item.asyncWait(timeout: .now() + .milliseconds(5)) == .timedOut)
    item.perform()
    #expect(try await item.asyncWait(timeout: .now()) == .success)
    group.leave()
    #expect(try await group.asyncWait(timeout: .distantFuture) == .success)
    #expect(try await group.asyncWait(timeout: .now() + .seconds(60)) == .success)
  }

  @Test("X2: cancelling the task ends each wait at once")
  func cancellation() async {
    let (group, semaphore, item) = (DispatchGroup(), DispatchSemaphore(value: 0), DispatchWorkItem {})
    group.enter()
    let waits = [
      Task { try await group.asyncWait() }, Task { try await semaphore.asyncWait() }, Task { try await item.value() },
      Task { _ = try await group.asyncWait(timeout: .now() + .seconds(600)) },
    ]
    for wait in waits {
      wait.cancel()
      await #expect(throws: CancellationError.self) { try await wait.value }
    }
    group.leave()
    semaphore.signal()
    // The cancelled wait has not taken the signal.
    #expect(tryTake(semaphore))
  }

  @Test("X2: a cancelled wait leaves no waiter behind, and those behind it in order")
  func cancelledInTheMiddle() async throws {
    let (semaphore, log) = (DispatchSemaphore(value: 0), Recorder<Int>())
    var waits: [Task<Void, any Error>] = []
    for index in 0..<5 {
      let (started, queue) = (Latch(), DispatchQueue(label: "waiter"))
      waits.append(
        Task(executorPreference: queue) {
          started.open()
          try await semaphore.asyncWait()
          log.note(index)
        })
      #expect(started.wait())
      // The item that has begun is over once the task has suspended.
      queue.sync {}
    }
    waits[1].cancel()
    waits[3].cancel()
    for index in [1, 3] { await #expect(throws: CancellationError.self) { try await waits[index].value } }
    for _ in 0..<3 { semaphore.signal() }
    for index in [0, 2, 4] { try await waits[index].value }
    #expect(log.values.sorted() == [0, 2, 4])
    #expect(!tryTake(semaphore))
  }

  @Test("X2: signals and cancellations that race lose no signal and resume each task once")
  func races() async {
    let semaphore = DispatchSemaphore(value: 0)
    let rounds = 500
    let taken = Counter()
    await withTaskGroup(of: Void.self) { group in
      for round in 0..<rounds {
        let wait = Task {
          do throws(CancellationError) {
            if round % 3 == 0 {
              if try await semaphore.asyncWait(timeout: .now() + .microseconds(round % 50)) == .success { taken.add() }
            } else {
              try await semaphore.asyncWait()
              taken.add()
            }
          } catch {}
        }
        group.addTask { semaphore.signal() }
        group.addTask {
          if round % 2 == 0 { wait.cancel() }
          await wait.value
        }
      }
    }
    var left = 0
    while tryTake(semaphore) { left += 1 }
    #expect(taken.value + left == rounds)
    for _ in 0..<left { semaphore.signal() }
  }

  @Test("X2: groups that come to zero while waits are cancelled")
  func groupRaces() async {
    for round in 0..<300 {
      let group = DispatchGroup()
      group.enter()
      let waits = (0..<3).map { index in
        Task {
          index == 0
            ? (try? await group.asyncWait()) == nil : (try? await group.asyncWait(timeout: .now() + 0.001)) == nil
        }
      }
      DispatchQueue.global().async {
        if round % 2 == 0 { waits[round % 3].cancel() }
        group.leave()
      }
      for wait in waits { _ = await wait.value }
    }
  }

  @Test("X2: what a cancelled or finished wait held is released")
  func releases() async {
    let buried = Latch()
    do {
      let group = DispatchGroup()
      let stone = Tombstone(buried)
      group.enter()
      let wait = Task {
        defer { stone.visit() }
        _ = try await group.asyncWait(timeout: .now() + .seconds(600))
      }
      wait.cancel()
      _ = await wait.result
      group.leave()
    }
    #expect(buried.wait())
  }

  @Test("X2: a task waits for a work item, which lends it its priority")
  func workItem() async throws {
    let queue = DispatchQueue(label: "items")
    let count = Counter()
    let item = DispatchWorkItem { count.add() }
    queue.async(execute: item)
    try await item.value()
    #expect(count.value == 1)
    try await item.value()
    let cancelled = DispatchWorkItem {}
    queue.suspend()
    queue.async(execute: cancelled)
    async let wait: Void = cancelled.value()
    cancelled.cancel()
    queue.resume()
    try await wait
  }

  /// In a process of its own: other tests start threads as well.
  @Test("X2: no thread is blocked while a thousand tasks wait")
  func threads() async {
    await #expect(processExitsWith: .success) {
      let (semaphore, done, begun) = (DispatchSemaphore(value: 0), DispatchGroup(), Counter())
      let before = ProcessThreads.all().count
      for _ in 0..<1_000 {
        done.enter()
        Task {
          begun.add()
          try await semaphore.asyncWait()
          done.leave()
        }
      }
      let end = monotonicNanoseconds() + UInt64(Patience.seconds * 1e9)
      while begun.value < 1_000, monotonicNanoseconds() < end { await Task.yield() }
      #expect(begun.value == 1_000)
      // The runtime has a thread for each processor.
      #expect(ProcessThreads.all().count <= before + Kernel.usableProcessors + 100)
      for _ in 0..<1_000 { semaphore.signal() }
      try await done.asyncWait()
    }
  }
}
