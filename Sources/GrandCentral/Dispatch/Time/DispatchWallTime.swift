// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// An instant of the time of day, with nanosecond resolution.
///
/// ```swift
/// queue.asyncAfter(wallDeadline: .now() + .seconds(3600)) { print("an hour later by the clock on the wall") }
/// ```
///
/// Waits and timers that use it follow the system's clock when somebody sets it, forwards and backwards, and count
/// the time that the machine sleeps. For a length of time that does not depend on the time of day use
/// ``DispatchTime``.
///
/// Arithmetic saturates: what lies more than 146 years after 1970 is ``distantFuture``, what would lie before 1970 is
/// its beginning, and ``distantFuture`` stays what it is.
///
/// Difference from libdispatch: also `Hashable`; an instant up to the beginning of 1970 is one that has passed, where
/// libdispatch makes it the distant future.
public struct DispatchWallTime: Comparable, Hashable, Sendable {
  /// The instant as the C interface encodes it: the negated number of nanoseconds since 1970, or all ones for the
  /// distant future.
  public let rawValue: UInt64

  private init(_ code: TimeCode) {
    rawValue = code.rawValue
  }

  /// The present instant.
  ///
  /// ```swift
  /// timer.schedule(wallDeadline: .now(), repeating: .seconds(60))
  /// ```
  ///
  /// - Complexity: O(1), one reading of the clock without a system call.
  public static func now() -> DispatchWallTime {
    DispatchWallTime(TimeCode(.wall, nanoseconds: Clock.wall.now()))
  }

  /// The instant that never comes: a wait until then has no timeout, work scheduled for then does not run.
  ///
  /// ```swift
  /// group.wait(wallTimeout: .distantFuture)
  /// ```
  public static let distantFuture = DispatchWallTime(.forever)

  /// The instant a number of seconds and nanoseconds after the beginning of 1970, in coordinated universal time.
  ///
  /// ```swift
  /// let midnight = DispatchWallTime(timespec: timespec(tv_sec: 1_767_225_600, tv_nsec: 0))
  /// ```
  ///
  /// - Complexity: O(1).
  public init(timespec: timespec) {
    let (seconds, isFar) = Int64(timespec.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    let limit: Int64 = timespec.tv_sec < 0 ? .min : .max
    let sum = (isFar ? limit : seconds).addingSaturating(Int64(timespec.tv_nsec))
    self.init(TimeCode(.wall, nanoseconds: UInt64(max(0, sum))))
  }

  /// Whether the first instant comes before the second. The distant future comes last.
  ///
  /// - Complexity: O(1).
  public static func < (a: DispatchWallTime, b: DispatchWallTime) -> Bool {
    a.nanosecondsSince1970 < b.nanosecondsSince1970
  }

  /// Whether both are the same instant.
  ///
  /// - Complexity: O(1).
  public static func == (a: DispatchWallTime, b: DispatchWallTime) -> Bool {
    a.rawValue == b.rawValue
  }

  /// The time from this instant to another, negative when the other is earlier.
  ///
  /// ```swift
  /// let late = planned.distance(to: .now())
  /// ```
  ///
  /// The distant future is `.never` away from all other instants, and 0 from itself.
  ///
  /// - Complexity: O(1).
  public func distance(to other: DispatchWallTime) -> DispatchTimeInterval {
    DispatchTimeInterval(from: nanosecondsSince1970, to: other.nanosecondsSince1970)
  }

  /// The instant an interval later; the same as `self + n`.
  ///
  /// ```swift
  /// let reminder = appointment.advanced(by: .seconds(-600))
  /// ```
  ///
  /// - Complexity: O(1).
  public func advanced(by n: DispatchTimeInterval) -> DispatchWallTime {
    self + n
  }
}

/// The instant an interval after another. An interval of `.never` leads to the distant future.
///
/// ```swift
/// queue.asyncAfter(wallDeadline: .now() + .seconds(1)) { tick() }
/// ```
///
/// - Complexity: O(1).
public func + (time: DispatchWallTime, interval: DispatchTimeInterval) -> DispatchWallTime {
  time.moved(by: interval.clampedNanoseconds)
}

/// The instant an interval before another. Before 1970 there is only its beginning.
///
/// ```swift
/// let reminder = appointment - .seconds(600)
/// ```
///
/// - Complexity: O(1).
public func - (time: DispatchWallTime, interval: DispatchTimeInterval) -> DispatchWallTime {
  time.moved(by: interval.clampedNanoseconds.negatedSaturating)
}

/// The instant a number of seconds after another, to the nanosecond. NaN and infinity lead to the distant future.
///
/// ```swift
/// queue.asyncAfter(wallDeadline: .now() + 0.25) { blink() }
/// ```
///
/// - Complexity: O(1).
public func + (time: DispatchWallTime, seconds: Double) -> DispatchWallTime {
  time.moved(bySeconds: seconds)
}

/// The instant a number of seconds before another, to the nanosecond. NaN leads to the distant future.
///
/// ```swift
/// let reminder = appointment - 90.0
/// ```
///
/// - Complexity: O(1).
public func - (time: DispatchWallTime, seconds: Double) -> DispatchWallTime {
  time.moved(bySeconds: -seconds)
}

extension DispatchWallTime {
  /// What the engine waits for; never for the distant future.
  var deadline: Deadline { TimeCode(rawValue: rawValue).deadline }

  /// The rank in time; `UInt64.max` for the distant future.
  private var nanosecondsSince1970: UInt64 { self == .distantFuture ? .max : 0 &- rawValue }

  /// An instant is none of the C interface's codes for the present one, also at the beginning of 1970, which has its bits.
  fileprivate func moved(by delta: Int64) -> DispatchWallTime {
    DispatchWallTime(TimeCode(rawValue: rawValue).moved(by: delta))
  }

  fileprivate func moved(bySeconds seconds: Double) -> DispatchWallTime {
    seconds.isNaN ? .distantFuture : moved(by: Int64(clampingNanosecondsOf: seconds))
  }
}
