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
    let semaphore = DispatchSemaphore(value: 0)
    releaseOnceAsleep { semaphore.signal() }.during { semaphore.wait() }
  }

  @inline(never) private static func waitForGroup() {
    let group = DispatchGroup()
    group.enter()
    releaseOnceAsleep { group.leave() }.during { group.wait() }
  }

  @inline(never) private static func waitInSync() {
    let (queue, started, go) = (DispatchQueue(label: "busy"), Latch(), Latch())
    queue.async {
      started.open()
      go.wait()
    }
    started.wait()
    releaseOnceAsleep { go.open() }.during { queue.sync {} }
  }

  /// Lets the calling thread's wait end, but not before the kernel says that the thread sleeps in it.
  private static func releaseOnceAsleep(_ release: @escaping @Sendable () -> Void) -> Release {
    let (thread, waits) = (Kernel.threadID, Latch())
    let releaser = PlainThread {
      waits.wait()
      require(eventually { ProcessThreads.record(of: thread)?.state == "S" }, "the thread waits")
      release()
    }
    return Release(waits: waits, releaser: releaser)
  }

  private struct Release {
    let waits: Latch
    let releaser: PlainThread

    @inline(__always)
    func during(_ wait: () -> Void) {
      waits.open()
      wait()
      releaser.join()
    }
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
