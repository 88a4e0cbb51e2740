// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

/// Whether the work ran on the queue, and whether its caller went on there.
private struct Places: Equatable {
  let work: Bool
  let caller: Bool
}

/// Runs work on `queue` from where it is called, and then uses the queue as its caller may.
nonisolated(nonsending) private func visit(_ queue: DispatchQueue, _ flags: DispatchWorkItemFlags) async -> Places {
  let work = await queue.run(flags: flags) { queue.isCurrent }
  let places = Places(work: work, caller: queue.isCurrent)
  // A caller that is still in the queue would trap.
  if !places.caller { queue.sync(flags: .barrier) {} }
  return places
}

private actor Ordinary {
  private(set) var calls = 0

  func visit(_ queue: DispatchQueue, _ flags: DispatchWorkItemFlags = []) async -> Places {
    calls += 1
    return await ConcurrencyTests.visit(queue, flags)
  }

  /// Throws out of the queue; whether the error was caught there.
  func fail(on queue: DispatchQueue) async -> Bool {
    do {
      try await queue.run { throw CancellationError() }
      return true
    } catch {
      return queue.isCurrent
    }
  }
}

/// An actor that borrows the executor of an ordinary one.
private actor Guest {
  private let host = Ordinary()
  nonisolated var unownedExecutor: UnownedSerialExecutor { host.unownedExecutor }

  func visit(_ queue: DispatchQueue) async -> Places { await ConcurrencyTests.visit(queue, .barrier) }
}

private actor Pinned {
  nonisolated let queue = DispatchSerialQueue(label: "pinned")
  nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

  func visit(_ other: DispatchQueue) async -> Places {
    let places = await ConcurrencyTests.visit(other, .barrier)
    preconditionIsolated()
    dispatchPrecondition(condition: .onQueue(queue))
    return places
  }
}

@Suite("Running work on a queue from a task", .timeLimit(.minutes(30)))
struct RunTests {
  private static let queues: [@Sendable () -> DispatchQueue] = [
    { DispatchQueue(label: "serial") }, { DispatchSerialQueue(label: "typed serial") },
    { DispatchQueue(label: "concurrent", attributes: .concurrent) }, { DispatchWorkloop(label: "workloop") },
    { DispatchQueuePool(name: "pooled", queueCount: 1).queue },
    { DispatchQueue(label: "above", target: DispatchQueue(label: "below")) },
  ]

  @Test("X2: an ordinary actor has left the queue when the work is done", arguments: queues.indices)
  func ordinaryActor(kind: Int) async {
    let (actor, queue) = (Ordinary(), Self.queues[kind]())
    for flags in [[], DispatchWorkItemFlags.barrier] {
      for _ in 0..<50 { #expect(await actor.visit(queue, flags) == Places(work: true, caller: false)) }
    }
    #expect(await actor.fail(on: queue) == false)
    #expect(await actor.calls == 100)
  }

  @Test("X2: so have the others that call", arguments: queues.indices)
  func otherCallers(kind: Int) async {
    let queue = Self.queues[kind]()
    let wanted = Places(work: true, caller: false)
    for flags in [[], DispatchWorkItemFlags.barrier] { #expect(await visit(queue, flags) == wanted) }
    #expect(await Guest().visit(queue) == wanted)
    #expect(await Pinned().visit(queue) == wanted)
    #expect(await onMainActor(queue) == wanted)
  }

  @MainActor private func onMainActor(_ queue: DispatchQueue) async -> Places {
    let places = await visit(queue, .barrier)
    MainActor.preconditionIsolated()
    return places
  }

  @Test("X2: and an ordinary actor whose task prefers another queue", arguments: queues.indices)
  func preferring(kind: Int) async {
    let (queue, home) = (Self.queues[kind](), DispatchQueue(label: "home"))
    let actor = Ordinary()
    for flags in [[], DispatchWorkItemFlags.barrier] {
      let places = await Task(executorPreference: home) { await actor.visit(queue, flags) }.value
      #expect(places == Places(work: true, caller: false))
    }
  }

  @Test("Q9: actors that run work on a queue and then wait for another one do not hold each other up")
  func crosswise() async {
    let (first, second) = (DispatchQueue(label: "first"), DispatchQueue(label: "second"))
    actor Crossing {
      func go(_ one: DispatchQueue, _ other: DispatchQueue) async -> Bool {
        for _ in 0..<200 {
          await one.run {}
          // A caller that is still in its queue would wait for the other caller, which waits for this one.
          if one.isCurrent { return false }
          other.sync {}
        }
        return true
      }
    }
    let (one, other) = (Crossing(), Crossing())
    async let there = one.go(first, second)
    async let back = other.go(second, first)
    #expect(await [there, back] == [true, true])
  }

  @Test("Q3: an executor of barriers lives until its job has run, and no longer")
  func barrierExecutor() async {
    let executor = BarrierExecutors(DispatchQueue(label: "barriers", attributes: .concurrent))
    #expect(await Task(executorPreference: executor) { executor.newestLives }.value)
    #expect(eventually { !executor.newestLives })
  }
}

/// Gives each job to a barrier executor that nobody else knows.
private final class BarrierExecutors: TaskExecutor {
  private struct Newest: Sendable { weak var executor: BarrierExecutor? }
  private let queue: DispatchQueue
  private let newest = Guarded(Newest())

  init(_ queue: DispatchQueue) { self.queue = queue }

  var newestLives: Bool { newest.with { $0.executor != nil } }

  func enqueue(_ job: consuming ExecutorJob) {
    let executor = BarrierExecutor(queue: queue)
    newest.with { $0.executor = executor }
    executor.enqueue(job)
  }
}
