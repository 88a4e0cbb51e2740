// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A lane's state: one word that says which thread may touch the lane's items, and which thread must make sure that they run.
///
/// | bits  | field          | meaning                                                                     |
/// |-------|----------------|-----------------------------------------------------------------------------|
/// | 0–21  | owner          | id of the thread that holds the lane, 0 = none                               |
/// | 22–43 | readers        | items of a concurrent lane that are admitted and have not finished           |
/// | 44    | enqueued       | an activation of the lane is on its way through the target                  |
/// | 45    | dirty          | items may be there that no owner has looked at                              |
/// | 46    | barrierPending | the first item is a barrier and waits for the readers; the last one sees to it |
/// | 47    | suspended      | no item may start                                                           |
/// | 48    | inactive       | no item may start yet                                                       |
/// | 49    | concurrent     | role: several items may run at once                                         |
/// | 50    | nested         | role: the target is a lane or the main queue; `sync` must take the chain     |
/// | 51    | threadBound    | role: one thread runs the items, and no caller does: main, a run loop's queue |
/// | 52–54 | urgency        | the most urgent band asked for since the lane was last idle; 0 = none        |
/// | 55    | roomPending    | the first item is a reader and waits for room; the next reader to leave sees to it |
/// | 56–61 | sent           | one bit for each band: an activation in this band is on its way, needed or left over |
///
/// Invariants
/// Lane.L1  Only the owner takes items off the list. Readers run what was taken off for them.
/// Lane.L2  If an item is on the list and published, then the lane is owned, or enqueued, or halted (suspended,
///     inactive) and dirty, or barrierPending or roomPending with readers > 0, or the thread that published it has yet
///     to `announce`.
/// Lane.L3  enqueued is set by exactly the thread that then pushes the activation, which retains the lane; or adopts
///     one, Lane.L8.
/// Lane.L4  A lane with an owner and readers > 0 runs no barrier: the owner only moves items.
/// Lane.L5  While barrierPending or roomPending, no new reader is admitted.
/// Lane.L6  urgency is not 0 from the first `announce` or `join` until `finish`. So a lane that has had anything in its list
///     never looks idle, and a syncer's quick way out (owner → idle) cannot leave items behind that were pushed behind its own
///     node, and so were never announced.
/// Lane.L7  There are never more readers than the lane's limit: `admit` and the callers of `enterRead` compare with it
///     in the step that counts the reader. An owner that finds the limit reached gives the lane up with roomPending;
///     every reader that leaves then takes the lane over, so a place is filled as soon as it is free, not when all are.
/// Lane.L8  If sent has a band's bit, then an activation in that band is on its way through the lane's present target,
///     or the thread that has set the bit has yet to push it. If the lane is enqueued, sent has the bit of the lane's
///     band.
/// Lane.L9  A lane that has an owner is not enqueued.
/// Lane.L10  An item may release the lane that it is on, once those before it have run. So from the moment when a thread has made an item
///     reachable, or has let the lane's items run, it touches the lane no more, unless it has counted a reference before.
///
/// Activations that are overtaken. Work of a higher band raises an enqueued lane and sends a second activation, in that band.
/// The second one arrives, and the first is left over: it stays in the run queue of its band, for as long as that band
/// starves. If the next round sent another activation in the low band, activations would pile up there, and each keeps the
/// lane alive. So `send` looks at the band's bit. If it is set the lane *adopts* the activation that is left over, which
/// stands further ahead than a new one would. An activation that arrives clears its band's bit in the step in which it looks
/// at the lane. If a thread adopts the activation before that step, the activation sees that thread's work. If a thread comes
/// after that step, it sends a new activation. The activation serves the lane if the lane has work, whether it was overtaken
/// or not; otherwise it goes away. So no more than one activation in each band is left over.
///
/// A new target clears sent: what is on its way through the former target may come late, or never if that queue is
/// suspended. A bit that is clear while an activation is on its way costs one activation more; a bit that is set while
/// none is would lose the lane. So bits may be cleared at any time, and a late arrival through the former target may
/// clear the bit of another activation. A target change leaves behind at most what was on its way.
///
/// Why dirty cannot be lost: a pusher that found the list empty publishes its item and then sets dirty, or finds the
/// lane free and sets enqueued. An owner gives the lane up by a transition (`finish`, `rest`) that fails while dirty is
/// set, and looks at the list again. If the pusher's transition comes after the owner's, it finds no owner.
///
/// A role says something of the lane itself, never of a lane further up: those may be retargeted at any time. `nested`
/// changes with the lane's own target, so the lane's holder can rely on it; the other two are given for life.
///
/// Roles                     steps
///   pusher                  push; list was empty → `announce`, else if more urgent → `overtake`; maybe push an activation
///   activation (a worker)   `arrive` → drain: pop, run … → `finish` | `rest` | `relay` | hand over to a waiter
///   owner, other target     `moveAway` → publish the target
///   barrier syncer          `acquire`, or join the list; list was empty → `join` → holds it at once, or waits to be handed it
///   reader                  `enterRead`, or join the list; … `leaveRead` → the last one may take over as owner;
///                           so may any reader that leaves a lane at its limit
///   suspender               `suspend` / `resume` → maybe push an activation
///
/// Orderings: a transition that gives the lane up releases; one that takes it acquires; they pair with each other, so
/// item n happens before item n+1. The list itself publishes items from pusher to owner.
///
/// Rejected: a separate lock for the width of concurrent lanes; two words cannot be changed together. Taking an activation
/// that is overtaken out of its run queue: those are FIFO queues without locks. A count of activations: a new one must be
/// sent into a band in which none is, however many others are on their way.
struct LaneState: StateWord, Equatable {
  var rawValue: UInt64

