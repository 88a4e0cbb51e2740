// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

/// Misuse inside functions whose names a backtrace has to show.
extension Scenario {
  static let backtraces: [String: Body] = [
    "misuse-on-main": { theProgramsMainFunction() },
    "misuse-on-a-worker": {
      DispatchQueue(label: "org.example.worker").async { theProgramsItem() }
      _ = Latch().wait(seconds: 30)
    },
    "misuse-with-sigabrt-blocked": {
      var blocked = sigset_t()
      sigemptyset(&blocked)
      sigaddset(&blocked, SIGABRT)
      pthread_sigmask(SIG_BLOCK, &blocked, nil)
      theProgramsMainFunction()
    },
    "misuse-with-sigabrt-ignored": {
      signal(SIGABRT, SIG_IGN)
      theProgramsMainFunction()
    },
  ]

  @inline(never)
  private static func theProgramsMainFunction() {
    DispatchGroup().leave()
    report("came", "back")
  }

  @inline(never)
  private static func theProgramsItem() {
    let queue = DispatchQueue(label: "org.example.inner")
    queue.sync { queue.sync { report("came", "back") } }
    report("came", "back")
  }
}
