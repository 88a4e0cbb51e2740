// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// A source with a timer in the engine's wheel.
///
///   out ──restartTimer──► in the wheel ──fires──► on its way (`fired`) ──► out, an event is pending
///
/// TimedSource.T1  The entry is the wheel's while `isIn`. The thread that takes it out by cancelling, or `fired`, makes it
///     false, under the lock.
/// TimedSource.T2  A cancellation that comes while the entry is on its way leaves a note for `fired` (`after`): it
///     cannot stop it.
/// TimedSource.T3  `fired` makes `isIn` false and the event pending in one critical section. Afterwards it touches the
///     source only if it has taken the job, or the note, either of which keeps the source alive.
class TimedSource: DispatchSource, @unchecked Sendable {  // guarded by the source's lock
  enum Note { case none, restart, unregister }

  /// Guarded by `lock`.
  @exclusivity(unchecked) final private(set) var isIn = false
  @exclusivity(unchecked) final var after = Note.none
  /// Guarded by `lock`: registered, and not unregistered.
  @exclusivity(unchecked) final var isLive = false
  final let entry: TimerEntry.Pointer

  override init(handle: UInt, mask: UInt, queue: DispatchQueue?) {
    // unsafe: an entry is as large as a node.
    entry = Magazine.takeRarely().bindMemory(to: TimerEntry.self, capacity: 1)
    super.init(handle: handle, mask: mask, queue: queue)
    entry.initialize(
      to: TimerEntry(
        deadline: 0, context: Borrowed(self).word, fire: TimedSource.fired))
  }

  deinit {
    requireReleasable()
    entry.deinitialize(count: 1)
    Magazine.giveRarely(UnsafeMutableRawPointer(entry))
  }

  /// With the lock held, out of the wheel: what a kind does to go back, with `putIn`; nothing if it need not.
  func restartTimer(isReturning: Bool) {}

  // MARK: With the lock held

  /// Tells tracers that the wheel has let the entry go, as its time has come.
  func probeWake() {}

  /// The clock that the entry is in the wheel of.
  final var entryClock: Clock { Clock(rawValue: UInt8(truncatingIfNeeded: entry.pointee.word)) ?? .uptime }

  final func putIn(on clock: Clock, at instant: UInt64, leeway: UInt64, isReturning: Bool) {
    isIn = true
    entry.pointee.word = UInt64(clock.rawValue)
    entry.pointee.schedule(instant, leeway: leeway)
    Engine.current.timers.add(entry, on: clock, isReturning: isReturning, in: Engine.current)
  }

  /// Takes the entry out of the wheel; false while it is on its way (TimedSource.T2).
  final func takeOut() -> Bool {
    if !isIn { return true }
    guard Engine.current.timers.cancel(entry, on: entryClock) else { return false }
    isIn = false
    return true
  }

  // MARK: Ending and firing

  override func unregister() -> Bool {
    lock.lock()
    defer { lock.unlock() }
    isLive = false
    if takeOut() { return true }
    after = .unregister
    return false
  }

  private static let fired: TimerEntry.Fire = { raw in
    // unsafe: the wheel has let go of the entry; the source is alive until it is unregistered (TimedSource.T2).
    let entry = raw.assumingMemoryBound(to: TimerEntry.self)
    let source = Borrowed<TimedSource>(word: entry.pointee.context!)
    source.use { $0.didFire() }
  }

  private func didFire() {
    tellChange()
    lock.lock()
    isIn = false
    if Probes.areOn { probeWake() }
    let note = after
    after = .none
    if note == .restart { restartTimer(isReturning: false) }
    // With the lock held (TimedSource.T3): once it is released, a thread that cancels the source may bring it to its end,
    // unless the job is ours.
    let isJobOurs = note == .none && state.update { $0.fire() } == .enqueue
    lock.unlock()
    if isJobOurs { submit() }
    if note == .unregister { didUnregister() }
  }
}
