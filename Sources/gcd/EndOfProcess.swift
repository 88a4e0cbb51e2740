// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral

/// How processes end, in words.
enum EndOfProcess {
  static func words(_ status: DispatchSource.ProcessExitStatus) -> String {
    switch status {
    case .exited(let code): "exited with status \(code)"
    case .killed(let signal, let dumpedCore): "killed by \(name(of: signal))" + (dumpedCore ? ", core dumped" : "")
    }
  }

  /// Keeps how children end until they are waited for. Where the tool's caller ignores SIGCHLD, the kernel would forget their codes, and
  /// their numbers might be those of other processes. As those of timeout(1), the children do not ignore it either: a process that is
  /// spawned begins with what its parent ignores, or with the default.
  static func keepAll() { signal(SIGCHLD, SIG_DFL) }

  /// What `waitpid` says.
  static func status(_ word: Int32) -> DispatchSource.ProcessExitStatus {
    let signal = word & 0x7f
    if signal == 0 { return .exited(code: (word >> 8) & 0xff) }
    return .killed(signal: signal, dumpedCore: word & 0x80 != 0)
  }

  /// The names of the signals from 1 on.
  private static let names = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
    "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO",
    "PWR", "SYS",
  ]

  static func name(of signal: Int32) -> String {
    let index = Int(signal) - 1
    return names.indices.contains(index) ? "SIG" + names[index] : "signal \(signal)"
  }
}
