// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Pure: each takes the state to the next one and returns what the caller now owes. Enumerated by the tests.
extension LaneState {
  enum GiveUp: Equatable {
    /// The lane is given up.
    case done
    /// Something came meanwhile: the caller still owns the lane and looks again.
    case again
  }

  // MARK: Pushing

  /// A pusher has published an item and found the list empty before.
  ///
  /// - Returns: whether the caller must push an activation.
  mutating func announce(urgency: UInt8) -> Bool {
    raise(to: urgency)
    rawValue |= Self.dirty
    if has(Self.ownerMask | Self.enqueued | Self.halted) { return false }
    if has(Self.readersPending) { return false }
    rawValue |= Self.enqueued
    return true
  }

  /// Something more urgent than the lane's band has joined it.
  ///
  /// - Returns: whether an activation of the higher band must overtake the one on its way.
  mutating func overtake(urgency: UInt8) -> Bool {
    if urgency <= self.urgency { return false }
    raise(to: urgency)
    return has(Self.enqueued)
  }

  /// Somebody more urgent waits for an item that may be on the lane, or may have run by now.
  ///
  /// - Returns: as `overtake`.
  mutating func hurry(urgency: UInt8) -> Bool {
    // A lane without work has no band: raised by a late caller it would only look busy.
    if !has(Self.ownerMask | Self.enqueued | Self.dirty | Self.readersPending) { return false }
    return overtake(urgency: urgency)
  }

  // MARK: Draining

  /// An activation has come through the target. One that was overtaken may come to a lane that is idle or owned.
  ///
  /// - Returns: whether the caller owns the lane now.
  mutating func arrive(_ id: UInt32) -> Bool {
    clear(Self.enqueued)
    if isOwned || isHalted {
      rawValue |= Self.dirty
      return false
    }
    if has(Self.barrierPending), readers > 0 { return false }
    clear(Self.dirty | Self.readersPending)
    setOwner(id)
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

  /// The owner gives the lane up with items left; it pushes an activation.
  mutating func relay() {
    clear(Self.ownerMask)
    rawValue |= Self.enqueued
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
    if has(~Self.roles) { return false }
    rawValue |= UInt64(id)
    return true
  }

  enum Join: Equatable {
    case owns
    case waits
  }

  /// A waiting caller has joined the list and found it empty before: if the lane is free it owns it at once.
  mutating func join(_ id: UInt32, urgency: UInt8, barrier: Bool) -> Join {
    raise(to: urgency)
    if has(Self.ownerMask | Self.enqueued | Self.halted | Self.readersPending) {
      rawValue |= Self.dirty
      return .waits
    }
    if barrier, readers > 0 {
      rawValue |= Self.barrierPending
      return .waits
    }
    clear(Self.dirty)
    setOwner(id)
    return .owns
  }

  /// A caller wants to run beside the other readers, and has found the list empty.
  @inline(__always)
  mutating func enterRead() -> Bool {
    if has(~(Self.roles | Self.readerMask)) || rawValue & Self.readerMask == Self.readerMask { return false }
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

  /// - Returns: whether the caller must push an activation.
  mutating func resume() -> Bool {
    clear(Self.suspended)
    return startIfDirty()
  }

  /// - Returns: whether the caller must push an activation.
  mutating func activate() -> Bool {
    clear(Self.inactive)
    return startIfDirty()
  }

  private mutating func startIfDirty() -> Bool {
    if isHalted || !has(Self.dirty) || has(Self.ownerMask | Self.enqueued | Self.readersPending) { return false }
    rawValue |= Self.enqueued
    return true
  }
}
