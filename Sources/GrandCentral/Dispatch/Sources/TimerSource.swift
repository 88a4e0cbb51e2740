// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// A source that fires at given times.
///
/// The timer is in the engine's wheel while the source waits for it. When it has fired it stays out until the event is
/// delivered: then the fires that are due by now are counted, the handler gets their number, and when it has returned the
/// timer goes back for the next one, at `start + k · interval`. So a source whose handler is slow, or that is suspended,
/// wakes nobody.
///
///   out ──register, schedule, deliver──► in the wheel ──fires──► on its way (`fired`) ──► out, an event is pending
///
/// T1  The entry is the wheel's while `isIn`; who takes it out by cancelling, or `fired`, makes it false, under the lock.
/// T2  A cancellation that comes while the entry is on its way leaves a note for `fired` (`after`): it cannot stop it.
/// T3  `fired` makes `isIn` false and the event pending in one critical section. Afterwards it touches the source only if
///     it has taken the job, or the note, either of which keeps the source alive.
final class TimerSource: DispatchSource, DispatchSourceTimer, @unchecked Sendable {  // guarded by the source's lock
  private struct Schedule {
    var clock = Clock.uptime
    /// When the next fire is due; `max` for never.
    var due: UInt64 = .max
    /// 0 fires once.
    var interval: UInt64 = 0
    var leeway: UInt64 = 0
  }

  private enum Note { case none, restart, unregister }

  /// M(lock)
  @exclusivity(unchecked) private var schedule = Schedule()
  @exclusivity(unchecked) private var isIn = false
  @exclusivity(unchecked) private var after = Note.none
  /// M(lock): registered, and not unregistered.
  @exclusivity(unchecked) private var isLive = false
  /// I
  private let entry: TimerEntry.Pointer

  init(flags: TimerFlags, queue: DispatchQueue?) {
    // unsafe: an entry is as large as a node.
    entry = Magazine.take().bindMemory(to: TimerEntry.self, capacity: 1)
    super.init(handle: 0, mask: flags.rawValue, queue: queue)
    entry.initialize(
      to: TimerEntry(
        deadline: 0, context: Unmanaged.passUnretained(self).toOpaque(), fire: TimerSource.fired))
  }

  deinit {
    entry.deinitialize(count: 1)
    Magazine.give(UnsafeMutableRawPointer(entry))
  }

  override var kindName: String { "timer source" }

  // MARK: Scheduling

  func schedule(deadline: DispatchTime, repeating interval: DispatchTimeInterval, leeway: DispatchTimeInterval) {
    schedule(deadline.deadline, interval.clampedNanoseconds, leeway)
  }

  func schedule(deadline: DispatchTime, repeating interval: Double, leeway: DispatchTimeInterval) {
    schedule(deadline.deadline, Self.nanoseconds(interval), leeway)
  }

  func schedule(wallDeadline: DispatchWallTime, repeating interval: DispatchTimeInterval, leeway: DispatchTimeInterval)
  {
    schedule(wallDeadline.deadline, interval.clampedNanoseconds, leeway)
  }

  func schedule(wallDeadline: DispatchWallTime, repeating interval: Double, leeway: DispatchTimeInterval) {
    schedule(wallDeadline.deadline, Self.nanoseconds(interval), leeway)
  }

  private static func nanoseconds(_ seconds: Double) -> Int64 {
    Int64(exactly: (seconds * 1e9).rounded(.toNearestOrAwayFromZero)) ?? (seconds < 0 ? 1 : .max)
  }

