// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

#if Tasks || !HAS_TRAITS
  /// The clock of `DispatchTime`, for Swift's own functions: it stands still while the machine sleeps.
  ///
  /// ```swift
  /// try await Task.sleep(until: .init(DispatchTime.now() + .seconds(1)), clock: DispatchClock())
  /// let took = DispatchClock().measure { render() }
  /// ```
  public struct DispatchClock: _Concurrency.Clock, Sendable {
    /// An instant of the clock.
    ///
    /// A type of its own: if Swift's `Duration` could be added to a `DispatchTime`, `.now() + .seconds(1)` could mean two
    /// things.
    public struct Instant: InstantProtocol {
      /// The instant as a time of the library.
      public let time: DispatchTime

      /// The instant that `time` is.
      public init(_ time: DispatchTime) { self.time = time }

      /// Whether the left instant is the earlier one.
      public static func < (a: Instant, b: Instant) -> Bool { a.time < b.time }

      /// The instant `duration` later.
      public func advanced(by duration: Duration) -> Instant { Instant(time + DispatchTimeInterval(duration)) }

      /// From this instant to another; the distant future is as far away as nanoseconds can count.
      public func duration(to other: Instant) -> Duration {
        .nanoseconds(time.distance(to: other.time).clampedNanoseconds)
      }
    }

    /// The one clock: all values are the same.
    public init() {}

    /// The present instant.
    public var now: Instant { Instant(.now()) }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends the task until `deadline`, or up to `tolerance` later to share a wake-up. Throws when it is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      try await Sleeper.sleep(until: deadline.time.deadline, tolerance)
    }
  }

  /// The clock of `DispatchWallTime`, for Swift's own functions: the time of day, whose steps it follows.
  ///
  /// ```swift
  /// try await Task.sleep(until: .init(DispatchWallTime.now() + .seconds(1)), clock: DispatchWallClock())
  /// let took = DispatchWallClock().measure { render() }
  /// ```
  public struct DispatchWallClock: _Concurrency.Clock, Sendable {
    /// An instant of the clock.
    ///
    /// A type of its own: if Swift's `Duration` could be added to a `DispatchWallTime`, `.now() + .seconds(1)` could mean two
    /// things.
    public struct Instant: InstantProtocol {
      /// The instant as a time of the library.
      public let time: DispatchWallTime

      /// The instant that `time` is.
      public init(_ time: DispatchWallTime) { self.time = time }

      /// Whether the left instant is the earlier one.
      public static func < (a: Instant, b: Instant) -> Bool { a.time < b.time }

      /// The instant `duration` later.
      public func advanced(by duration: Duration) -> Instant { Instant(time + DispatchTimeInterval(duration)) }

      /// From this instant to another; the distant future is as far away as nanoseconds can count.
      public func duration(to other: Instant) -> Duration {
        .nanoseconds(time.distance(to: other.time).clampedNanoseconds)
      }
    }

    /// The one clock: all values are the same.
    public init() {}

    /// The present instant.
    public var now: Instant { Instant(.now()) }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends the task until `deadline`, or up to `tolerance` later to share a wake-up. Throws when it is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      try await Sleeper.sleep(until: deadline.time.deadline, tolerance)
    }
  }

  extension DispatchTimeInterval {
    /// As long as `duration`, to the nanosecond, and at most 292 years.
    public init(_ duration: Duration) {
      let (seconds, attoseconds) = duration.components
      let (whole, isFar) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
      let nanoseconds = isFar ? (seconds < 0 ? Int64.min : .max) : whole.addingSaturating(attoseconds / 1_000_000_000)
      self = .nanoseconds(Int(clamping: nanoseconds))
    }
  }

  /// Something that never comes: a wait for it ends by its timeout.
  private final class Sleeper: AsyncWaitable {
    private let lock = Lock()

    func tryWait() -> Bool { false }
    func join(_ waiter: UnsafeMutablePointer<Waiter>, urgency _: UInt8) -> Bool { true }

    /// The first one ends the wait.
    func leave(_ waiter: UnsafeMutablePointer<Waiter>) -> Bool {
      lock.withLock {
        defer { waiter.pointee.word |= 1 }
        return waiter.pointee.word & 1 == 0
      }
    }

    static func sleep(until deadline: Deadline, _ tolerance: Duration?) async throws {
      let leeway = tolerance.map { UInt64(clamping: DispatchTimeInterval($0).clampedNanoseconds) } ?? 0
      if await AsyncWaiter.wait(for: Sleeper(), until: deadline, leeway: leeway) == .cancelled {
        throw CancellationError()
      }
    }
  }
#endif
