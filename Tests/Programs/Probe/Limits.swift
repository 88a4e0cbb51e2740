// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

extension Scenario {
  static let limits: [String: Body] = ["no-descriptors": noDescriptors, "few-threads": fewThreads]

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

  /// The user may have four threads, of which the main thread is one, and fifty items block.
  @Sendable private static func fewThreads() {
    guard geteuid() == 0 else { skip("only root can become a user without threads") }
    let user = uid_t(60_000 + getpid() % 5_000)
    var limit = rlimit(rlim_cur: 4, rlim_max: 4)
    let nproc = __rlimit_resource_t(6)
    guard setrlimit(nproc, &limit) == 0, setgid(user) == 0, setuid(user) == 0 else { skip("setuid is refused") }
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
