// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// A descriptor that polls readable from a deadline on: for the clocks that a poller's timeout does not follow.
struct TimerFD: ~Copyable, Sendable {
  /// Why the descriptor was readable.
  enum Event: Equatable, Sendable {
    case nothing
    case expired
    /// The wall clock was set. The timer is disarmed: arm it again with the same deadline.
    case clockWasSet
  }

  let descriptor: FileDescriptor

  /// The clock that deadlines are told by.
  let clock: Clock

  /// Nil when the kernel makes none, for example because the process or the system has no descriptor left.
  init?(clock: Clock) {
    var error: Errno?
    self.init(clock: clock, or: &error)
  }

  /// As above; says why.
  init?(clock: Clock, or error: inout Errno?) {
    let number =
      switch clock {
      case .uptime: Int32(1)
      case .continuous: Int32(GC_CLOCK_BOOT)
      case .wall: Int32(GC_CLOCK_WALL)
      }
    let result = gc_timerfd_create(number)
    error = Errno(result: Int(result))
    guard let descriptor = FileDescriptor(result: result) else { return nil }
    self.descriptor = descriptor
    self.clock = clock
  }

  /// Replaces the deadline, in nanoseconds of `clock`; one that has passed expires at once, `UInt64.max` never.
  ///
  /// A timer on the wall clock follows it when it is set, and also reports that it was set.
  borrowing func arm(at nanoseconds: UInt64) -> Errno? {
    // To the kernel 0 means disarmed: the first nanosecond of the clock stands for it.
    let deadline = nanoseconds == .max ? 0 : max(1, nanoseconds)
    return Errno(result: Int(gc_timerfd_set(descriptor.raw, deadline, clock == .wall)))
  }

  /// Forgets the deadline.
  borrowing func disarm() -> Errno? {
    arm(at: .max)
  }

  /// Makes the descriptor unreadable, and says why it was readable.
  borrowing func acknowledge() -> Event {
    switch descriptor.readCounter() {
    case .success: .expired
    case .failure(let error): error == .canceled ? .clockWasSet : .nothing
    }
  }
}
