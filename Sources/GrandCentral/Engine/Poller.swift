// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// The role of waiting for the kernel. At most one thread holds it: a worker that would sleep anyway, or the monitor while all
/// workers are busy.
///
/// Poller.P1  Only the holder touches the backend, fires timers, and dispatches events.
/// Poller.P2  The holder announces in `until` how long it will sleep, then looks at the timers once more. A thread that adds a
///     timer writes the timers' `earliest` first and looks at `until` afterwards. So the holder never sleeps past a nearer
///     deadline. It never sleeps longer than announced, even if the timer that it wakes up for is cancelled meanwhile: a
///     thread that adds a timer due later than `until` relies on the announcement, and does not interrupt the holder.
///     Verification/poller.pml has the proof.
/// Poller.P3  While no thread holds the role, each worker that stops searching, and the monitor, look after the timers
///     (`isMissed`). Where no monitor can be had, a worker between two jobs does (`Vacancy`).
struct Poller: ~Copyable, @unchecked Sendable {  // the backend is the holder's alone (Poller.P1)
  /// Whether a thread holds the role.
  private let held = Atomic<Bool>(false)
  /// When the sleeping holder wakes up by itself, uptime; 0 while it is awake.
  private let until = Atomic<UInt64>(0)
  /// Made when first needed; nil before.
  private let backend = Atomic<UnsafeMutableRawPointer?>(nil)
  /// Written by the holder: when it came back last, and whether that was soon after the time before.
  private let lastReturn = Atomic<UInt64>(0)
  private let busy = Atomic<Bool>(false)
  let descriptors = DescriptorTable()
  /// Written by the holder: when timers fired last.
  private let lastFiring = Atomic<UInt64>(0)

  /// Returns within this time of each other make the poller busy: then the monitor stays awake to stand in for it.
  private static let busyInterval: UInt64 = 1_500_000

  /// Timers that are due within this time after others have fired wait until it is over. A return from the kernel takes about
  /// as long as these timers are late, and a thousand timers in a millisecond cost fifteen returns.
  private static let firingDistance: UInt64 = 64_000

  /// Whether events come so often that passing the role on each time costs more than the monitor's ticking.
  var isBusy: Bool {
    // relaxed: a hint.
    busy.load(ordering: .relaxed)
  }

  /// The monitor has stood in for a while: whether the poller was busy until now.
  func clearBusy() -> Bool {
    // relaxed: a hint.
    busy.exchange(false, ordering: .relaxed)
  }

  /// Whether there is something to wait for, and no thread waits for it.
  func isMissed(_ timers: borrowing Timers) -> Bool {
    // seq-cst: asked after the sleep protocol's own step, see Sleep.swift.
    if timers.isEmpty, descriptors.isEmpty { return false }
    return !held.load(ordering: .sequentiallyConsistent)
  }

  /// Whether a thread has come back from a wait since then: if the role is vacant, it has not been for long.
  func hasReturned(since instant: UInt64) -> Bool {
    // relaxed: a hint.
    lastReturn.load(ordering: .relaxed) > instant
  }

  /// Takes the role if it is free and there is something to wait for.
  func enter(_ timers: borrowing Timers) -> Bool {
    guard isMissed(timers) else { return false }
    // pairs with: leave – publishes the backend's state
    // seq-cst: Poller.P2; before the holder's look at the timers. A thread that adds a nearer one writes it first, and must not find the
    // role free then: it would wake nobody, as the role is taken.
    // relaxed: on failure, another thread has the role. A thread that still finds it free wakes a worker once too often.
    let (entered, _) = held.compareExchange(
      expected: false, desired: true, successOrdering: .sequentiallyConsistent, failureOrdering: .relaxed)
    // The backend is made before any thread can see the holder sleep: a thread that finds the holder in the poll interrupts it
    // there (`Worker.inPoll`, Poller.P2).
    if entered { _ = readyBackend() }
    return entered
  }

  func leave() {
    // pairs with: enter – publishes the backend's state
    // seq-cst: Poller.P3; before the look at the timers by the thread that lets go. A thread that adds a timer writes it first
    // and looks at `held` afterwards.
    held.store(false, ordering: .sequentiallyConsistent)
  }

  /// Holder: waits for the next deadline, an event, or an interruption.
  func wait(_ timers: borrowing Timers) {
    let backend = readyBackend()
    let announced = max(1, backend.pointee.prepare(timers))
    // seq-cst: Poller.P2.
    until.store(announced, ordering: .sequentiallyConsistent)
    let deadline = min(announced, backend.pointee.prepare(timers))
    // relaxed: the holder's own note.
    let soonest = lastFiring.load(ordering: .relaxed) &+ Self.firingDistance
    let timeout = max(deadline, soonest).nanoseconds(from: Clock.uptime.now())
    backend.pointee.wait(for: Thread.exactWait(timeout))
    // relaxed: an adder that sees the old value interrupts once too often.
    until.store(0, ordering: .relaxed)
    noteReturn()
  }

