// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Pure: each takes the state to the next one and returns what the caller now owes. Enumerated by the tests.
extension LaneState {
  enum GiveUp: Equatable {
    /// The lane is given up.
    case done
    /// Something came meanwhile: the caller still owns the lane and looks again.
    case again
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
  private mutating func send() -> Call {
    let band = self.band
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
    return send()
  }

  /// Something more urgent than the lane's band has joined it. If the lane is enqueued, an activation in the higher band
  /// must overtake the one on its way.
  mutating func overtake(urgency: UInt8) -> Call {
    if urgency <= self.urgency { return .nothing }
    raise(to: urgency)
    return has(Self.enqueued) ? send() : .nothing
  }

  /// Somebody more urgent waits for an item that may be on the lane, or may have run by now. Else as `overtake`.
  mutating func boost(urgency: UInt8) -> Call {
    // A lane without work has no band: raised by a late caller it would only look busy.
    if !has(Self.ownerMask | Self.enqueued | Self.dirty | Self.readersPending) { return .nothing }
    return overtake(urgency: urgency)
  }

  // MARK: Draining

  /// An activation has come through the target in `band`.
  ///
  /// - Returns: whether the caller owns the lane now.
  @inline(__always)
  mutating func arrive(_ id: UInt32, in band: Band) -> Bool {
    let called = rawValue & (Self.ownerMask | Self.enqueued | Self.halted | Self.readersPending) == Self.enqueued
    clear(Self.sent(band))
    if !called { return arriveUncalled(id) }
    clear(Self.enqueued | Self.dirty)
    rawValue |= UInt64(id)
    return true
  }

  /// An activation that was overtaken may come to a lane that is idle or owned; any may come to one that is halted.
  private mutating func arriveUncalled(_ id: UInt32) -> Bool {
    // An owner looks again by itself if something came (Lane.L9); a lane without work stays as it is.
    if isOwned || !has(Self.enqueued | Self.dirty | Self.readersPending) { return false }
    clear(Self.enqueued)
    if isHalted {
      rawValue |= Self.dirty
      return false
    }
    if has(Self.barrierPending), readers > 0 { return false }
    clear(Self.dirty | Self.readersPending)
    setOwner(id)
    return true
  }

  /// The main thread looks at the main queue. Its activations are signals, and this look answers them all.
  ///
  /// - Returns: as `arrive`; no, where the queue is drained further out on the thread's stack.
  mutating func arriveOnMain(_ id: UInt32) -> Bool {
    if isOwned { return false }
    clear(Self.enqueued | Self.sentMask | Self.dirty)
    rawValue |= UInt64(id)
    return true
  }

  /// The owner has found the list empty.
  mutating func finish() -> GiveUp {
    if has(Self.dirty) {
      clear(Self.dirty)
      return .again
    }
    clear(Self.ownerMask | Self.urgencyMask)
    return .done
  }

  /// The owner has seen the lane halted.
  mutating func rest() -> GiveUp {
    if !isHalted { return .again }
    rawValue |= Self.dirty
    clear(Self.ownerMask)
    return .done
  }

  /// The owner gives the lane up with items left. Never `.nothing`.
  mutating func relay() -> Call {
    clear(Self.ownerMask)
    return send()
  }

  /// The lane gets another target: its owner's step, or anybody's while the lane is inactive.
  mutating func moveAway(nested: Bool) {
    clear(Self.sentMask | Self.nested)
    if nested { rawValue |= Self.nested }
  }

  /// What this process knows of the activations on their way is its parent's, where they are. Else as `overtake`.
  mutating func sendAnew() -> Call {
    clear(Self.sentMask)
    return has(Self.enqueued) ? send() : .nothing
  }

  /// The owner has a barrier first in the list.
  ///
  /// - Returns: whether it may start now; otherwise the lane is given up, and the last reader sees to it.
  mutating func beginBarrier() -> Bool {
    if readers == 0 { return true }
    clear(Self.ownerMask)
    rawValue |= Self.barrierPending
    return false
  }

  /// The owner passes the lane to a waiter.
  mutating func handOver(to id: UInt32) { setOwner(id) }

  /// The owner has a reader first in the list.
  ///
  /// - Returns: whether it counts as admitted, and the owner takes it off; otherwise the lane is given up, and the next
  ///   reader that leaves sees to it.
  mutating func admit(limit: Int) -> Bool {
    if readers < limit {
      rawValue &+= Self.readerOne
      return true
    }
    clear(Self.ownerMask)
    rawValue |= Self.roomPending
    return false
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

  /// A reader has finished.
  ///
  /// - Returns: whether the caller owns the lane now, and must see to what waits for the readers.
  @inline(__always)
  mutating func leaveRead(_ id: UInt32) -> Bool {
    rawValue &-= Self.readerOne
    if !has(Self.readersPending) || !has(Self.roomPending) && has(Self.readerMask) { return false }
    clear(Self.readersPending)
    if has(Self.halted) {
      rawValue |= Self.dirty
      return false
    }
    if has(Self.ownerMask | Self.enqueued) { return false }
    setOwner(id)
    return true
  }

  /// `leaveRead` where nobody waits for the readers; nil where somebody does.
  @inline(__always)
  mutating func leaveReadUnawaited() -> Bool? {
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