  @inline(__always)
  init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Held, and nothing else, by a lane without roles.
  @inline(__always)
  init(owner: UInt32) { rawValue = UInt64(owner) }

  /// Held, and nothing else, by a concurrent lane without other roles.
  @inline(__always)
  init(concurrentOwner owner: UInt32) { rawValue = Self.concurrent | UInt64(owner) }

  static let ownerMask: UInt64 = (1 << 22) - 1
  static let readerOne: UInt64 = 1 << 22
  static let readerMask: UInt64 = ownerMask << 22
  static let enqueued: UInt64 = 1 << 44
  static let dirty: UInt64 = 1 << 45
  static let barrierPending: UInt64 = 1 << 46
  static let suspended: UInt64 = 1 << 47
  static let inactive: UInt64 = 1 << 48
  static let concurrent: UInt64 = 1 << 49
  static let nested: UInt64 = 1 << 50
  static let threadBound: UInt64 = 1 << 51
  static let urgencyOne: UInt64 = 1 << 52
  static let urgencyMask: UInt64 = 7 << 52

  static let halted = suspended | inactive
  static let roomPending: UInt64 = 1 << 55
  /// Readers that leave see to the first item.
  static let readersPending = barrierPending | roomPending
  static let roles = concurrent | nested | threadBound
  static let sentMask: UInt64 = 63 << 56
  /// What a lane may have while no thread works on it or waits for it.
  static let idle = roles | sentMask

  @inline(__always)
  static func sent(_ band: Band) -> UInt64 { UInt64(band.bit) &<< 56 }

  @inline(__always) func has(_ bit: UInt64) -> Bool { rawValue & bit != 0 }
  @inline(__always) var owner: UInt32 { UInt32(truncatingIfNeeded: rawValue & Self.ownerMask) }
  @inline(__always) var readers: Int { Int((rawValue & Self.readerMask) &>> 22) }
  @inline(__always) var isHalted: Bool { has(Self.halted) }
  @inline(__always) var isOwned: Bool { has(Self.ownerMask) }
  @inline(__always) var urgency: UInt8 { UInt8(truncatingIfNeeded: (rawValue & Self.urgencyMask) &>> 52) }

  /// The band of an urgency; none counts as normal.
  @inline(__always)
  var band: Band { Urgency.band(urgency) }

  /// The same, of a lane that has just been given an urgency: there is no need to ask whether it has one.
  @inline(__always)
  var bandOfUrgency: Band { Band(rank: UInt8(Band.count) &- urgency) }

  @inline(__always)
  mutating func setOwner(_ id: UInt32) { rawValue = (rawValue & ~Self.ownerMask) | UInt64(id) }

  @inline(__always)
  mutating func clear(_ bits: UInt64) { rawValue &= ~bits }

  @inline(__always)
  mutating func raise(to urgency: UInt8) {
    if urgency > self.urgency { rawValue = (rawValue & ~Self.urgencyMask) | (UInt64(urgency) &<< 52) }
  }
}

/// Bands as numbers: the larger number is the more urgent band, and 0 is "not asked for".
enum Urgency {
  @inline(__always)
  static func of(_ band: Band) -> UInt8 { UInt8(Band.count) &- band.rank }

  @inline(__always)
  static func band(_ urgency: UInt8) -> Band {
    urgency == 0 ? .normal : Band(rank: UInt8(Band.count) &- urgency)
  }
}
