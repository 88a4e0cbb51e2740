// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

extension Scenario {
  static let limits: [String: Body] = [
    "no-descriptors": noDescriptors, "few-threads": fewThreads, "all-wait-while-short-of-threads": allWaitWhileShort,
    "short-of-threads-in-a-pause": submitInPause, "short-of-threads-beside-main-queue": waitBesideMainQueue,
  ]

  /// Not one more descriptor can be opened while the engine starts and works; timers may be late until it can.
  @Sendable private static func noDescriptors() {
    let before = descriptorLimit(0)
    let (worked, fired) = (Latch(1_000), Latch())
    for _ in 0..<1_000 { DispatchQueue.global().async { worked.open() } }
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(20)) { fired.open() }
    require(worked.wait(), "work is done without descriptors")
    report("syncs", DispatchQueue(label: "serial").sync { 1 })
    report("firedWithoutDescriptors", fired.wait(seconds: 1))
    _ = descriptorLimit(before)
    require(fired.wait(), "the timer comes once there are descriptors again")
    let again = Latch()
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(5)) { again.open() }
    require(again.wait(), "timers work afterwards")
  }

  /// The limit there was.
  private static func descriptorLimit(_ soft: rlim_t) -> rlim_t {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let before = limit.rlim_cur
    limit.rlim_cur = soft
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return before
  }

  /// Becomes a user that may have so many threads, of which the main thread is one, and may raise that to `most`.
  static func limitThreads(_ count: rlim_t, most: rlim_t) {
    guard geteuid() == 0 else { skip("only root can become a user without threads") }
    let user = uid_t(60_000 + getpid() % 5_000)
    guard setThreadLimit(count, most), setgid(user) == 0, setuid(user) == 0 else { skip("setuid is refused") }
  }

  private static func setThreadLimit(_ count: rlim_t, _ most: rlim_t) -> Bool {
    var limit = rlimit(rlim_cur: count, rlim_max: most)
    return setrlimit(__rlimit_resource_t(6), &limit) == 0
  }

  /// Each item waits for what another queue runs. `GC_LIMIT` threads can be had, more of them after a while; no thread outside of the
  /// library submits then, or waits in it. `GC_WAIT` says how the items wait.
  @Sendable private static func allWaitWhileShort() {
    let (limit, kind) = (getenv("GC_LIMIT").flatMap { rlim_t(String(cString: $0)) }, getenv("GC_WAIT"))
    guard let limit, let kind, let wait = waits[String(cString: kind)] else { return complain("GC_LIMIT, GC_WAIT") }
    limitThreads(limit, most: 100)
    let (report, ends) = (catchErrors(), pair())
    var waiting = 0
    // The threads there are may work off all eight, each running what another item waits for. Then eight others follow.
    while waiting == 0 {
      for index in 0..<8 {
        DispatchQueue(label: "outer-\(index)").async {
          wait(DispatchQueue(label: "inner-\(index)"))
          require(write(ends.to, "e", 1) == 1, "an item says that it has ended")
        }
      }
      waiting = left(of: 8, ends.from, before: report.from)
    }
    waitForReport(report)
    require(setThreadLimit(100, 100), "the limit is raised")
    // The patience of the test that runs this is the limit.
    for _ in 0..<waiting { takeEnd(ends.from) }
    // LeakSanitizer would want a thread of its own at the exit.
    _exit(0)
  }

  /// The kernel has refused the monitor alone. An item is submitted while it is not asked, and no other thread would ask it again.
  @Sendable private static func submitInPause() {
    limitThreads(1, most: 100)
    GrandCentralRuntime.processorOverride = 2
    refuseForLong { DispatchQueue.concurrentPerform(iterations: 2) { _ in } }
    require(setThreadLimit(100, 100), "the limit is raised")
    DispatchQueue.global().async { _exit(0) }
    dispatchMain()
  }

  /// The one worker waits, unseen, for an item that the kernel refuses a thread for. The main thread waits for the main queue's items.
  @Sendable private static func waitBesideMainQueue() {
    limitThreads(2, most: 100)
    GrandCentralRuntime.processorOverride = 2
    let (begun, answered) = (Latch(), Latch())
    DispatchQueue.global().async {
      begun.open()
      answered.wait(seconds: 1e6)
      _exit(0)
    }
    require(begun.wait(), "the first item begins")
    refuseForLong { DispatchQueue.global().async { answered.open() } }
    require(setThreadLimit(100, 100), "the limit is raised")
    dispatchMain()
  }

  /// Has the kernel asked for threads, every millisecond or so, until their shortage is reported. From then on it is not asked for half a
  /// second or more.
  private static func refuseForLong(_ ask: () -> Void) {
    let report = catchErrors()
    var ready = pollfd(fd: report.from, events: Int16(POLLIN), revents: 0)
    repeat { ask() } while poll(&ready, 1, 1) == 0
    waitForReport(report)
  }

  /// How many of so many items have not ended when there is something to read from `report`.
  private static func left(of count: Int, _ ends: Int32, before report: Int32) -> Int {
    var left = count
    var ready = [report, ends].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    while left > 0 {
      require(poll(&ready, 2, -1) > 0, "an end, or a report")
      if ready[0].revents != 0 { break }
      takeEnd(ends)
      left -= 1
    }
    return left
  }

  private static func takeEnd(_ ends: Int32) {
    var byte: UInt8 = 0
    require(read(ends, &byte, 1) == 1, "the end of an item")
  }

  private static func pair() -> (from: Int32, to: Int32) {
    var ends: [Int32] = [-1, -1]
    require(pipe(&ends) == 0, "a pipe")
    return (ends[0], ends[1])
  }

  /// Standard error goes to a pipe from now on. Returns the end to read from, and what standard error was.
  private static func catchErrors() -> (from: Int32, to: Int32) {
    let (former, ends) = (dup(2), pair())
    require(former >= 0 && dup2(ends.to, 2) == 2, "a pipe in place of standard error")
    return (ends.from, former)
  }

  /// Waits for a line, and writes it to what standard error was. Further lines go there as well.
  private static func waitForReport(_ report: (from: Int32, to: Int32)) {
    var byte: UInt8 = 0
    repeat {
      require(read(report.from, &byte, 1) == 1 && write(report.to, &byte, 1) == 1, "a report of the shortage")
    } while byte != UInt8(ascii: "\n")
    dup2(report.to, 2)
  }

  private static let waits: [String: @Sendable (DispatchQueue) -> Void] = [
    "semaphore": { queue in
      let answer = DispatchSemaphore(value: 0)
      queue.async { answer.signal() }
      answer.wait()
    },
    "deadline": { queue in
      let answer = DispatchSemaphore(value: 0)
      queue.async { answer.signal() }
      require(answer.wait(timeout: .now() + 3_600) == .success, "the signal comes")
    },
    "group": { queue in
      let group = DispatchGroup()
      queue.async(group: group) {}
      group.wait()
    },
    "item": { queue in
      let item = DispatchWorkItem {}
      queue.async(execute: item)
      item.wait()
    },
    "sync": { queue in
      queue.async {}
      queue.sync {}
    },
  ]

  /// The user may have four threads, and fifty items block.
  @Sendable private static func fewThreads() {
    limitThreads(4, most: 4)
    let (done, sum) = (Latch(250), Unprotected(0))
    let queue = DispatchQueue(label: "serial")
    for _ in 0..<50 {
      DispatchQueue.global().async {
        usleep(2_000)
        done.open()
      }
    }
    for _ in 0..<200 {
      queue.async {
        sum.value += 1
        done.open()
      }
    }
    require(done.wait(), "all work is done by the threads there are")
    report("sum", queue.sync { sum.value })
    report("threads", ProcessThreads.all().count)
    DispatchQueue.concurrentPerform(iterations: 100) { _ in }
    let fired = Latch()
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(5)) { fired.open() }
    require(fired.wait(), "timers work")
    // LeakSanitizer would want a thread of its own at the exit.
    _exit(0)
  }
}
