// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// Measures the time since it was made.
struct Stopwatch: Sendable {
  private let start = Stopwatch.now()

  var seconds: Double { Self.now() - start }

  private static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
