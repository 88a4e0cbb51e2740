// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

extension Scenario {
  static let asyncBlocking: [String: Body] = [
    "blocking-in-tasks": blockingInTasks, "blocking-outside": blockingOutside,
    "all-tasks-block": allTasksBlock, "main-actor": mainActor,
  ]

  /// Three places, each several times, from different callers.
  @Sendable private static func blockingInTasks() {
    let done = Latch(2)
    for _ in 0..<2 {
      Task.detached {
        for _ in 0..<3 {
          waitForSemaphore()
          waitForGroup()
        }
        waitForSemaphore()
        waitInSync()
        done.open()
      }
    }
    require(done.wait(), "tasks that block for a while go on")
    report("done", 1)
  }

  @inline(never) private static func waitForSemaphore() {
    _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(2))
  }

  @inline(never) private static func waitForGroup() {
    let group = DispatchGroup()
    group.enter()
    _ = group.wait(timeout: .now() + .milliseconds(2))
    group.leave()
  }

  @inline(never) private static func waitInSync() {
    let queue = DispatchQueue(label: "busy")
    let started = Latch()
    queue.async {
      started.open()
      usleep(20_000)
    }
    _ = started.wait()
    queue.sync {}
  }

  /// No task, no report.
  @Sendable private static func blockingOutside() {
    waitForSemaphore()
    let done = Latch()
    DispatchQueue.global().async {
      waitForGroup()
      done.open()
    }
    require(done.wait(), "an item may wait")
    report("done", 1)
  }

  /// Tasks that prefer our queues block, more of them than there are processors, until one of the last lets them go.
  @Sendable private static func allTasksBlock() {
    let (semaphore, count) = (DispatchSemaphore(value: 0), 64)
    let done = Latch(count)
    let start = monotonicNanoseconds()
    for index in 0..<count {
      Task(executorPreference: DispatchQueue.global()) {
        if index == count - 1 { for _ in 0..<count { semaphore.signal() } }
        waitFor(semaphore)
        done.open()
      }
    }
    require(done.wait(), "the last task starts although the others block")
    report("milliseconds", milliseconds(since: start))
  }

  /// The main actor and the main queue under `dispatchMain`: jobs from before and after it, items and jobs in turn.
  @Sendable private static func mainActor() {
    let early = Counter()
    for _ in 0..<10 { Task { @MainActor in early.add(isMainThread ? 1 : 1_000) } }
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(20)) {
      Task {
        var late = 0
        for _ in 0..<100 {
          late += await MainActor.run {
            dispatchPrecondition(condition: .onQueue(.main))
            return isMainThread ? 1 : 0
          }
        }
        let isolated = await withCheckedContinuation { continuation in
          DispatchQueue.main.async { continuation.resume(returning: MainActor.assumeIsolated { isMainThread }) }
        }
        report("early", early.value)
        report("late", late)
        report("isolated", isolated)
        exit(0)
      }
    }
    dispatchMain()
  }

  @inline(never) private static func waitFor(_ semaphore: DispatchSemaphore) { semaphore.wait() }
}
