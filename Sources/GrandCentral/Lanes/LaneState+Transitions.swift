// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Pure: each takes the state to the next one and returns what the caller now owes. Enumerated by the tests.
extension LaneState {
  enum GiveUp: Equatable {
    /// The lane is given up.
    case done
    /// Something came meanwhile: the caller still owns the lane and looks again.
    case again
  }

  /// Whether a thread that has come to the lane is its owner now.
  enum Arrival: Equatable {
    /// The caller owns the lane, and drains it or gives it up.
    case owns
    /// There is nothing to do, or another thread does it.
    case leaves
  }

  /// Whether the owner may go on with the first item.
  enum Admission: Equatable {
    /// It may: a barrier runs now, a reader counts as one.
    case granted
    /// It must wait, and the lane is given up: a reader that leaves takes it over.
    case givenUp
  }

  /// What the caller owes a lane that it may have made runnable.
  enum Call: Equatable {
    case nothing
    /// The caller pushes an activation in the band.
    case push(Band)
    /// An activation in the lane's band is on its way (Lane.L8).
    case adopt
  }

  // MARK: Pushing

  /// Lane.L3, Lane.L8: the lane is enqueued in its band.
  @inline(__always)
  private mutating func send() -> Call { send(in: band) }

  @inline(__always)
  private mutating func send(in band: Band) -> Call {
    assert(band == self.band, "its own band")
    let sent = Self.sent(band)
    if has(sent) {
      rawValue |= Self.enqueued
      return .adopt
    }
    rawValue |= Self.enqueued | sent
    return .push(band)
  }

  /// A pusher has published an item and found the list empty before. The lane may be enqueued for an item that has run.
  mutating func announce(urgency: UInt8) -> Call {
    if has(Self.ownerMask | Self.enqueued | Self.halted | Self.readersPending) {
      rawValue |= Self.dirty
      return overtake(urgency: urgency)
    }
    raise(to: urgency)
    rawValue |= Self.dirty
    return send(in: bandOfUrgency)
  }

  /// As `announce`, by the owner, which looks at the list before it gives the lane up (Lane.L9).
  mutating func announceAsOwner(urgency: UInt8) {
    assert(isOwned && !has(Self.enqueued), "the owner's step, Lane.L9")
    rawValue |= Self.dirty
    raise(to: urgency)
  }

  /// Something more urgent than the lane's band has joined it. If the lane is enqueued, an activation in the higher band
  /// must overtake the one on its way.
  mutating func overtake(urgency: UInt8) -> Call {
    if urgency <= self.urgency { return .nothing }
    raise(to: urgency)
    return has(Self.enqueued) ? send(in: bandOfUrgency) : .nothing
  }

  /// A more urgent thread waits for an item that may be on the lane, or may have run by now. Otherwise as `overtake`.
  mutating func boost(urgency: UInt8) -> Call {
    // A lane without work has no band: if a late caller raised it, the lane would only look busy.
    if !has(Self.ownerMask | Self.enqueued | Self.dirty | Self.readersPending) { return .nothing }
    return overtake(urgency: urgency)
  }

  // MARK: Draining

  /// An activation has come through the target in `band`.
  @inline(__always)
  mutating func arrive(_ id: UInt32, in band: Band) -> Arrival {
    assert(!isOwned || !has(Self.enqueued), "Lane.L9")
    let called = rawValue & (Self.ownerMask | Self.enqueued | Self.halted | Self.readersPending) == Self.enqueued
    clear(Self.sent(band))
    if !called { return arriveUncalled(id) }
    clear(Self.enqueued | Self.dirty)
    rawValue |= UInt64(id)
    return .owns
  }

  /// An activation that was overtaken may come to a lane that is idle or owned; any may come to one that is halted.
  private mutating func arriveUncalled(_ id: UInt32) -> Arrival {
    // An owner looks again by itself if something came (Lane.L9); a lane without work stays as it is.
    if isOwned || !has(Self.enqueued | Self.dirty | Self.readersPending) { return .leaves }
    clear(Self.enqueued)
    if isHalted {
      rawValue |= Self.dirty
      return .leaves
    }
    if has(Self.barrierPending), readers > 0 { return .leaves }
    clear(Self.dirty | Self.readersPending)
    setOwner(id)
    return .owns
  }

  /// The main thread looks at the main queue. Its activations are signals, and this look answers them all.
  ///
  /// - Returns: as `arrive`; `.leaves` where the queue is drained further out on the thread's stack.
  mutating func arriveOnMain(_ id: UInt32) -> Arrival {
    assert(!isOwned || !has(Self.enqueued), "Lane.L9")
    if isOwned { return .leaves }
    clear(Self.enqueued | Self.sentMask | Self.dirty)
    rawValue |= UInt64(id)
    return .owns
  }

  /// The owner has found the list empty.
  mutating func finish() -> GiveUp {
    assert(isOwned, "the owner's step")
    if has(Self.dirty) {
      clear(Self.dirty)
      return .again
    }
    clear(Self.ownerMask | Self.urgencyMask)
    return .done
  }

