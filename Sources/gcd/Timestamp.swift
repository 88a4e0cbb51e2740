// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// A moment, to the millisecond.
struct Timestamp: Sendable {
  private let seconds: Int
  private let milliseconds: Int

  /// Now.
  init() {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    seconds = time.tv_sec
    milliseconds = time.tv_nsec / 1_000_000
  }

  /// Nanoseconds of the wall clock.
  static func wall() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return nanoseconds(time)
  }

  static func nanoseconds(_ time: timespec) -> UInt64 {
    UInt64(max(0, time.tv_sec)) * 1_000_000_000 + UInt64(max(0, time.tv_nsec))
  }

  /// As ISO 8601 has it, in universal time: "2026-01-31T09:05:07.012Z".
  var iso: String {
    var time = seconds
    var parts = tm()
    gmtime_r(&time, &parts)
    return Self.padded(Int(parts.tm_year) + 1900, 4) + "-" + Self.padded(Int(parts.tm_mon) + 1, 2) + "-"
      + Self.padded(Int(parts.tm_mday), 2) + "T" + clock(parts) + "Z"
  }

  /// What a clock on the wall shows: "09:05:07.012".
  var local: String {
    var time = seconds
    var parts = tm()
    localtime_r(&time, &parts)
    return clock(parts)
  }

  private func clock(_ parts: tm) -> String {
    Self.padded(Int(parts.tm_hour), 2) + ":" + Self.padded(Int(parts.tm_min), 2) + ":"
      + Self.padded(Int(parts.tm_sec), 2) + "." + Self.padded(milliseconds, 3)
  }

  private static func padded(_ number: Int, _ digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
  }
}
