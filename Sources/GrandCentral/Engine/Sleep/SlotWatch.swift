// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// A job in a busy worker's slot must start elsewhere within about 100 µs if a worker is idle. Yet a hop from lane to lane
// fills the slot every hundred nanoseconds, and must wake no worker. So one sleeper, the watcher, looks at the slots, and naps
// for `nap` at a time while they are being filled. A slot that holds the same filling as at the last look, or as when the
// watcher was woken for it, has aged: the watcher takes its job. If there is none, and nothing new was filled, the watcher
// sleeps again without a nap: most often the holder has come for its job meanwhile.
//
//   off ──fill──▶ wanted ──a searcher finds nothing else──▶ on ──quiet──▶ off
//
// SlotWatch.S1  If a filler does not notice that the watch is being switched off, the watcher's last look sees the filling:
//     the watcher switches off first and looks afterwards, while the filler fills first and looks at the switch afterwards.
// SlotWatch.S2  The filler asks for a watch first and looks for an idle worker afterwards. A sleeper joins the idle list first
//     and looks afterwards whether a watch is wanted that no thread keeps. So one of them sees the other.
// SlotWatch.S3  A watcher that finds something to run gives the role up. While slots are being filled, or one is full, the
//     last worker that stops searching passes the role on.
// SlotWatch.S4  While all processors are busy the monitor watches: their jobs may be waiting unseen for what lies in a
//     slot. It moves an aged job to a backlog, where it counts as pending. A worker that stands in for the monitor (Vacancy.V3) watches as
//     the monitor.
// SlotWatch.S5  No job begins beside a full slot without a watch. A worker that fills the slot in a job asks for a watch. A
//     worker that has filled it between jobs, as a poller's holder does, asks when another job comes first. The job that
//     begins may block where no thread sees it. A worker that naps for the monitor (Vacancy) gives the slot up.
// SlotWatch.S6  The watcher looks at every nap. A surplus worker does not look, so it does not keep the role: the monitor
//     does. The watcher looks at the kernel's events as well, if no thread waits for them: it does not wait for them itself.
// SlotWatch.S7  A worker may lose its place between jobs, and fill the slot just before or just after that. The place may have no holder then, or
//     one that is in a job. So a worker that finds its place lost looks at the slot that it leaves, before it takes another place, begins a job
//     or sleeps, and asks for a watch if that slot is full.
//
// Verification/slotwatch.pml is the model, Verification/unseen.pml that of SlotWatch.S5 and SlotWatch.S6 with the
// monitor.
struct SlotWatch: ~Copyable, @unchecked Sendable {  // every field is atomic
  static let off: UInt32 = 0
  static let wanted: UInt32 = 1
  static let on: UInt32 = 2

  /// What stands for the monitor where a worker would.
  // unsafe: an address that no record has; no code reads behind it.
  static var monitor: UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: 1).unsafelyUnwrapped }

  static let nap: UInt64 = 100_000

  let state = Atomic<UInt32>(SlotWatch.off)
  /// The watcher's record.
  let watcher = Atomic<UnsafeMutableRawPointer?>(nil)
}

extension Engine {
  /// After the slot of `place` was filled: makes sure that a thread watches, if a worker is idle.
  @inline(__always)
  func watchSlots(for place: borrowing Place) {
    // seq-cst: ordered after the filling (an exchange); the watcher that switches off looks again.
    if slotWatch.state.load(ordering: .sequentiallyConsistent) == SlotWatch.off { watchSlotsSlow(for: place) }
  }

  @inline(never)
  private func watchSlotsSlow(for place: borrowing Place) {
    // relaxed: a note for the first look.
    place.watchedFills.store(place.slotFills.load(ordering: .relaxed), ordering: .relaxed)
    let (exchanged, _) = slotWatch.state.compareExchange(
      // seq-cst: SlotWatch.S2; `wakeIfNeeded` looks at the pool afterwards.
      // relaxed: on failure, another thread has asked; that step comes after this one's look, and so does its last look
      // (SlotWatch.S1).
      expected: SlotWatch.off, desired: SlotWatch.wanted, successOrdering: .sequentiallyConsistent,
      failureOrdering: .relaxed)
    if exchanged { wakeIfNeeded() }
  }

  /// SlotWatch.S7: the worker holds no place, or has lost it this moment.
  @inline(never)
  @_optimize(size)
  func watchLeftSlot(of worker: Worker.Pointer) { worker.pointee.lastPlace?.pointee.watchSlot(in: self) }

  /// Asks for a watch of what was filled between jobs (SlotWatch.S5). For the one thread of a simulation that goes on.
  func wantWatch() {
    // relaxed: no other thread looks now.
    _ = slotWatch.state.compareExchange(expected: SlotWatch.off, desired: SlotWatch.wanted, ordering: .relaxed)
  }