  /// Holder: takes what has happened, without waiting.
  ///
  /// - Parameter asksKernel: Costs a system call, which a thread that is about to wait in the kernel saves.
  func look(_ timers: borrowing Timers, asksKernel: Bool) {
    let backend = readyBackend()
    _ = backend.pointee.prepare(timers)
    if asksKernel, backend.pointee.hasRegistrations || !descriptors.isEmpty { backend.pointee.wait(for: 0) }
  }

  /// Holder: hands the events of the last wait to their owners.
  ///
  /// - Returns: whether there were events of descriptors.
  func dispatchEvents(in engine: borrowing Engine) -> Bool {
    // relaxed: the holder has looked or waited, and has found the backend then.
    guard let raw = backend.load(ordering: .relaxed) else { return false }
    return raw.assumingMemoryBound(to: EpollPoller.self).pointee.dispatchEvents(descriptors)
  }

  /// Holder: timers have fired.
  func noteFiring() {
    // There a return costs no time: timers fire at their own instants.
    if World.isSimulated { return }
    // relaxed: the holder's own note.
    lastFiring.store(Clock.uptime.now(), ordering: .relaxed)
  }

  private func noteReturn() {
    let now = Clock.uptime.now()
    // relaxed: the holder's own notes.
    busy.store(now &- lastReturn.load(ordering: .relaxed) < Self.busyInterval, ordering: .relaxed)
    lastReturn.store(now, ordering: .relaxed)
  }

  /// A timer was added that is due sooner than all others of its clock: at `instant` on the uptime clock.
  ///
  /// A worker that is about to return takes the role itself if it finds nothing else to do. If it finds something, the monitor
  /// sees to the timer. So no thread is woken for the moment until then.
  ///
  /// - Parameter needsArming: The clock may step: the holder must arm its kernel timer, however long the holder would sleep.
  func timerAdded(dueAt instant: UInt64, needsArming: Bool, isReturning: Bool, in engine: borrowing Engine) {
    // seq-cst: Poller.P2, and Poller.P3 for a role that is free.
    if held.load(ordering: .sequentiallyConsistent) {
      let sleepsUntil = until.load(ordering: .sequentiallyConsistent)
      if sleepsUntil != 0, needsArming || instant < sleepsUntil { interrupt() }
    } else if !isReturning || !engine.monitor.isAwake || Worker.current == nil {
      engine.wakeIfNeeded()
    }
  }

  /// Ends the holder's wait.
  func interrupt() {
    // pairs with: readyBackend – publishes the backend
    guard let raw = backend.load(ordering: .acquiring) else { return }
    raw.assumingMemoryBound(to: EpollPoller.self).pointee.interrupt()
  }

  // MARK: Descriptors

  /// Starts watching a descriptor.
  func watch(_ watch: DescriptorWatch.Pointer, in engine: borrowing Engine) -> DescriptorTable.Addition {
    let backend = readyBackend()
    let isNew = backend.pointee.epoll == nil
    if let error = backend.pointee.makeReady() { return .failed(error) }
    let result = descriptors.add(watch, on: backend.pointee)
    // seq-cst: listed before the look at the role, see `DescriptorTable.isEmpty` (Poller.P3).
    if result == .watched, !held.load(ordering: .sequentiallyConsistent) { engine.wakeIfNeeded() }
    // A holder may wait without epoll.
    if isNew { interrupt() }
    return result
  }

  /// Ends watching; afterwards nothing is reported any more.
  func unwatch(_ watch: DescriptorWatch.Pointer) -> DescriptorTable.Removal {
    descriptors.remove(watch, on: readyBackend().pointee)
  }

  /// What was reported has been taken.
  func rearm(_ watch: DescriptorWatch.Pointer) { descriptors.rearm(watch, on: readyBackend().pointee) }

  /// The engine goes, and no thread is in it. What watches a descriptor may still point here: then all stays.
  func discard() {
    if !descriptors.isEmpty { return }
    descriptors.discard()
    // There is none if no thread has waited here. relaxed: one thread is left.
    guard let raw = backend.load(ordering: .relaxed) else { return }
    let backend = raw.assumingMemoryBound(to: EpollPoller.self)
    backend.deinitialize(count: 1)
    backend.deallocate()
  }

  private func readyBackend() -> UnsafeMutablePointer<EpollPoller> {
    // pairs with: below – publishes the backend
    if let raw = backend.load(ordering: .acquiring) { return raw.assumingMemoryBound(to: EpollPoller.self) }
    // unsafe: lives as long as the engine.
    let made = UnsafeMutablePointer<EpollPoller>.allocate(capacity: 1)
    made.initialize(to: EpollPoller())
    // pairs with: above, interrupt – publishes the backend
    let (exchanged, first) = backend.compareExchange(
      expected: nil, desired: UnsafeMutableRawPointer(made), successOrdering: .releasing, failureOrdering: .acquiring)
    if exchanged { return made }
    made.deinitialize(count: 1)
    made.deallocate()
    return first!.assumingMemoryBound(to: EpollPoller.self)
  }
}
