// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// A job in a busy worker's slot must start elsewhere within about 100 µs if somebody is idle; yet a hop from lane to
// lane, which fills the slot every hundred nanoseconds, must not wake anybody. So one sleeper, the watcher, naps for
// `nap` at a time while slots are being filled. A slot that holds the same filling as at the last look has aged: the
// watcher takes its job. After `patience` naps without a filling nobody watches.
//
//   off ──fill, somebody idle──▶ wanted ──a searcher finds nothing else──▶ on ──quiet──▶ off
//
// A filling that goes unnoticed because the watch is being switched off is seen by the watcher's last look: it
// switches off first and looks afterwards, while the filler fills first and looks at the switch afterwards.
struct SlotWatch: ~Copyable, @unchecked Sendable {  // every field is atomic
  static let off: UInt32 = 0
  static let wanted: UInt32 = 1
  static let on: UInt32 = 2

  static let nap: UInt64 = 100_000
  static let patience: UInt32 = 3

  /// A
  let state = Atomic<UInt32>(SlotWatch.off)
  /// A, used by the watcher alone: the watcher's record, and its naps without a filling.
  let watcher = Atomic<UnsafeMutableRawPointer?>(nil)
  let quietNaps = Atomic<UInt32>(0)
}

extension Engine {
  /// After a slot was filled: sees to it that somebody watches, if somebody is idle.
  @inline(__always)
  func watchSlots() {
    // seq-cst: ordered after the filling (an exchange); the watcher that switches off looks again.
    if slotWatch.state.load(ordering: .sequentiallyConsistent) == SlotWatch.off { watchSlotsSlow() }
  }

  @inline(never)
  private func watchSlotsSlow() {
    // seq-cst: a searcher that goes to sleep joins the list and then looks at the slots.
    let state = pool.load(ordering: .sequentiallyConsistent)
    // relaxed: a setting.
    guard state.sleeping > 0 || state.searching > 0 || state.active < target.load(ordering: .relaxed) else { return }
    let (exchanged, _) = slotWatch.state.compareExchange(
      // relaxed: the state guards nothing but itself.
      expected: SlotWatch.off, desired: SlotWatch.wanted, ordering: .relaxed)
    if exchanged { wakeIfNeeded() }
  }

  /// The searcher's last look before sleep: a job whose slot has aged. Appoints the caller watcher where one is wanted.
  func stealAgedSlot(_ worker: Worker.Pointer) -> Job? {
    // relaxed: a switch; a missed one is seen at the next look.
    guard slotWatch.state.load(ordering: .relaxed) != SlotWatch.off else { return nil }
    guard becomeWatcher(worker) else { return nil }
    let (job, active) = lookAtSlots(except: worker)
    if job != nil {
      // relaxed: the watcher's own counter.
      slotWatch.quietNaps.store(0, ordering: .relaxed)
      resignAsWatcher(to: SlotWatch.wanted)
      return job
    }
    // relaxed: the watcher's own counter.
    let quiet = active ? 0 : slotWatch.quietNaps.load(ordering: .relaxed) + 1
    slotWatch.quietNaps.store(quiet, ordering: .relaxed)
    guard quiet > SlotWatch.patience else { return nil }
    slotWatch.quietNaps.store(0, ordering: .relaxed)
    resignAsWatcher(to: SlotWatch.off)
    // The last look: a slot filled before the switch went off is watched on.
    if anySlotIsFull(except: worker) {
      // relaxed: the state guards nothing but itself.
      _ = slotWatch.state.compareExchange(expected: SlotWatch.off, desired: SlotWatch.wanted, ordering: .relaxed)
      _ = becomeWatcher(worker)
    }
    return nil
  }

  /// Whether `worker`, about to sleep, is the watcher.
  func isWatcher(_ worker: Worker.Pointer) -> Bool {
    // relaxed: only the worker itself makes itself the watcher.
    slotWatch.watcher.load(ordering: .relaxed) == UnsafeMutableRawPointer(worker)
  }

  private func becomeWatcher(_ worker: Worker.Pointer) -> Bool {
    let me = UnsafeMutableRawPointer(worker)
    let (exchanged, current) = slotWatch.watcher.compareExchange(
      // pairs with: resignAsWatcher – publishes the last watcher's notes
      expected: nil, desired: me, ordering: .acquiring)
    if exchanged {
      // relaxed: the state guards nothing but itself.
      slotWatch.state.store(SlotWatch.on, ordering: .relaxed)
    }
    return exchanged || current == me
  }

  private func resignAsWatcher(to state: UInt32) {
    // seq-cst: switched off before the last look, see the head of this file.
    slotWatch.state.store(state, ordering: .sequentiallyConsistent)
    // pairs with: becomeWatcher – publishes this watcher's notes
    slotWatch.watcher.store(nil, ordering: .releasing)
  }

  /// - Returns: a job from an aged slot, and whether any slot was filled since the last look.
  private func lookAtSlots(except worker: Worker.Pointer) -> (Job?, Bool) {
    var active = false
    for index in 0..<workers.count {
      let other = workers[index]
      if other == worker { continue }
      // relaxed: counters by themselves; the theft is an exchange.
      let fills = other.pointee.slotFills.load(ordering: .relaxed)
      let unchanged = other.pointee.watchedFills.exchange(fills, ordering: .relaxed) == fills
      if !unchanged { active = true }
      if unchanged, !other.pointee.slotIsEmpty, let job = other.pointee.takeSlot() { return (job, true) }
    }
    return (nil, active)
  }

  private func anySlotIsFull(except worker: Worker.Pointer) -> Bool {
    for index in 0..<workers.count where workers[index] != worker {
      // seq-cst: after the switch went off, see the head of this file.
      if workers[index].pointee.slot.load(ordering: .sequentiallyConsistent) != nil { return true }
    }
    return false
  }
}
