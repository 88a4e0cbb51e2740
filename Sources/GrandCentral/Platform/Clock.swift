// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// The clocks a deadline can be told by.
enum Clock: UInt8, Sendable {
  /// `CLOCK_MONOTONIC`: stands still while the machine sleeps.
  case uptime

  /// `CLOCK_BOOTTIME`: goes on while the machine sleeps.
  case continuous

  /// `CLOCK_REALTIME`: nanoseconds since 1970, may be set forwards and backwards.
  case wall

  /// Nanoseconds of this clock.
  @inline(__always)
  func now() -> UInt64 {
    if let world = World.current { return world.now() &+ World.distance(of: self) }
    return switch self {
    case .uptime: gc_clock_uptime()
    case .continuous: gc_clock_continuous()
    case .wall: gc_clock_wall()
    }
  }
}

/// An instant to wait until, on one of the clocks, or never.
struct Deadline: Equatable, Sendable {
  let clock: Clock

  /// Nanoseconds of `clock`; `UInt64.max` is never, whatever the clock.
  let nanoseconds: UInt64

  /// The instant that does not come.
  static let never = Deadline(clock: .uptime, nanoseconds: .max)

  /// The instant `nanoseconds` from now; never when the clock cannot count that far.
  static func after(_ nanoseconds: UInt64, on clock: Clock) -> Deadline {
    let (sum, overflow) = clock.now().addingReportingOverflow(nanoseconds)
    return overflow ? .never : Deadline(clock: clock, nanoseconds: sum)
  }

  var isNever: Bool { nanoseconds == .max }

  func hasPassed() -> Bool { !isNever && clock.now() >= nanoseconds }

  /// Nanoseconds left: 0 once the deadline has passed, `UInt64.max` for never.
  func remaining() -> UInt64 {
    if isNever { return .max }
    let now = clock.now()
    return now >= nanoseconds ? 0 : nanoseconds - now
  }

  static func == (a: Deadline, b: Deadline) -> Bool {
    a.nanoseconds == b.nanoseconds && (a.clock == b.clock || a.isNever)
  }
}
