// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

extension Scenario {
  static let idleness: [String: Body] = [
    "idle": idle, "idle-after-timers": idleAfterTimers, "memory-after-burst": memoryAfterBurst,
    "idle-clocks": idleClocks, "idle-beside-blocked": idleBesideBlocked,
  ]

  /// Context switches of every thread but the main one, which looks on.
  private static func switches() -> Int {
    ProcessThreads.all().filter { $0.id != getpid() }.reduce(0) { $0 + $1.contextSwitches + Int($1.id) }
  }

  /// Waits for a stretch of `seconds` in which no thread ran at all; reports how long it took to come.
  private static func awaitQuiet(seconds: Double) {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer's thread wakes up") }
    let begin = monotonicNanoseconds()
    while milliseconds(since: begin) < Int(Patience.seconds * 1_500) {
      let before = switches()
      usleep(useconds_t(seconds * 1e6))
      if switches() == before {
        report("quiet", 1)
        report("after", milliseconds(since: begin) - Int(seconds * 1_000))
        report("workersLeft", ProcessThreads.workers.count)
        return
      }
    }
    report("quiet", 0)
  }

  private static func burst() {
    let (everyoneIsIn, go, done) = (Latch(24), Latch(), Latch(24))
    for _ in 0..<24 {
      DispatchQueue.global().async {
        everyoneIsIn.open()
        go.wait()
        done.open()
      }
    }
    require(everyoneIsIn.wait(), "the burst began")
    report("workersInBurst", ProcessThreads.workers.count)
    go.open()
    require(done.wait(), "the burst ended")
  }

  @Sendable private static func idle() {
    burst()
    let never = DispatchWorkItem { report("early", 1) }
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(3_600), execute: never)
    // Longer than a worker sleeps before it goes.
    awaitQuiet(seconds: 3)
    never.cancel()
  }

  /// As many items as there are places block where the library does not see it. None of their threads waits for the timer.
  @Sendable private static func idleBesideBlocked() {
    let (bothAreIn, never) = (Latch(2), Latch())
    for _ in 0..<2 {
      DispatchQueue.global().async {
        bothAreIn.open()
        _ = never.wait(seconds: 1e6)
      }
    }
    require(bothAreIn.wait(), "both items block")
    let late = DispatchWorkItem { report("early", 1) }
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(3_600), execute: late)
    awaitQuiet(seconds: 1)
    let fired = Latch()
    let start = monotonicNanoseconds()
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(20)) { fired.open() }
    require(fired.wait(), "a timer fires")
    report("milliseconds", milliseconds(since: start))
    _exit(0)
  }

  /// A deadline of the wall clock that comes while the poller sleeps until a nearer one of the other clock: the kernel must
  /// be told at once, or a step of the clock would be noticed with the nearer one only.
  @Sendable private static func idleClocks() {
    let (near, far) = (DispatchWorkItem {}, DispatchWorkItem {})
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(1_000), execute: near)
    // The first one of its clock makes the kernel's timer; armed again is what counts.
    var before = -1
    require(
      eventually {
        let now = switches()
        defer {
          before = now
          usleep(50_000)
        }
        return now == before
      }, "the pool sleeps")
    DispatchQueue.global().asyncAfter(wallDeadline: .now() + .seconds(3_600), execute: far)
    require(eventually { isWallTimerArmed() }, "the kernel's timer is armed")
    near.cancel()
    far.cancel()
  }

  private static func isWallTimerArmed() -> Bool {
    (0..<64).contains { number in
      guard let text = readText("/proc/self/fdinfo/\(number)"), text.contains("clockid: 0\n") else { return false }
      return !text.contains("it_value: (0, 0)")
    }
  }

  @Sendable private static func idleAfterTimers() {
    let done = Latch(20)
    for index in 0..<20 {
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(index * 5)) { done.open() }
    }
    require(done.wait(), "the timers came")
    // Ten a second, for longer than the patience lasts: timers that stayed would be no quiet.
    let cancelled = (1...6_000).map { _ in DispatchWorkItem {} }
    for (index, item) in cancelled.enumerated() {
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(100 * index + 2_000), execute: item)
    }
    for item in cancelled { item.cancel() }
    awaitQuiet(seconds: 2)
  }

  /// A backlog of a million items, and what is left of its memory when the pool has been idle for a while.
  @Sendable private static func memoryAfterBurst() {
    if Kernel.isSanitized { skip("a sanitizer keeps memory of its own") }
    burst()
    let before = residentKilobytes()
    let queue = DispatchQueue(label: "burst")
    let done = Latch(1)
    queue.suspend()
    for _ in 0..<1_000_000 { queue.async {} }
    queue.async { done.open() }
    report("backlogKilobytes", residentKilobytes() - before)
    queue.resume()
    require(done.wait(), "the backlog is worked off")
    let begin = monotonicNanoseconds()
    var left = residentKilobytes() - before
    while left > 8_192, milliseconds(since: begin) < Int(Patience.seconds * 1_000) {
      usleep(50_000)
      left = residentKilobytes() - before
    }
    report("leftKilobytes", left)
  }
}
