// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

extension DispatchSource {
  /// How a timer source keeps time.
  @frozen
  public struct TimerFlags: OptionSet, Sendable {
    /// The set as bits.
    public let rawValue: UInt

    /// A set of these bits.
    @_alwaysEmitIntoClient public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Fires as near to its deadline as the system can, whatever is done elsewhere to save wake-ups. Timers here are
    /// never later than the leeway that they were given, so nothing changes.
    @_alwaysEmitIntoClient public static var strict: DispatchSource.TimerFlags { TimerFlags(rawValue: 1) }
  }

  /// A source that fires at given times; it does nothing before `schedule` and `activate`.
  ///
  /// ```swift
  /// let timer = DispatchSource.makeTimerSource(queue: queue)
  /// timer.schedule(deadline: .now(), repeating: .seconds(1), leeway: .milliseconds(100))
  /// timer.setEventHandler { refresh() }
  /// timer.activate()
  /// ```
  ///
  /// `data` is the number of fires since the last call.
  ///
  /// Complexity: O(1). Blocking: never.
  public class func makeTimerSource(
    flags: DispatchSource.TimerFlags = [], queue: DispatchQueue? = nil
  ) -> any DispatchSourceTimer {
    TimerSource(flags: flags, queue: queue)
  }

  /// A source that fires while `fileDescriptor` has something to read, or is at its end.
  ///
  /// `data` is an estimate of the bytes there are, at least 1. The descriptor stays the program's: close it in the
  /// cancel handler.
  ///
  /// Complexity: O(1). Blocking: never.
  public class func makeReadSource(fileDescriptor: Int32, queue: DispatchQueue? = nil) -> any DispatchSourceRead {
    DescriptorSource(.read, descriptor: fileDescriptor, queue: queue)
  }

  /// A source that fires while `fileDescriptor` has room to write, or its peer is gone.
  ///
  /// `data` is an estimate of the room, at least 1. The descriptor stays the program's: close it in the cancel handler.
  ///
  /// Complexity: O(1). Blocking: never.
  public class func makeWriteSource(fileDescriptor: Int32, queue: DispatchQueue? = nil) -> any DispatchSourceWrite {
    DescriptorSource(.write, descriptor: fileDescriptor, queue: queue)
  }

  /// A source that the program adds to; `data` is the sum since the last call, modulo 2⁶⁴.
  ///
  /// Complexity: O(1). Blocking: never.
  public class func makeUserDataAddSource(queue: DispatchQueue? = nil) -> any DispatchSourceUserDataAdd {
    UserDataSource(handle: 0, mask: 0, queue: queue)
  }

  /// A source that the program sets bits in; `data` has all that were set since the last call.
  ///
  /// Complexity: O(1). Blocking: never.
  public class func makeUserDataOrSource(queue: DispatchQueue? = nil) -> any DispatchSourceUserDataOr {
    UserDataSource(handle: 0, mask: 0, queue: queue)
  }

  /// A source that the program hands values to; `data` is the newest one.
  ///
  /// Complexity: O(1). Blocking: never.
  public class func makeUserDataReplaceSource(queue: DispatchQueue? = nil) -> any DispatchSourceUserDataReplace {
    UserDataSource(handle: 0, mask: 0, queue: queue)
  }
}

extension DispatchSourceTimer {
  /// Fires at `deadline`, and then every `interval`; each time up to `leeway` late, to share a wake-up with others.
  ///
  /// Complexity: O(1). Blocking: never.
  public func schedule(
    deadline: DispatchTime, repeating interval: DispatchTimeInterval = .never,
    leeway: DispatchTimeInterval = .nanoseconds(0)
  ) {
    let timer: any DispatchSourceTimer = self
    timer.schedule(deadline: deadline, repeating: interval, leeway: leeway)
  }

  /// As above, with the interval in seconds.
  ///
  /// Complexity: O(1). Blocking: never.
  public func schedule(
    deadline: DispatchTime, repeating interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
  ) {
    let timer: any DispatchSourceTimer = self
    timer.schedule(deadline: deadline, repeating: interval, leeway: leeway)
  }

  /// As above, on the wall clock, whose steps it follows.
  ///
  /// Complexity: O(1). Blocking: never.
  public func schedule(
    wallDeadline: DispatchWallTime, repeating interval: DispatchTimeInterval = .never,
    leeway: DispatchTimeInterval = .nanoseconds(0)
  ) {
    let timer: any DispatchSourceTimer = self
    timer.schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
  }

  /// As above, with the interval in seconds.
  ///
  /// Complexity: O(1). Blocking: never.
  public func schedule(
    wallDeadline: DispatchWallTime, repeating interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
  ) {
    let timer: any DispatchSourceTimer = self
    timer.schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
  }

  // MARK: Older spellings

  /// Fires once, at `deadline`. The older name of `schedule(deadline:repeating:leeway:)`.
  ///
  /// Complexity: O(1). Blocking: never.
  @available(*, deprecated, renamed: "schedule(deadline:repeating:leeway:)")
  public func scheduleOneshot(deadline: DispatchTime, leeway: DispatchTimeInterval = .nanoseconds(0)) {
    schedule(deadline: deadline, leeway: leeway)
  }

  /// Fires once, at `wallDeadline`. The older name of `schedule(wallDeadline:repeating:leeway:)`.
  ///
  /// Complexity: O(1). Blocking: never.
  @available(*, deprecated, renamed: "schedule(wallDeadline:repeating:leeway:)")
  public func scheduleOneshot(wallDeadline: DispatchWallTime, leeway: DispatchTimeInterval = .nanoseconds(0)) {
    schedule(wallDeadline: wallDeadline, leeway: leeway)
  }

  /// Fires at `deadline`, and then every `interval`. The older name of `schedule(deadline:repeating:leeway:)`.
  ///
  /// Complexity: O(1). Blocking: never.
  @available(*, deprecated, renamed: "schedule(deadline:repeating:leeway:)")
  public func scheduleRepeating(
    deadline: DispatchTime, interval: DispatchTimeInterval, leeway: DispatchTimeInterval = .nanoseconds(0)
  ) {
    schedule(deadline: deadline, repeating: interval, leeway: leeway)
  }

  /// Fires at `deadline`, and then every `interval`. The older name of `schedule(deadline:repeating:leeway:)`.
  ///
  /// Complexity: O(1). Blocking: never.
  @available(*, deprecated, renamed: "schedule(deadline:repeating:leeway:)")
  public func scheduleRepeating(
    deadline: DispatchTime, interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
  ) {
    schedule(deadline: deadline, repeating: interval, leeway: leeway)
  }

  /// Fires at `wallDeadline`, and then every `interval`. The older name of
  /// `schedule(wallDeadline:repeating:leeway:)`.
  ///
  /// Complexity: O(1). Blocking: never.
  @available(*, deprecated, renamed: "schedule(wallDeadline:repeating:leeway:)")
  public func scheduleRepeating(
    wallDeadline: DispatchWallTime, interval: DispatchTimeInterval, leeway: DispatchTimeInterval = .nanoseconds(0)
  ) {
    schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
  }

  /// Fires at `wallDeadline`, and then every `interval`. The older name of
  /// `schedule(wallDeadline:repeating:leeway:)`.
  ///
  /// Complexity: O(1). Blocking: never.
  @available(*, deprecated, renamed: "schedule(wallDeadline:repeating:leeway:)")
  public func scheduleRepeating(
    wallDeadline: DispatchWallTime, interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
  ) {
    schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
  }
}
