// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// What was asked for.
struct TraceOptions {
  enum Subject {
    case process(pid_t)
    case command([String])
    /// The path of a core file.
    case core(String)
  }

  let subject: Subject
  /// Nil: until the process ends, or Ctrl-C.
  let seconds: Double?
  /// What a flight recorder has kept of the last seconds.
  let last: Double?
  /// The largest number of records.
  let count: UInt64?
  let library: String?
  /// Nil: the tool chooses a name and prints it.
  let output: String?
}
