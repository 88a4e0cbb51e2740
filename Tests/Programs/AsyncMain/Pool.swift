// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import GrandCentralExecutors

extension AsyncMain {
  /// Where tasks of each priority run.
  @MainActor static func pool() async {
    for (name, priority) in [
      ("high", TaskPriority.high), ("medium", .medium), ("low", .low), ("background", .background),
    ] {
      let label = await Task.detached(priority: priority) {
        DispatchExecutors.isOnPool ? DispatchQueue.current.label : "elsewhere"
      }.value
      report(name, label)
    }
    actor Plain {
      func isOnPool() -> Bool { DispatchExecutors.isOnPool }
    }
    report("actor", await Plain().isOnPool())
    report("again", DispatchExecutors.install())
    report("main", DispatchExecutors.isOnPool)
  }

  /// Many children, none of them lost, and an actor that counts them.
  @MainActor static func group() async {
    actor Counting {
      var count = 0
      func add() { count += 1 }
    }
    let counting = Counting()
    let sum = await withTaskGroup(of: Int.self) { group in
      for index in 0..<100_000 {
        group.addTask {
          if index % 10 == 0 { await counting.add() }
          return DispatchExecutors.isOnPool ? 1 : 0
        }
      }
      var sum = 0
      for await result in group { sum += result }
      return sum
    }
    report("children", sum)
    report("counted", await counting.count)
  }

  /// Sleeps of all lengths, on both clocks, and on one that the pool does not know.
  @MainActor static func sleeps() async {
    let early = Counter()
    @Sendable func sleep<C: Clock>(_ milliseconds: Int, _ clock: C) async where C.Duration == Duration {
      let start = clock.now
      try? await Task.sleep(for: .milliseconds(milliseconds), tolerance: nil, clock: clock)
      if start.duration(to: clock.now) < .milliseconds(milliseconds) || !DispatchExecutors.isOnPool { early.add() }
    }
    let count = await withTaskGroup(of: Int.self) { group in
      for index in 0..<1_000 {
        group.addTask {
          switch index % 3 {
          case 0: await sleep(index % 20, ContinuousClock())
          case 1: await sleep(index % 20, SuspendingClock())
          default: await sleep(index % 20, DispatchClock())
          }
          return 1
        }
      }
      var sum = 0
      for await result in group { sum += result }
      return sum
    }
    report("slept", count)
    report("early", early.value)
    try? await Task.sleep(nanoseconds: 1_000_000)
    report("past", (try? await Task.sleep(until: .now - .seconds(1), clock: .continuous)) != nil)
  }

  /// Tasks that would sleep for hours.
  @MainActor static func cancels() async {
    let cancelled = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<1_000 {
        group.addTask {
          do { try await Task.sleep(for: .seconds(36_000)) } catch { return 1 }
          return 0
        }
      }
      group.cancelAll()
      var sum = 0
      for await result in group { sum += result }
      return sum
    }
    report("cancelled", cancelled)
  }

  @MainActor static func streams() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    let producers = Task.detached {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<10 {
          group.addTask {
            for index in 1...1_000 {
              continuation.yield(index)
              if index % 100 == 0 { await Task.yield() }
            }
          }
        }
      }
      continuation.finish()
    }
    var sum = 0
    for await value in stream { sum += value }
    await producers.value
    report("sum", sum)
  }

  /// Tasks block, more of them than there are processors, until the last one lets them go.
  @MainActor static func blocks() async {
    let (semaphore, count) = (DispatchSemaphore(value: 0), 64)
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<count {
        group.addTask {
          if index == count - 1 { for _ in 0..<count { semaphore.signal() } }
          block(semaphore)
        }
      }
    }
    report("done", 1)
  }

  @inline(never) private nonisolated static func block(_ semaphore: DispatchSemaphore) { semaphore.wait() }

  /// Tasks that always have more to do keep the pool from anything less urgent, until each has yielded very often. Does a task that is
  /// awaited start before?
  @MainActor static func starves() async {
    let (limit, yields, stop) = (10_000_000, Counter(), Latch())
    for _ in 0..<16 {
      Task.detached(priority: .medium) { while yields.add() < limit, !stop.isOpen { await Task.yield() } }
    }
    report("value", await Task.detached(priority: .background) { yields.value < limit ? 42 : 0 }.value)
    stop.open()
    report("usual", GrandCentralRuntime.starvationBound == .milliseconds(100))
    GrandCentralRuntime.starvationBound = nil
    report("strict", GrandCentralRuntime.starvationBound == nil)
  }

  /// The main thread stays the main actor's, and runs the main queue.
  @MainActor static func mainActorOnPool() async {
    let first = Kernel.threadID
    var (jobs, items) = (0, 0)
    for _ in 0..<100 {
      await Task.detached {}.value
      jobs += Kernel.threadID == first && !DispatchExecutors.isOnPool ? 1 : 0
      dispatchPrecondition(condition: .onQueue(.main))
      items += await withCheckedContinuation { continuation in
        DispatchQueue.main.async {
          MainActor.assertIsolated()
          continuation.resume(returning: Kernel.threadID == first ? 1 : 0)
        }
      }
    }
    report("jobs", jobs)
    report("items", items)
  }

  /// Nanoseconds, by the clock and of processors, for what tasks do most, with whatever pool the process has.
  @MainActor static func figures() async {
    await Task.detached {
      for _ in 0..<3 {
        await measure("spawn", 1_000_000) { count in
          await withTaskGroup(of: Void.self) { group in for _ in 0..<count { group.addTask {} } }
        }
        await measure("sleep", 100_000) { count in
          await withTaskGroup(of: Void.self) { group in
            for _ in 0..<count { group.addTask { try? await Task.sleep(for: .milliseconds(1)) } }
          }
        }
        await measure("yield", 1_000_000) { count in for _ in 0..<count { await Task.yield() } }
      }
    }.value
  }

  private nonisolated static func measure(_ name: String, _ count: Int, _ body: (Int) async -> Void) async {
    let (start, busy) = (monotonicNanoseconds(), processorNanoseconds())
    await body(count)
    report(name, (monotonicNanoseconds() - start) / UInt64(count))
    report(name + "-processor", (processorNanoseconds() - busy) / UInt64(count))
  }

  private nonisolated static func processorNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