  /// Whether a watch is wanted that no thread keeps.
  var slotsNeedWatcher: Bool {
    // seq-cst: SlotWatch.S2, SlotWatch.S3; looked at after joining the idle list, or ceasing to search.
    slotWatch.state.load(ordering: .sequentiallyConsistent) != SlotWatch.off
      && slotWatch.watcher.load(ordering: .sequentiallyConsistent) == nil
  }

  /// Whether a watch is wanted, or kept.
  var slotsAreWatched: Bool {
    // relaxed: a switch; a missed one is seen at the next look.
    slotWatch.state.load(ordering: .relaxed) != SlotWatch.off
  }

  /// SlotWatch.S3
  func giveUpWatch(_ worker: Worker.Pointer) {
    if isWatcher(worker) { resignAsWatcher(to: SlotWatch.wanted) }
  }

  /// SlotWatch.S4: the monitor's part, at each of its ticks.
  func watchSlotsFromMonitor() {
    guard slotsNeedWatcher, becomeWatcher(SlotWatch.monitor) else { return }
    let (job, active) = lookAtSlots(except: nil)
    if let job { submitAway(job) }
    settleWatch(SlotWatch.monitor, isQuiet: !active, staysOn: false)
  }

  /// The searcher's last look before sleep: a job whose slot has aged. Appoints the caller watcher where one is wanted.
  func stealAgedSlot(_ worker: Worker.Pointer) -> Job? {
    guard slotsAreWatched else { return nil }
    let me = UnsafeMutableRawPointer(worker)
    guard becomeWatcher(me) else { return nil }
    let (job, active) = lookAtSlots(except: worker.pointee.place)
    settleWatch(me, isQuiet: !active, staysOn: job == nil)
    return job
  }

  /// After a look: watches on, hands over, or switches off when it was quiet.
  private func settleWatch(_ me: UnsafeMutableRawPointer, isQuiet: Bool, staysOn: Bool) {
    if !isQuiet {
      if !staysOn { resignAsWatcher(to: SlotWatch.wanted) }
      return
    }
    resignAsWatcher(to: SlotWatch.off)
    // SlotWatch.S1: a slot filled before the switch went off is watched on.
    guard anySlotIsFull() else { return }
    // relaxed: no thread has to be told. A worker takes the watch at once, or stops searching next (an update of the pool
    // word, as a sleeper's Sleep.W2 is: the later one of the two sees the earlier one's steps); the monitor looks at its next
    // tick.
    _ = slotWatch.state.compareExchange(expected: SlotWatch.off, desired: SlotWatch.wanted, ordering: .relaxed)
    if staysOn { _ = becomeWatcher(me) }
  }

  /// Whether `worker`, about to sleep, is the watcher.
  func isWatcher(_ worker: Worker.Pointer) -> Bool {
    // relaxed: only the worker itself makes itself the watcher.
    slotWatch.watcher.load(ordering: .relaxed) == UnsafeMutableRawPointer(worker)
  }

  private func becomeWatcher(_ me: UnsafeMutableRawPointer) -> Bool {
    let (exchanged, current) = slotWatch.watcher.compareExchange(
      // pairs with: resignAsWatcher – publishes the last watcher's switch: this one's comes behind it
      // relaxed: on failure, another thread watches, or the caller does.
      expected: nil, desired: me, successOrdering: .acquiring, failureOrdering: .relaxed)
    if exchanged {
      // relaxed: the state guards nothing but itself, and comes behind the last watcher's.
      slotWatch.state.store(SlotWatch.on, ordering: .relaxed)
    }
    return exchanged || current == me
  }

  private func resignAsWatcher(to state: UInt32) {
    // seq-cst: switched off before the last look, see the head of this file.
    slotWatch.state.store(state, ordering: .sequentiallyConsistent)
    // seq-cst: SlotWatch.S2, SlotWatch.S3; before the look at the sleepers, and at the monitor's state, by the thread that
    // gives the watch up. It also orders the switch before the next watcher's.
    slotWatch.watcher.store(nil, ordering: .sequentiallyConsistent)
  }

  /// - Returns: a job from an aged slot, and whether any slot was filled since the last look.
  private func lookAtSlots(except place: Place.Pointer?) -> (Job?, Bool) {
    var active = false
    for index in 0..<places.count {
      let other = places[index]
      if other == place { continue }
      // relaxed: counters by themselves; the theft is an exchange.
      let fills = other.pointee.slotFills.load(ordering: .relaxed)
      let unchanged = other.pointee.watchedFills.load(ordering: .relaxed) == fills
      // relaxed: the watcher's own note. What has not changed is not written: many threads watch in turn, and the line would
      // move.
      if !unchanged { other.pointee.watchedFills.store(fills, ordering: .relaxed) }
      if !unchanged { active = true }
      if unchanged, !other.pointee.slotIsEmpty, let job = other.pointee.takeSlot() { return (job, active) }
    }
    return (nil, active)
  }

  func anySlotIsFull() -> Bool {
    for index in 0..<places.count {
      // seq-cst: after the switch went off, see the head of this file.
      if places[index].pointee.slot.load(ordering: .sequentiallyConsistent) != nil { return true }
    }
    return false
  }
}
