// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit

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

  func join(_ waiter: UnsafeMutablePointer<Waiter>) -> Bool {
    ck_machine_sync_tasks()
    return semaphore.join(waiter)
  }
}

/// How a task's wait has ended.
private final class Ending: @unchecked Sendable {  // fibres take turns
  private(set) var value: AsyncWaiter.Outcome?

  func task(waiting semaphore: DispatchSemaphore, _ jobs: Jobs) -> Task<Void, Never> {
    Task(executorPreference: jobs) { self.value = await AsyncWaiter.wait(for: Host(semaphore), until: .never) }
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
        run.check(data.value == 1, "who resumes the task does not see what came before the cancellation")
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
