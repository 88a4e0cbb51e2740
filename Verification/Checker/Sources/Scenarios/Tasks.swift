// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit
import Synchronization

@testable import GrandCentral

/// Runs no job by itself: a scenario's thread does.
private final class Jobs: TaskExecutor, @unchecked Sendable {  // fibres take turns
  private var waiting: [UnownedJob] = []
  /// What the thread does that makes a task able to go on.
  var onResume: () -> Void = {}

  func enqueue(_ job: consuming ExecutorJob) {
    waiting.append(UnownedJob(job))
    onResume()
  }

  func runOne() { waiting.removeFirst().runSynchronously(on: asUnownedTaskExecutor()) }
  var isEmpty: Bool { waiting.isEmpty }
}

/// What a task waits for. The runtime has noted by `join` that the waiter is to be told of a cancellation; nothing that the
/// core knows of comes between.
private final class Host: AsyncWaitable {
  let semaphore: DispatchSemaphore

  init(_ semaphore: DispatchSemaphore) { self.semaphore = semaphore }

  func tryWait() -> Bool { semaphore.tryWait() }
  func leave(_ waiter: UnsafeMutablePointer<Waiter>) -> Bool { semaphore.leave(waiter) }

  func join(_ waiter: UnsafeMutablePointer<Waiter>, urgency: UInt8) -> Bool {
    ck_machine_sync_tasks()
    return semaphore.join(waiter, urgency: urgency)
  }
}

/// How a task's wait has ended.
private final class Ending: @unchecked Sendable {  // fibres take turns
  private(set) var value: AsyncWaiter.Outcome?

  func task(waiting semaphore: DispatchSemaphore, _ jobs: Jobs) -> Task<Void, Never> {
    task(waiting: Host(semaphore), jobs)
  }

  func task(waiting host: any AsyncWaitable, _ jobs: Jobs) -> Task<Void, Never> {
    Task(executorPreference: jobs) { self.value = await AsyncWaiter.wait(for: host, until: .never) }
  }
}

/// As a clock's sleep: what `join` leaves behind is not behind a lock.
private final class LocklessHost: AsyncWaitable {
  private let data = Plain()
  private let isTaken = Atomic<Bool>(false)

  func tryWait() -> Bool { false }

  func join(_ waiter: UnsafeMutablePointer<Waiter>, urgency _: UInt8) -> Bool {
    // As in `Host`. Nothing but the marks publishes what comes behind this thread's next step.
    ck_machine_sync_tasks()
    // relaxed: a step.
    isTaken.store(false, ordering: .relaxed)
    data.value = 1
    return true
  }

  func leave(_ waiter: UnsafeMutablePointer<Waiter>) -> Bool {
    // relaxed: decides, and hands nothing over.
    if isTaken.exchange(true, ordering: .relaxed) { return false }
    return data.value == 1
  }
}

private func cancel(_ task: Task<Void, Never>) {
  ck_machine_cancelling(true)
  task.cancel()
  ck_machine_cancelling(false)
}

func tasks() -> [Scenario] {
  [
    protocolScenario(
      "a task that waits is cancelled: it goes on once, and sees what came before", of: "AsyncWaiter", unusual: 0
    ) {
      run in
      let semaphore = DispatchSemaphore(value: 0), data = Plain(), jobs = Jobs()
      let resumptions = Counter(), outcome = Ending(), task = outcome.task(waiting: semaphore, jobs)
      jobs.onResume = {
        resumptions.value += 1
        run.check(data.value == 1, "the task's resumer does not see what came before the cancellation")
      }
      run.thread { jobs.runOne() }
      run.thread {
        data.value = 1
        cancel(task)
      }
      run.finally {
        while !jobs.isEmpty { jobs.runOne() }
        run.check(outcome.value == .cancelled && resumptions.value <= 1, "resumed \(resumptions.value) times")
      }
    },
    protocolScenario("a signal beside a cancellation: the permit is the task's, or left", of: "AsyncWaiter", unusual: 0)
    {
      run in
      let semaphore = DispatchSemaphore(value: 0), jobs = Jobs()
      let outcome = Ending(), task = outcome.task(waiting: semaphore, jobs)
      run.thread { jobs.runOne() }
      run.thread { cancel(task) }
      run.thread { semaphore.signal() }
      run.finally {
        while !jobs.isEmpty { jobs.runOne() }
        let isLeft = semaphore.tryWait()
        run.check(isLeft == (outcome.value == .cancelled), "the permit was lost, or taken twice")
      }
    },
    protocolScenario(
      "a task is cancelled that waits without a lock: the canceller has what joining wrote", of: "AsyncWaiter",
      unusual: 0
    ) {
      run in
      let jobs = Jobs(), outcome = Ending(), task = outcome.task(waiting: LocklessHost(), jobs)
      run.thread { jobs.runOne() }
      run.thread { cancel(task) }
      run.finally {
        while !jobs.isEmpty { jobs.runOne() }
        run.check(outcome.value == .cancelled, "the task does not go on")
      }
    },
    protocolScenario("an item of the main queue is not left behind", of: "ForeignMainQueue", unusual: 0) { run in
      ck_machine_offer_main_queue()
      let count = Counter()
      // An item that is posted, and whose work another loop has done.
      GlobalQueues.main.async { count.value += 1 }
      MainLoop.drain()
      run.thread { GlobalQueues.main.async { count.value += 1 } }
      run.thread { _ = ck_machine_run_main_queue() }
      run.finally {
        while ck_machine_run_main_queue() {}
        run.check(count.value == 2, "\(count.value) items of 2 have run, and nobody is to come")
      }
    },
  ]
}
