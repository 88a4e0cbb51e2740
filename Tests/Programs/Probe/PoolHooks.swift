// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

extension Scenario {
  static let poolHooks: [String: Body] = [
    "exit-hooks-wait": exitHooksWait, "start-hook-waits": startHookWaits,
    "start-hook-waits-unseen": startHookWaitsUnseen, "timer-slack": timerSlack,
    "budget-at-work": budgetAtWork, "hooks-are-freed": hooksAreFreed,
  ]

  /// Exit hooks that take long, with a budget of eight threads: they count, and what they submit runs.
  @Sendable private static func exitHooksWait() {
    let (inHooks, fromHooks, gate) = (Counter(), Counter(), Latch())
    GrandCentralRuntime.setWorkerHooks(start: nil) {
      DispatchQueue(label: "from a hook").async { fromHooks.add() }
      inHooks.add()
      gate.wait()
    }
    let (everybodyIsIn, first) = (Latch(8), Latch(8))
    for _ in 0..<8 {
      DispatchQueue.global().async {
        everybodyIsIn.open()
        everybodyIsIn.wait()
        first.open()
      }
    }
    require(first.wait(), "the first wave met")
    require(eventually { inHooks.value >= 5 }, "workers end")
    report("submitted", eventually { fromHooks.value >= 5 })

    let (isIn, second, most) = (Counter(), Latch(8), Counter())
    let leave = Latch()
    for _ in 0..<8 {
      DispatchQueue.global().async {
        isIn.add()
        leave.wait()
        second.open()
      }
    }
    let begin = monotonicNanoseconds()
    while milliseconds(since: begin) < 200 {
      most.add(max(0, ProcessThreads.workers.count - most.value))
      usleep(5_000)
    }
    report("most", most.value)
    gate.open()
    report("replaced", eventually { isIn.value == 8 })
    leave.open()
    require(second.wait(), "the second wave ran")
  }

  /// The first worker's start hook waits for work that another worker must run.
  private static func waitInStartHook(_ wait: @escaping @Sendable () -> Void) {
    let calls = Counter()
    GrandCentralRuntime.setWorkerHooks(start: { if calls.add() == 1 { wait() } }, exit: nil)
    let done = Latch()
    DispatchQueue.global().async { done.open() }
    require(done.wait(), "the item ran")
  }

  @Sendable private static func startHookWaits() {
    waitInStartHook {
      let semaphore = DispatchSemaphore(value: 0)
      DispatchQueue.global().async { semaphore.signal() }
      semaphore.wait()
    }
  }

  @Sendable private static func startHookWaitsUnseen() {
    waitInStartHook {
      let latch = Latch()
      DispatchQueue.global().async { latch.open() }
      latch.wait()
    }
  }

  /// Calls `body` when it is freed.
  private final class Kept: Sendable {
    private let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    deinit { body() }

    /// A hook that does nothing, and that alone keeps such an object.
    static func hook(_ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
      let kept = Kept(body)
      return { withExtendedLifetime(kept) {} }
    }
  }

  /// What the former hooks have kept sets hooks itself as it is freed, and waits for the pool's first worker.
  @Sendable private static func hooksAreFreed() {
    let (starts, frees) = (Counter(), Counter())
    let end: @Sendable () -> Void = {
      GrandCentralRuntime.setWorkerHooks(start: { starts.add() }, exit: nil)
      let done = Latch()
      DispatchQueue.global().async { done.open() }
      require(done.wait(), "the item ran")
      frees.add()
    }
    GrandCentralRuntime.setWorkerHooks(start: Kept.hook(end), exit: nil)
    GrandCentralRuntime.setWorkerHooks(start: nil, exit: nil)
    report("freed", frees.value)
    report("started", starts.value > 0)
  }

  /// A thread that an item starts which a timer has brought has the timer slack that it would have from the main thread.
  @Sendable private static func timerSlack() {
    @Sendable func slack() -> String? { readText("/proc/\(Kernel.threadID)/timerslack_ns") }
    guard let main = slack() else { skip("the timer slack cannot be read") }
    let (values, done) = (Recorder<String>(), Latch(2))
    for delay in [1, 20] {
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(delay)) {
        values.note(slack() ?? "?")
        PlainThread { values.note(slack() ?? "?") }.join()
        done.open()
      }
    }
    require(done.wait(), "the items ran")
    report("different", values.values.filter { $0 != main }.count)
  }

  /// The budget is used up by items that use the processors: nobody is blocked.
  @Sendable private static func budgetAtWork() {
    let (isIn, done) = (Latch(2), Latch(4))
    for _ in 0..<2 {
      DispatchQueue.global(qos: .utility).async {
        isIn.open()
        spin(milliseconds: 60)
        done.open()
      }
    }
    require(isIn.wait(), "both items are at work")
    for _ in 0..<2 { DispatchQueue.global(qos: .userInteractive).async { done.open() } }
    require(done.wait(), "all ran")
  }
}
