// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// A source that fires at given times.
///
/// The timer is in the engine's wheel while the source waits for it. When it has fired it stays out until the event is
/// delivered: then the fires that are due by now are counted, the handler gets their number, and when it has returned the
/// timer goes back for the next one, at `start + k · interval`. So a source whose handler is slow, or that is suspended,
/// wakes no thread.
///
/// `TimedSource` has the entry; here is what it is given.
final class TimerSource: TimedSource, DispatchSourceTimer, @unchecked Sendable {  // guarded by the source's lock
  private struct Schedule {
    var clock = Clock.uptime
    /// When the next fire is due; `max` for never.
    var due: UInt64 = .max
    /// 0 fires once.
    var interval: UInt64 = 0
    var leeway: UInt64 = 0
  }

  /// Guarded by `lock`.
  @exclusivity(unchecked) private var schedule = Schedule()

  init(handle: UInt = 0, flags: TimerFlags, queue: DispatchQueue?) {
    super.init(handle: handle, mask: flags.rawValue, queue: queue)
  }

  override var kindName: String { "timer source" }
  override var insightKind: InsightObjects.Kind { .timer }

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
    let scaled = seconds * 1e9
    guard abs(scaled) < 0x1p62 else { return seconds < 0 ? 1 : .max }
    // The nearest, without the mathematical library.
    return Int64(scaled + (scaled < 0 ? -0.5 : 0.5))
  }

  func schedule(_ deadline: Deadline, _ interval: Int64, _ leeway: DispatchTimeInterval) {
    // An interval of 0 would fire without end, so it becomes 1. Never, or an interval beyond the horizon, fires once.
    let interval = interval == .max ? 0 : UInt64(max(1, interval))
    var leeway = UInt64(max(0, leeway.clampedNanoseconds))
    if interval != 0 {
      // With a leeway of more than half its interval, a repeating timer would in effect have another interval.
      leeway = min(leeway, interval / 2)
    } else if leeway == Int64.max {
      // Within a leeway without end the timer need never fire.
      leeway = 0
    }
    let due = deadline.isNever ? UInt64.max : deadline.nanoseconds == 0 ? deadline.clock.now() : deadline.nanoseconds
    tellChange(World.setsTimer)
    lock.lock()
    schedule = Schedule(clock: deadline.clock, due: due, interval: interval, leeway: leeway)
    if insight.isGiven { noteSchedule() }
    if Probes.areOn { probe(.configure) }
    if moveIn() { return lock.unlock() }
    let isOut = takeOut()
    // No delivery makes it spent meanwhile: they need the lock.
    if due != .max, state.load().has(SourceState.spent) { wakeUp() }
    state.update { $0.forget() }
    if isOut { restartTimer(isReturning: false) } else if after == .none { after = .restart }
    lock.unlock()
  }

  // MARK: With the lock held

  /// Gives the entry in the wheel the time of the schedule, if it is there and the clock is the same.
  private func moveIn() -> Bool {
    if !isIn || schedule.due == .max || entryClock != schedule.clock { return false }
    if Probes.areOn { probe(.program) }
    return Engine.current.timers.move(
      entry, on: schedule.clock, to: schedule.due, leeway: schedule.leeway, in: Engine.current)
  }

  override func restartTimer(isReturning: Bool) {
    if !isLive || schedule.due == .max {
      // SourceState.V12: it has fired, and not been scheduled since.
      if isReturning, handlers.cancel == nil { state.update { $0.spend() } }
      return
    }
    if Probes.areOn { probe(.program) }
    putIn(on: schedule.clock, at: schedule.due, leeway: schedule.leeway, isReturning: isReturning)
  }

  // MARK: The kind

  override func register() -> Errno? {
    lock.lock()
    isLive = true
    if takeOut() { restartTimer(isReturning: false) }
    lock.unlock()
    return nil
  }

  /// The fires that are due by now.
  override func takeEvent() -> UInt? {
    lock.lock()
    let (due, now) = (schedule.due, schedule.clock.now())
    // Otherwise: a schedule that came after the event.
    let fires = isIn || now < due ? nil : takeFires(at: now)
    if fires != nil, Probes.areOn { probe(.fire) }
    lock.unlock()
    if Recorder.isOn, fires != nil { Recorder.note(.timer, queue: insightNumber, word: now - due) }
    return fires
  }

  private func takeFires(at now: UInt64) -> UInt {
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
    if !isIn { restartTimer(isReturning: true) }
    if insight.isGiven { noteSchedule() }
    lock.unlock()
  }

  // MARK: Tracers

  override func probeWake() { probe(.wake) }

  @inline(never)
  private func probe(_ what: Tracepoint.Timer) {
    let times = Tracepoint.Times(
      deadline: Int64(clamping: schedule.due.nanoseconds(from: schedule.clock.now())),
      interval: Int64(clamping: schedule.interval), leeway: Int64(clamping: schedule.leeway))
    Tracepoint.timer(what, source: Borrowed(self).bits, handler: handlers.event?.function ?? 0, times)
  }

  /// Other processes may know when the timer fires next.
  @inline(never)
  private func noteSchedule() {
    InsightObjects.setSchedule(
      insight.known, due: schedule.due, interval: schedule.interval, leeway: schedule.leeway, clock: schedule.clock)
  }
}

extension UInt64 {
  func multipliedSaturated(by other: UInt64) -> UInt64 {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? .max : product
  }
}