  /// The owner has seen the lane halted.
  mutating func rest() -> GiveUp {
    assert(isOwned, "the owner's step")
    if !isHalted { return .again }
    rawValue |= Self.dirty
    clear(Self.ownerMask)
    return .done
  }

  /// The owner gives the lane up with items left. Never `.nothing`.
  mutating func relay() -> Call {
    assert(isOwned && !has(Self.enqueued), "the owner's step, Lane.L9")
    clear(Self.ownerMask)
    return send()
  }

  /// The lane gets another target: its owner's step, or any thread's while the lane is inactive.
  mutating func moveAway(nested: Bool) {
    clear(Self.sentMask | Self.nested)
    if nested { rawValue |= Self.nested }
  }

  /// In a forked child: the activations that the state tells of are on their way in the parent. Forgets them. If the lane is
  /// enqueued, it is sent anew.
  mutating func sendAnew() -> Call {
    clear(Self.sentMask)
    return has(Self.enqueued) ? send() : .nothing
  }

  /// In a forked child, the main queue's items being left to the parent: so are its owner, and all that the state tells of them.
  ///
  /// - Parameter owner: The child's only thread if it is inside an item, else 0.
  mutating func leaveToParent(owner: UInt32) { rawValue = rawValue & Self.roles | UInt64(owner) }

  /// The owner has a barrier first in the list. If readers run, the last one takes the lane over.
  mutating func beginBarrier() -> Admission {
    assert(isOwned && !has(Self.barrierPending), "the owner's step, Lane.L5")
    if readers == 0 { return .granted }
    clear(Self.ownerMask)
    rawValue |= Self.barrierPending
    return .givenUp
  }

  /// The owner passes the lane to a waiter.
  mutating func handOver(to id: UInt32) {
    assert(isOwned && id != 0, "the owner's step")
    setOwner(id)
  }

  /// The owner has a reader first in the list. If there is room, the reader is counted, and the owner takes it off. Otherwise
  /// the next reader that leaves takes the lane over.
  mutating func admit(limit: Int) -> Admission {
    assert(isOwned && !has(Self.readersPending), "the owner's step, Lane.L5")
    if readers < limit {
      rawValue &+= Self.readerOne
      return .granted
    }
    clear(Self.ownerMask)
    rawValue |= Self.roomPending
    return .givenUp
  }

  // MARK: Synchronous callers

  /// A caller wants the lane to itself, and has found the list empty.
  @inline(__always)
  mutating func acquire(_ id: UInt32) -> Bool {
    if has(~Self.idle) { return false }
    rawValue |= UInt64(id)
    return true
  }

  enum Join: Equatable {
    case owns
    case waits(Call)
  }

  /// A waiting caller has joined the list and found it empty before: if the lane is free it owns it at once.
  mutating func join(_ id: UInt32, urgency: UInt8, barrier: Bool) -> Join {
    if has(Self.ownerMask | Self.enqueued | Self.halted | Self.readersPending) {
      rawValue |= Self.dirty
      return .waits(overtake(urgency: urgency))
    }
    raise(to: urgency)
    if barrier, readers > 0 {
      rawValue |= Self.barrierPending
      return .waits(.nothing)
    }
    clear(Self.dirty)
    setOwner(id)
    return .owns
  }

  /// A caller wants to run beside the other readers, and has found the list empty.
  @inline(__always)
  mutating func enterRead() -> Bool {
    if has(~(Self.idle | Self.readerMask)) || rawValue & Self.readerMask == Self.readerMask { return false }
    rawValue &+= Self.readerOne
    return true
  }

  /// A reader has finished. If it owns the lane now, it takes care of the item that waits for readers to leave.
  @inline(__always)
  mutating func leaveRead(_ id: UInt32) -> Arrival {
    assert(has(Self.readerMask), "a reader's step")
    rawValue &-= Self.readerOne
    if !has(Self.readersPending) || !has(Self.roomPending) && has(Self.readerMask) { return .leaves }
    clear(Self.readersPending)
    if has(Self.halted) {
      rawValue |= Self.dirty
      return .leaves
    }
    if has(Self.ownerMask | Self.enqueued) { return .leaves }
    setOwner(id)
    return .owns
  }

  /// `leaveRead`, if no item waits for readers to leave; otherwise nil.
  @inline(__always)
  mutating func leaveReadUnawaited() -> Bool? {
    assert(has(Self.readerMask), "a reader's step")
    if has(Self.readersPending) { return nil }
    rawValue &-= Self.readerOne
    return true
  }

  // MARK: Suspension

  mutating func suspend() { rawValue |= Self.suspended }

  mutating func resume() -> Call {
    clear(Self.suspended)
    return startIfDirty()
  }

  mutating func activate() -> Call {
    clear(Self.inactive)
    return startIfDirty()
  }

  private mutating func startIfDirty() -> Call {
    if isHalted || !has(Self.dirty) || has(Self.ownerMask | Self.enqueued | Self.readersPending) { return .nothing }
    return send()
  }
}
