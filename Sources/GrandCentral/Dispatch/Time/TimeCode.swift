// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// An instant on one of three clocks in 64 bits, as the C interface encodes it (`dispatch_time_t`).
///
///     bits 63, 62   clock        the rest
///     0 0           uptime       nanoseconds; 0 stands for "now"
///     0 1           -            beyond the horizon: read as for ever
///     1 0           continuous   nanoseconds; 0 stands for "now"
///     1 1           wall         the value is the negated number of nanoseconds since 1970; 2 stands for "now"
///     all ones                   for ever
///
/// The encoding is an interface: the Swift runtime makes such values by itself. A code for "now" is a past instant as
/// a deadline, and the present one as the base of arithmetic. Arithmetic saturates: late results become for ever, early
/// ones the first instant of their clock that is neither "now" by accident (uptime, continuous: 1) nor for ever
/// (wall: 2).
struct TimeCode: Equatable, Sendable {
  let rawValue: UInt64

  static let now = TimeCode(rawValue: 0)
  static let continuousNow = TimeCode(rawValue: 1 << 63)
  static let wallNow = TimeCode(rawValue: ~1)
  static let forever = TimeCode(rawValue: ~0)

  /// The first count of nanoseconds, on any clock, that is for ever: 146 years.
  static let horizon: UInt64 = 1 << 62 - 1

  @inline(__always)
  init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// An instant of a clock, saturated at both ends.
  init(_ clock: Clock, nanoseconds: UInt64) {
    if nanoseconds >= TimeCode.horizon {
      self = .forever
      return
    }
    switch clock {
    case .uptime: rawValue = max(1, nanoseconds)
    case .continuous: rawValue = 1 << 63 | max(1, nanoseconds)
    case .wall: rawValue = 0 &- max(2, nanoseconds)
    }
  }

  /// A wall time from the C interface's parts, `seconds` and `nanoseconds` since 1970 and `delta` nanoseconds.
  ///
  /// As in C, a sum that does not come after 1970 is for ever unless a negative delta has led there.
  static func wall(seconds: Int64, nanoseconds: Int64, delta: Int64) -> TimeCode {
    let (whole, isFar) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if isFar { return seconds > 0 ? .forever : TimeCode(.wall, nanoseconds: 0) }
    let sum = whole.addingSaturating(nanoseconds).addingSaturating(delta)
    if sum <= 1, delta >= 0 { return .forever }
    return TimeCode(.wall, nanoseconds: UInt64(max(0, sum)))
  }

  /// The clock and its nanoseconds; `UInt64.max` for for ever.
  private var parts: (clock: Clock, nanoseconds: UInt64) {
    switch rawValue >> 62 {
    case 0b00: (.uptime, rawValue)
    case 0b01: (.uptime, .max)
    case 0b10: (.continuous, rawValue & ~(1 << 63))
    default: (.wall, self == .forever ? .max : 0 &- rawValue)
    }
  }

  /// What the engine waits for. A code for "now" has passed.
  var deadline: Deadline {
    let (clock, nanoseconds) = parts
    return nanoseconds == .max ? .never : Deadline(clock: clock, nanoseconds: nanoseconds)
  }

  /// The instant `delta` nanoseconds later, or earlier when it is negative. For ever stays for ever.
  func advanced(by delta: Int64) -> TimeCode {
    let (isNow, clock) = (self == .now || self == .continuousNow || self == .wallNow, parts.clock)
    return (isNow ? TimeCode(clock, nanoseconds: clock.now()) : self).moved(by: delta)
  }

  /// As `advanced`, from an instant: what has the bits of a code for "now" is no such code.
  @inline(__always)
  func moved(by delta: Int64) -> TimeCode {
    let (clock, nanoseconds) = parts
    if nanoseconds == .max { return .forever }
    let sum = Int64(clamping: nanoseconds).addingSaturating(delta)
    return TimeCode(clock, nanoseconds: UInt64(max(0, sum)))
  }

  /// The instant `seconds` later. Fractions below a nanosecond are dropped; no number leads to for ever.
  func advanced(bySeconds seconds: Double) -> TimeCode {
    if seconds.isNaN { return .forever }
    return advanced(by: Int64(clampingNanosecondsOf: seconds))
  }
}

extension Int64 {
  /// The sum, or the limit that it passes.
  @inline(__always)
  func addingSaturating(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    if overflow { return other < 0 ? .min : .max }
    return sum
  }

  /// The negation, or the largest value for the smallest.
  @inline(__always)
  var negatedSaturating: Int64 { self == .min ? .max : -self }

  /// Whole nanoseconds in a number of seconds that is one, or the limit that they pass.
  @inline(__always)
  init(clampingNanosecondsOf seconds: Double) {
    let nanoseconds = seconds * 1_000_000_000
    // 2^63 is the first Double that an Int64 cannot hold, -2^63 the last that it can.
    if nanoseconds >= 0x1p63 {
      self = .max
    } else if nanoseconds < -0x1p63 {
      self = .min
    } else {
      self.init(nanoseconds)
    }
  }
}
