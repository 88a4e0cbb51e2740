// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Testing

@testable import GrandCentral

/// An actor on a queue.
private actor Pinned {
  nonisolated let queue: DispatchSerialQueue
  private(set) var log: [Int] = []
  private let occupancy = Occupancy()

  init(_ queue: DispatchSerialQueue) { self.queue = queue }

  nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

  func note(_ value: Int) {
    occupancy.enter()
    dispatchPrecondition(condition: .onQueue(queue))
    log.append(value)
    occupancy.leave()
  }

  var peak: Int { occupancy.peak }

  func isOnQueue() -> Bool { queue.isCurrent }
  func currentLabel() -> String { DispatchQueue.current.label }

  func play(with other: Pinned, rounds: Int) async {
    for round in 0..<rounds {
      await other.note(round)
      note(round)
    }
  }
}

@Suite("Queues as executors", .timeLimit(.minutes(30)))
struct ExecutorTests {
  @Test("X1: an actor pinned to a queue runs there, one call at a time")
  func pinned() async {
    let actor = Pinned(DispatchSerialQueue(label: "pinned"))
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<500 { group.addTask { await actor.note(index) } }
    }
    #expect(await actor.log.sorted() == Array(0..<500))
    #expect(await actor.peak == 1)
    #expect(await actor.currentLabel() == "pinned")
  }

  @Test("X1: an actor's calls and the queue's items exclude each other")
  func besideItems() async {
    let queue = DispatchSerialQueue(label: "shared")
    let actor = Pinned(queue)
    let sum = Unprotected(0)
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<200 {
        group.addTask {
          await actor.note(index)
          queue.async { sum.value += actor.assumeIsolated { $0.log.count } >= 0 ? 1 : 0 }
        }
      }
    }
    #expect(queue.sync { sum.value } == 200)
  }

  @Test("X1: assumeIsolated holds in the queue's items, async and sync, and in items of queues that target it")
  func assumeIsolated() {
    let queue = DispatchSerialQueue(label: "base")
    let actor = Pinned(queue)
    let above = DispatchQueue(label: "above", target: queue)
    let seen = Recorder<Bool>()
    queue.async { seen.note(actor.assumeIsolated { $0.queue.isCurrent }) }
    above.async { seen.note(actor.assumeIsolated { $0.queue.isCurrent }) }
    queue.sync { seen.note(actor.assumeIsolated { $0.queue.isCurrent }) }
    above.sync { seen.note(actor.assumeIsolated { $0.queue.isCurrent }) }
    #expect(seen.values == [true, true, true, true])
    #expect(queue.isIsolatingCurrentContext() == false)
    #expect(queue.sync { queue.isIsolatingCurrentContext() } == true)
  }

  @Test("X1: two pinned actors call each other")
  func pingPong() async {
    let (first, second) = (Pinned(DispatchSerialQueue(label: "first")), Pinned(DispatchSerialQueue(label: "second")))
    await first.play(with: second, rounds: 1_000)
    #expect(await first.log == Array(0..<1_000))
    #expect(await second.log == Array(0..<1_000))
  }

  @Test("X1: an actor on a suspended queue waits for its resumption")
  func suspended() async {
    let queue = DispatchSerialQueue(label: "suspended")
    let actor = Pinned(queue)
    queue.suspend()
    async let noted: Void = actor.note(1)
    queue.async { #expect(actor.assumeIsolated { $0.log.count } <= 1) }
    queue.resume()
    await noted
    #expect(await actor.log == [1])
  }

  @Test("X1: an actor pinned to a pool's queue")
  func pooled() async {
    let pool = DispatchQueuePool(name: "actors", queueCount: 3)
    let actors = (0..<6).map { _ in Pinned(pool.queue) }
    for actor in actors {
      await actor.note(1)
      #expect(await actor.isOnQueue())
    }
    #expect(pool.statistics.allSatisfy { $0.completed >= 2 })
  }

  @Test(
    "X1: a task that prefers a queue runs there, whatever kind it is",
    arguments: [
      DispatchQueue(label: "serial"), DispatchSerialQueue(label: "typed serial"),
      DispatchConcurrentQueue(label: "concurrent"), DispatchWorkloop(label: "workloop"),
      DispatchQueue.global(qos: .utility), DispatchQueuePool.default(for: .utility).queue,
      DispatchQueue(label: "above", target: DispatchQueue(label: "below")),
    ])
  func preference(queue: DispatchQueue) async {
    let labels = await Task(executorPreference: queue) {
      let before = currentLabel()
      await Task.yield()
      let child = await withTaskGroup(of: String.self) { group in
        group.addTask { currentLabel() }
        return await group.next()!
      }
      return [before, currentLabel(), child]
    }.value
    #expect(labels == Array(repeating: queue.label, count: 3))
    #expect(await withTaskExecutorPreference(queue) { currentLabel() } == queue.label)
  }

  @Test("X1: a task that prefers a queue leaves it for an actor's own, and comes back")
  func preferenceAndActor() async {
    let home = DispatchQueue(label: "home")
    let actor = Pinned(DispatchSerialQueue(label: "away"))
    let labels = await Task(executorPreference: home) {
      let before = currentLabel()
      let there = await actor.currentLabel()
      return [before, there, currentLabel()]
    }.value
    #expect(labels == ["home", "away", "home"])
  }

  @Test("X1: a default actor works on the queue that a task prefers")
  func defaultActor() async {
    actor Plain {
      var count = 0
      func add() -> String {
        count += 1
        return currentLabel()
      }
    }
    let plain = Plain()
    let queue = DispatchSerialQueue(label: "preferred")
    let label = await Task(executorPreference: queue) { await plain.add() }.value
    #expect(label == "preferred")
    #expect(await plain.count == 1)
  }

  @Test("X1: a job runs at its task's priority, at least at the queue's", arguments: [TaskPriority.background, .high])
  func priorities(priority: TaskPriority) async {
    let plain = DispatchQueue(label: "plain")
    let utility = DispatchQueue(label: "utility", qos: .utility)
    let asked: DispatchQoS.QoSClass = priority == .high ? .userInitiated : .background
    #expect(await Task(executorPreference: plain, priority: priority) { Worker.currentClass }.value == asked)
    #expect(
      await Task(executorPreference: utility, priority: priority) { Worker.currentClass }.value
        == (priority == .high ? .userInitiated : .utility))
  }

  @Test(
    "X1: on a global queue as well; on the default one the task's priority decides",
    arguments: [TaskPriority.background, .high])
  func prioritiesOnGlobalQueues(priority: TaskPriority) async {
    let asked: DispatchQoS.QoSClass = priority == .high ? .userInitiated : .background
    #expect(
      await Task(executorPreference: DispatchQueue.global(), priority: priority) { Worker.currentClass }.value == asked)
    #expect(
      await Task(executorPreference: DispatchQueue.global(qos: .utility), priority: priority) { Worker.currentClass }
        .value
        == (priority == .high ? .userInitiated : .utility))
  }
}

private func currentLabel() -> String { DispatchQueue.current.label }

extension Worker {
  /// The class that the calling thread runs at.
  static var currentClass: DispatchQoS.QoSClass {
    QoSWord(rawValue: UInt16(truncatingIfNeeded: gc_thread_self().pointee.qos)).qos.qosClass
  }
}
