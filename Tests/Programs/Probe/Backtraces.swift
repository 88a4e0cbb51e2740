// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
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
    "code-names": codeNames,
  ]

  /// The program calls itself by the name GC_NAME, and looks for the name of a function that it does not export.
  private static func codeNames() {
    guard let wanted = getenv("GC_NAME").map({ String(cString: $0) }) else { return }
    guard CommandLine.arguments[0] == wanted else {
      var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(wanted), strdup("code-names"), nil]
      execv("/proc/self/exe", &arguments)
      return complain("cannot run itself again")
    }
    // A pipe would keep the thread for ever.
    alarm(60)
    let function: @convention(c) (Int32) -> Bool = gc_is_open
    let room = 256
    let name = UnsafeMutablePointer<CChar>.allocate(capacity: room)
    defer { name.deallocate() }
    _ = gc_describe_code(unsafeBitCast(function, to: UnsafeRawPointer.self), name, Int32(room), nil, 0)
    report("name", String(cString: name))
  }

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
