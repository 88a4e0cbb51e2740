// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import IndexKit

/// Measures time and computing since it was made.
struct Stopwatch: Sendable {
  private let start = Stopwatch.now()
  private let processorStart = Stopwatch.processorSeconds()

  var seconds: Double { Self.now() - start }

  func performance(_ mode: Performance.Mode) -> Performance {
    Performance(
      mode: mode, seconds: seconds, processorSeconds: Self.processorSeconds() - processorStart,
      coresAvailable: Self.coresAvailable)
  }

  /// The processors that are to be had.
  static var coresAvailable: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  private static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static func processorSeconds() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
  }
}
