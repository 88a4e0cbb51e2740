// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// An instant on the clock that counts while the machine is awake, with nanosecond resolution.
///
/// ```swift
/// let deadline = DispatchTime.now() + .seconds(2)
/// queue.asyncAfter(deadline: deadline) { print("two seconds of uptime later") }
/// ```
///
/// The clock starts near the start of the machine, never goes backwards, is not moved when somebody sets the time of
/// day, and stands still while the machine sleeps. For the time of day use ``DispatchWallTime``.
///
/// Arithmetic saturates: what lies more than 146 years after the clock's start is ``distantFuture``, what would lie
/// before its start is its first nanosecond, and ``distantFuture`` stays what it is. An instant made from a count of
/// nanoseconds beyond that horizon keeps its count, for comparisons and distances; in arithmetic and as a deadline it is
/// the distant future.
///
/// Difference from libdispatch: also `Hashable`; a count beyond the horizon is never read as another clock.
public struct DispatchTime: Comparable, Hashable, Sendable {
  /// Nanoseconds of uptime, or all ones for the distant future: as the C interface encodes it, up to the horizon.
  public let rawValue: UInt64

  @inline(__always)
  private init(_ code: TimeCode) {
    rawValue = code.rawValue
  }

  /// The instant a number of nanoseconds after the clock's start.
  ///
  /// ```swift
  /// let start = DispatchTime(uptimeNanoseconds: record.startNanoseconds)
  /// ```
  ///
  /// 0 stands for the present in arithmetic, as in C: `DispatchTime(uptimeNanoseconds: 0) + .seconds(1)` is a second
  /// from now.
  ///
  /// - Complexity: O(1).
  public init(uptimeNanoseconds: UInt64) {
    rawValue = uptimeNanoseconds
  }

  /// The present instant.
  ///
  /// ```swift
  /// let start = DispatchTime.now()
  /// work()
  /// print("took", start.distance(to: .now()))
  /// ```
  ///
  /// - Complexity: O(1), one reading of the clock without a system call.
  public static func now() -> DispatchTime {
    DispatchTime(TimeCode(rawValue: Clock.uptime.now()))
  }

  /// The instant that never comes: a wait until then has no timeout, work scheduled for then does not run.
  ///
  /// ```swift
  /// semaphore.wait(timeout: .distantFuture)
  /// ```
  public static let distantFuture = DispatchTime(.forever)

  /// Nanoseconds since the clock's start; `UInt64.max` for the distant future.
  ///
  /// ```swift
  /// let nanoseconds = end.uptimeNanoseconds - start.uptimeNanoseconds
  /// ```
  public var uptimeNanoseconds: UInt64 { rawValue }

  /// Whether the first instant comes before the second. The distant future comes last.
  ///
  /// - Complexity: O(1).
  public static func < (a: DispatchTime, b: DispatchTime) -> Bool {
    a.rawValue < b.rawValue
  }

  /// Whether both are the same instant.
  ///
  /// - Complexity: O(1).
  public static func == (a: DispatchTime, b: DispatchTime) -> Bool {
    a.rawValue == b.rawValue
  }

  /// The time from this instant to another, negative when the other is earlier.
  ///
  /// ```swift
  /// let elapsed = start.distance(to: .now())
  /// ```
  ///
  /// The distant future is `.never` away from all other instants, and 0 from itself.
  ///
  /// - Complexity: O(1).
  public func distance(to other: DispatchTime) -> DispatchTimeInterval {
    DispatchTimeInterval(from: rawValue, to: other.rawValue)
  }

  /// The instant an interval later; the same as `self + n`.
  ///
  /// ```swift
  /// let next = previous.advanced(by: .milliseconds(20))
  /// ```
  ///
  /// - Complexity: O(1).
  public func advanced(by n: DispatchTimeInterval) -> DispatchTime {
    self + n
  }
}

/// The instant an interval after another. An interval of `.never` leads to the distant future.
///
/// ```swift
/// queue.asyncAfter(deadline: .now() + .seconds(1)) { tick() }
/// ```
///
/// - Complexity: O(1).
public func + (time: DispatchTime, interval: DispatchTimeInterval) -> DispatchTime {
  time.moved(by: interval.clampedNanoseconds)
}

/// The instant an interval before another. Before the clock's start there is only its first nanosecond.
///
/// ```swift
/// let recent = event.time > .now() - .seconds(5)
/// ```
///
/// - Complexity: O(1).
public func - (time: DispatchTime, interval: DispatchTimeInterval) -> DispatchTime {
  time.moved(by: interval.clampedNanoseconds.negatedSaturating)
}

/// The instant a number of seconds after another, to the nanosecond. NaN and infinity lead to the distant future.
///
/// ```swift
/// queue.asyncAfter(deadline: .now() + 0.25) { blink() }
/// ```
///
/// - Complexity: O(1).
public func + (time: DispatchTime, seconds: Double) -> DispatchTime {
  time.moved(bySeconds: seconds)
}

/// The instant a number of seconds before another, to the nanosecond. NaN leads to the distant future.
///
/// ```swift
/// let recent = event.time > .now() - 0.5
/// ```
///
/// - Complexity: O(1).
public func - (time: DispatchTime, seconds: Double) -> DispatchTime {
  time.moved(bySeconds: -seconds)
}

extension DispatchTime {
  /// What the engine waits for; never for the distant future.
  var deadline: Deadline { code.deadline }

  /// In C the two topmost bits name a clock, and would name another one beyond the horizon.
  private var code: TimeCode { rawValue > TimeCode.horizon ? .forever : TimeCode(rawValue: rawValue) }

  fileprivate func moved(by delta: Int64) -> DispatchTime {
    DispatchTime(code.advanced(by: delta))
  }

  fileprivate func moved(bySeconds seconds: Double) -> DispatchTime {
    DispatchTime(code.advanced(bySeconds: seconds))
  }
}