  private func schedule(_ deadline: Deadline, _ interval: Int64, _ leeway: DispatchTimeInterval) {
    // An interval of nothing would fire without end; never, or beyond the horizon, is once.
    let interval = interval == .max ? 0 : UInt64(max(1, interval))
    var leeway = UInt64(max(0, leeway.clampedNanoseconds))
    // A repeating timer that may be later than half an interval would be one with another interval.
    if interval != 0 { leeway = min(leeway, interval / 2) }
    let due = deadline.isNever ? UInt64.max : deadline.nanoseconds == 0 ? deadline.clock.now() : deadline.nanoseconds
    lock.lock()
    schedule = Schedule(clock: deadline.clock, due: due, interval: interval, leeway: leeway)
    if moveIn() { return lock.unlock() }
    let isOut = takeOut()
    state.update { $0.forget() }
    if isOut { putIn() } else if after == .none { after = .restart }
    lock.unlock()
  }

  // MARK: With the lock held

  /// Gives the entry in the wheel the time of the schedule, if it is there and the clock is the same.
  private func moveIn() -> Bool {
    if !isIn || schedule.due == .max || entryClock != schedule.clock { return false }
    return Engine.shared.pointee.timers.move(
      entry, on: schedule.clock, to: schedule.due, leeway: schedule.leeway, in: Engine.shared.pointee)
  }

  /// Takes the entry out of the wheel; false while it is on its way (T2).
  private func takeOut() -> Bool {
    if !isIn { return true }
    guard Engine.shared.pointee.timers.cancel(entry, on: entryClock) else { return false }
    isIn = false
    return true
  }

  /// The clock that the entry is in the wheel of; `schedule` may name another one by now.
  private var entryClock: Clock { Clock(rawValue: UInt8(truncatingIfNeeded: entry.pointee.word)) ?? .uptime }

  private func putIn(isReturning: Bool = false) {
    if !isLive || schedule.due == .max { return }
    isIn = true
    entry.pointee.word = UInt64(schedule.clock.rawValue)
    entry.pointee.schedule(schedule.due, leeway: schedule.leeway)
    Engine.shared.pointee.timers.add(
      entry, on: schedule.clock, isReturning: isReturning, in: Engine.shared.pointee)
  }

  // MARK: The kind

  override func register() -> Errno? {
    lock.lock()
    isLive = true
    if takeOut() { putIn() }
    lock.unlock()
    return nil
  }

  override func unregister() -> Bool {
    lock.lock()
    defer { lock.unlock() }
    isLive = false
    if takeOut() { return true }
    after = .unregister
    return false
  }

  private static let fired: TimerEntry.Fire = { raw in
    // unsafe: the wheel has let go of the entry; the source is alive until it is unregistered (T2).
    let entry = raw.assumingMemoryBound(to: TimerEntry.self)
    let source = Unmanaged<TimerSource>.fromOpaque(entry.pointee.context!)
    source._withUnsafeGuaranteedRef { $0.didFire() }
  }

  private func didFire() {
    lock.lock()
    isIn = false
    let note = after
    after = .none
    if note == .restart { putIn() }
    // With the lock held (T3): once it is released, who cancels the source may bring it to its end, unless the job is ours.
    let isJobOurs = note == .none && state.update { $0.fire() }.enqueue
    lock.unlock()
    if isJobOurs { submit() }
    if note == .unregister { didUnregister() }
  }

  /// The fires that are due by now.
  override func takeEvent(isDoubtful: Bool) -> UInt? {
    lock.lock()
    defer { lock.unlock() }
    let now = schedule.clock.now()
    // A schedule that came after the event.
    if isIn || now < schedule.due { return nil }
    if schedule.interval == 0 {
      schedule.due = .max
      return 1
    }
    let fires = (now - schedule.due) / schedule.interval + 1
    schedule.due = schedule.due.addingSaturated(fires.multipliedSaturated(by: schedule.interval))
    return UInt(fires)
  }

  /// Back into the wheel for the next fire, unless the handler has scheduled one itself.
  override func finishEvent(wasSilenced: Bool) {
    lock.lock()
    if !isIn { putIn(isReturning: true) }
    lock.unlock()
  }
}

extension UInt64 {
  func multipliedSaturated(by other: UInt64) -> UInt64 {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? .max : product
  }
}
