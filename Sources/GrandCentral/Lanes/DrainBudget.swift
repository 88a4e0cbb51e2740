// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// How long a drainer stays with one lane: until a more urgent band has work, or its time slice is used and other work
/// is pending. What is pending in the target of a nested lane is not looked for: such a lane goes behind it after each slice. Its items may
/// be turns of lanes below it, each a slice long, so it looks at the counter from its second item on: then its turn is three of theirs.
struct DrainBudget {
  /// A turn with other work pending lasts about so many milliseconds.
  private static let slice: UInt64 = 1
  /// Reading the counter costs about as much as a small item, so it is read now and then.
  private static let itemsPerLook: UInt32 = 16
  /// A drainer that runs dry looks a little longer before it gives its lane up: about a microsecond, in which the next item of
  /// a steady stream arrives without a wake-up.
  private static let lingering = 24
  /// Items in a row of the main queue, which shares its thread with the program's loop and with the main actor.
  private static let itemsOnMain: UInt32 = 64

  private let worker: Worker.Pointer?
  private let engine: Engine.Pointer
  private let moreUrgent: UInt32
  private let isNested: Bool
  private var items: UInt32 = 0
  private var nextLook: UInt32
  private var started: UInt64 = 0
  private var mayLinger: Bool

  @inline(__always)
  init(_ worker: Worker.Pointer?, urgency: UInt8, isNested: Bool) {
    self.worker = worker
    engine = Engine.shared
    moreUrgent = Urgency.band(urgency).moreUrgent
    self.isNested = isNested
    nextLook = isNested ? 2 : Self.itemsPerLook
    mayLinger = worker != nil
  }

  /// Called after each item.
  @inline(__always)
  mutating func isOver() -> Bool {
    guard worker != nil else { return isOverOnMain() }
    // relaxed: a hint about other work; the turn ends an item later.
    let pending = engine.pointee.pending.load(ordering: .relaxed)
    if pending & moreUrgent != 0, engine.pointee.settle(pending & moreUrgent) != 0 { return true }
    items &+= 1
    if items != nextLook { return false }
    return sliceIsUsed(pending)
  }

  @inline(never)
  private mutating func isOverOnMain() -> Bool {
    items &+= 1
    return items >= Self.itemsOnMain
  }

  @inline(never)
  private mutating func sliceIsUsed(_ pending: UInt32) -> Bool {
    let now = Cycles.now
    if started == 0 {
      // In a simulation each time counts as long: there a turn has more items.
      let isEarly = items < Self.itemsPerLook
      if isEarly, World.isSimulated {
        nextLook = Self.itemsPerLook
        return false
      }
      nextLook = items &+ (isEarly ? 1 : Self.itemsPerLook)
      started = now
      return false
    }
    // Twice as many items until the next look, up to the most.
    nextLook = items &+ min(max(1, items), Self.itemsPerLook)
    if now &- started < Self.slice &* Cycles.perMillisecond { return false }
    started = now
    return isNested || pending != 0 || !(worker?.pointee.slotIsEmpty ?? true)
  }

  /// Waits a moment for the next item of a lane that has run dry.
  ///
  /// - Returns: whether there is one.
  @inline(__always)
  mutating func linger(for lane: Lane) -> Bool {
    guard mayLinger, items > 1, let worker, worker.pointee.slotIsEmpty else { return false }
    return lingerSlow(lane)
  }

  @inline(never)
  private mutating func lingerSlow(_ lane: Lane) -> Bool {
    guard Settings.maySpin else { return false }
    for _ in 0..<Self.lingering {
      if lane.first() != nil { return true }
      // relaxed: a hint about other work.
      if engine.pointee.pending.load(ordering: .relaxed) != 0 { break }
      gc_pause()
    }
    mayLinger = false
    return lane.first() != nil
  }
}
