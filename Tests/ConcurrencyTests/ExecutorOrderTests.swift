// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

private actor Pinned {
  nonisolated let queue: DispatchSerialQueue
  private let log: Recorder<Int>

  init(_ queue: DispatchSerialQueue, _ log: Recorder<Int>) { (self.queue, self.log) = (queue, log) }

  nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

  func note(_ value: Int) {
    preconditionIsolated()
    queue.checkIsolated()
    dispatchPrecondition(condition: .onQueue(queue))
    log.note(value)
  }

  /// In whatever runs on the queue.
  nonisolated func noteHere(_ value: Int) { assumeIsolated { $0.note(value) } }

  /// Submits an item, and then calls another actor.
  func note(_ value: Int, of other: Pinned, before later: Int) async {
    queue.async { [log] in log.note(later) }
    await other.note(value)
    note(value + 1)
  }
}

/// An executor of a program's own, in front of a queue.
private final class SerialWrapper: SerialExecutor {
  let queue: DispatchSerialQueue
  let jobs = Counter()

  init(_ queue: DispatchSerialQueue) { self.queue = queue }

  func enqueue(_ job: consuming ExecutorJob) {
    queue.enqueue(job)
    jobs.add()
  }

  func checkIsolated() { queue.checkIsolated() }
}

private final class TaskWrapper: TaskExecutor {
  let (queue, serial) = (DispatchQueue(label: "wrapped"), DispatchSerialQueue(label: "wrapped serial"))

  func enqueue(_ job: consuming ExecutorJob) {
    if job.priority == .init(TaskPriority.high) { queue.enqueue(job) } else { serial.enqueue(job) }
  }
}

private actor Wrapped {
  private let wrapper: SerialWrapper

  init(_ wrapper: SerialWrapper) { self.wrapper = wrapper }

  nonisolated var unownedExecutor: UnownedSerialExecutor { wrapper.asUnownedSerialExecutor() }

  /// Calls an actor that is pinned to the queue.
  func note(_ value: Int, of other: Pinned) async {
    preconditionIsolated()
    await other.note(value)
    dispatchPrecondition(condition: .onQueue(wrapper.queue))
  }
}

@concurrent private func note(_ value: Int, in log: Recorder<Int>) async { log.note(value) }

@Suite("The order of jobs and items", .timeLimit(.minutes(30)))
struct ExecutorOrderTests {
  private static let queues: [@Sendable () -> DispatchQueue] = [
    { DispatchQueue(label: "serial") }, { DispatchSerialQueue(label: "typed serial") },
    { DispatchQueuePool(name: "pooled", queueCount: 1).queue },
    { DispatchSerialQueue(label: "above", target: DispatchSerialQueue(label: "below")) },
  ]

  @Test("Q1: tasks that prefer a serial queue run in order with its items", arguments: queues.indices)
  func tasks(kind: Int) async {
    let (queue, log) = (Self.queues[kind](), Recorder<Int>())
    // Nothing runs before all is submitted.
    queue.suspend()
    var tasks: [Task<Void, Never>] = []
    for index in 0..<100 {
      switch index % 3 {
      case 0: tasks.append(Task(executorPreference: queue) { log.note(index) })
      case 1: tasks.append(Task.detached(executorPreference: queue) { log.note(index) })
      default: queue.async { log.note(index) }
      }
    }
    queue.resume()
    for task in tasks { await task.value }
    #expect(queue.sync { log.values } == Array(0..<100))
  }

  @Test("Q1: the calls of a task that prefers a serial queue do not queue up again", arguments: queues.indices)
  func calls(kind: Int) async {
    let (queue, log) = (Self.queues[kind](), Recorder<Int>())
    await Task(executorPreference: queue) {
      queue.async { log.note(4) }
      await queue.run { log.note(1) }
      await note(2, in: log)
      await queue.run(flags: .barrier) { log.note(3) }
    }.value
    #expect(queue.sync { log.values } == [1, 2, 3, 4])
  }

  @Test("P3: a task that prefers a pool's queue is one item of it, and so is work that it is given")
  func items() async {
    let pool = DispatchQueuePool(name: "counted", queueCount: 1)
    let queue = pool.queue
    for _ in 0..<10 { await Task(executorPreference: queue) {}.value }
    for _ in 0..<10 { await queue.run {} }
    // The last item is counted after its task has gone on.
    #expect(eventually { pool.statistics[0].completed >= 20 })
    #expect(pool.statistics[0].completed == 20)
  }

  @Test("X1: the actors of one queue call each other within an item")
  func oneQueue() async {
    let (queue, log) = (DispatchSerialQueue(label: "two actors"), Recorder<Int>())
    let (first, second) = (Pinned(queue, log), Pinned(queue, log))
    await Task.detached { await first.note(1, of: second, before: 3) }.value
    #expect(queue.sync { log.values } == [1, 2, 3])
  }

  @Test("X1: a task calls an actor that is pinned to the queue which the task prefers", arguments: [false, true])
  func preferenceAndPin(pooled: Bool) async {
    let log = Recorder<Int>()
    let queue = pooled ? DispatchQueuePool(name: "both", queueCount: 1).queue : DispatchSerialQueue(label: "both")
    let actor = Pinned(queue, log)
    await Task(executorPreference: queue) {
      for index in 0..<50 {
        await actor.note(3 * index)
        dispatchPrecondition(condition: .onQueue(queue))
        queue.checkIsolated()
        actor.noteHere(3 * index + 1)
        await actor.note(3 * index + 2)
      }
    }.value
    #expect(log.values == Array(0..<150))
  }

  @Test("X1: an executor of the program's own hands its jobs to a serial queue, as that queue's own")
  func wrapped() async {
    let (queue, log) = (DispatchSerialQueue(label: "wrapped"), Recorder<Int>())
    let executor = SerialWrapper(queue)
    let (outer, inner) = (Wrapped(executor), Pinned(queue, log))
    queue.suspend()
    let task = Task.detached { await outer.note(1, of: inner) }
    await blocking { #expect(eventually { executor.jobs.value == 1 }) }
    queue.async { log.note(2) }
    queue.resume()
    await task.value
    // The job runs on the queue as a serial executor: the actor that is pinned there is called within it.
    #expect(queue.sync { log.values } == [1, 2])
    let wrapper = TaskWrapper()
    for priority in [TaskPriority.high, .low] {
      let label = await Task(executorPreference: wrapper, priority: priority) { DispatchQueue.current.label }.value
      #expect(label == (priority == .high ? "wrapped" : "wrapped serial"))
    }
  }

  @Test("Q1: child tasks that prefer the queue of an actor start in order, and may use the actor")
  func children() async {
    let (queue, log) = (DispatchSerialQueue(label: "order"), Recorder<Int>())
    let actor = Pinned(queue, log)
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<50 { group.addTask(executorPreference: queue) { actor.noteHere(index) } }
    }
    #expect(log.values == Array(0..<50))
  }
}
