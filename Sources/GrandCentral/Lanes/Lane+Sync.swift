// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// The synchronous caller's side of a lane.
extension Lane {
  /// Takes the lane for the calling thread, alone or as a reader.
  ///
  /// - Returns: false if the item must run on another thread: `runRemotely`.
  @usableFromInline
  @inline(never)
  final func beginSync(_ context: UnsafeMutablePointer<QueueContext>, barrier: Bool) -> Bool {
    if Recorder.isOn { return beginSyncRecorded(context, barrier: barrier) }
    return beginSyncUnseen(context, barrier: barrier)
  }

  @inline(__always)
  final func beginSyncUnseen(_ context: UnsafeMutablePointer<QueueContext>, barrier: Bool) -> Bool {
    // Apart from the rest, which needs registers saved.
    let me = gc_thread_self().pointee.tid
    guard me != 0, items.tailIsNil else { return beginSyncOther(context, barrier: barrier) }
    if kind.isPlainSerial {
      if state.exchange(LaneState(rawValue: 0), for: LaneState(owner: me)) {
        QueueContext.push(context, self, .alone)
        return true
      }
    } else if kind.hasReaders {
      if !barrier {
        if enterFlatRead() {
          QueueContext.push(context, self, .reader)
          return true
        }
      } else if state.exchange(LaneState(rawValue: LaneState.concurrent), for: LaneState(concurrentOwner: me)) {
        QueueContext.push(context, self, .alone)
        return true
      }
    }
    return beginSyncOther(context, barrier: barrier)
  }

  /// Takes the lane if no thread holds it or waits for it.
  @usableFromInline
  final func beginIfIdle(_ context: UnsafeMutablePointer<QueueContext>, barrier: Bool) -> Bool {
    // relaxed: a busy lane is found busy by `beginSync` too, which then waits for its turn: slower, not wrong.
    let seen = state.load(ordering: .relaxed)
    if Recorder.isOn, seen.has(LaneState.nested) { World.goBeyondOrders(.asyncAndWait) }
    if !kind.isRunQueue, !items.tailIsNil || seen.has(~(LaneState.idle | LaneState.readerMask)) { return false }
    // At its limit it is busy too.
    if isFull(seen) { return false }
    return beginSync(context, barrier: barrier)
  }

  @inline(never)
  private final func beginSyncOther(_ context: UnsafeMutablePointer<QueueContext>, barrier: Bool) -> Bool {
    let me = Thread.id
    if items.tailIsNil {
      if barrier, !kind.isPlainSerial, tryAcquire(me) {
        QueueContext.push(context, self, .alone)
        return true
      }
      if !kind.isRunQueue, !kind.reads(barrier: barrier), let isHeld = tryHoldChain(context, me) { return isHeld }
      if kind.reads(barrier: barrier), enterFlatRead() {
        QueueContext.push(context, self, .reader)
        return true
      }
    }
    return beginSyncSlow(context, me, barrier: barrier)
  }

  /// Takes an idle lane, if its target needs no holding: one exchange.
  @inline(__always)
  private final func tryAcquire(_ me: UInt32) -> Bool {
    let idle = LaneState(rawValue: kind.hasReaders ? LaneState.concurrent : 0)
    var owned = idle
    owned.setOwner(me)
    return !kind.isRunQueue && state.exchange(idle, for: owned)
  }

  /// Takes a reader's place on a lane, if the lane's target needs no holding.
  @inline(__always)
  private final func enterFlatRead() -> Bool {
    state.prepareUpdate()
    return state.attempt { state in
      state.has(LaneState.nested) || isFull(state) || !state.enterRead() ? nil : true
    } != nil
  }

  /// Takes an idle lane with an idle serial target on a global queue: the common nesting, two exchanges.
  ///
  /// - Returns: nil if the lane is not idle or not nested; else as `beginSync`.
  @inline(never)
  private final func tryHoldChain(_ context: UnsafeMutablePointer<QueueContext>, _ me: UInt32) -> Bool? {
    // relaxed: the exchanges decide.
    let seen = state.load(ordering: .relaxed)
    guard seen.has(LaneState.nested), !seen.has(~LaneState.idle), tryOwn(seen, me) else { return nil }
    if holdTargets(context, me) {
      QueueContext.push(context, self, .chain)
      return true
    }
    if !tryDisown(me) { releaseOwnership() }
    return false
  }

  @inline(__always)
  private final func tryOwn(_ idle: LaneState, _ me: UInt32) -> Bool {
    var owned = idle
    owned.setOwner(me)
    return state.exchange(idle, for: owned)
  }

  /// Gives up the lane, if no other thread has touched it since it was taken idle.
  @inline(__always)
  private final func tryDisown(_ me: UInt32) -> Bool {
    // relaxed: the exchange decides.
    var idle = LaneState(rawValue: state.load(ordering: .relaxed).rawValue & LaneState.idle)
    let released = idle
    idle.setOwner(me)
    return state.exchange(idle, for: released)
  }

  @inline(never)
  private final func beginSyncSlow(_ context: UnsafeMutablePointer<QueueContext>, _ me: UInt32, barrier: Bool) -> Bool {
    if kind.isRunQueue {
      QueueContext.push(context, self, .global)
      return true
    }
    // relaxed: given for life.
    if state.load(ordering: .relaxed).has(LaneState.threadBound) { return false }
    let reads = kind.reads(barrier: barrier)
    acquire(me, reads: reads, for: self)
    // relaxed: changes with the target only, which stands still while the lane is held.
    let nested = state.load(ordering: .relaxed).has(LaneState.nested)
    if nested, !holdTargets(context, me) {
      if reads { leaveRead() } else { releaseOwnership() }
      return false
    }
    QueueContext.push(context, self, reads ? (nested ? .chainReader : .reader) : (nested ? .chain : .alone))
    return true
  }

  /// Holds every lane above this one, which is held and nested, as an item of this one would; notes them in the context.
  ///
  /// - Returns: false, with none of them held, if the chain ends at a lane that only its own thread may hold.
  private final func holdTargets(_ context: UnsafeMutablePointer<QueueContext>, _ me: UInt32) -> Bool {
    var lane = reference
    while true {
      // unsafe: Targets.I1: the lane is held, so its target stands still; and it is nested, so there is one.
      let target = lane.use { $0.targetWord.lane.unsafelyUnwrapped }
      if Recorder.isOn { target.use { $0.tellQuestion() } }
      let held = target.use { $0.holdAsTarget(me, for: self) }
      if held == .threadBound {
        releaseTargets(context)
        return false
      }
      context.pointee.targets.push(target)
      if held == .last { return true }
      lane = target
    }
  }

  private enum Held {
    /// The lane is held, and its target is a global queue.
    case last
    /// The lane is held, and so must be its target.
    case nested
    /// The lane is not held.
    case threadBound
  }

  private final func holdAsTarget(_ me: UInt32, for caller: Lane) -> Held {
    // relaxed: the exchange decides; whether a lane is bound to a thread is given for life.
    let seen = state.load(ordering: .relaxed)
    if seen.has(LaneState.threadBound) { return .threadBound }
    if kind.isPlainSerial, items.tailIsNil, !seen.has(~LaneState.idle), tryOwn(seen, me) {
      return seen.has(LaneState.nested) ? .nested : .last
    }
    acquire(me, reads: kind.hasReaders, for: caller)
    // relaxed: read after the lane was taken, not before: while this thread waited its target may have changed.
    return state.load(ordering: .relaxed).has(LaneState.nested) ? .nested : .last
  }

  /// Holds the lane, alone or as a reader, for a synchronous item of `caller`, which is this lane or one below it.
  @inline(never)
  private final func acquire(_ me: UInt32, reads: Bool, for caller: Lane) {
    if items.tailIsNil {
      if reads, enterRead() { return }
      if !reads, state.attempt({ $0.acquire(me) ? true : nil }) != nil { return }
    }
    checkDeadlock(me, reads: reads, for: caller)
    waitForTurn(me, reads: reads, for: caller)
  }

  private final func waitForTurn(_ me: UInt32, reads: Bool, for caller: Lane) {
    let qos = QoSWord.ofThread
    var waiter = WaiterNode(flags: reads ? [] : .barrier, qos: qos, thread: me)
    _withUnprotectedUnsafeMutablePointer(to: &waiter) { waiter in
      let urgency = Urgency.of(qos.band)
      if items.push(.init(waiter)) {
        switch state.update({ $0.join(me, urgency: urgency, barrier: !reads) }) {
        case .owns: if takeOwnTurn(Job(raw: .init(waiter)), reads) { return }
        case .waits(let call): answer(call)
        }
      } else {
        // relaxed: a hint; `overtake` decides.
        if state.load(ordering: .relaxed).urgency < urgency { overtake(urgency) }
      }
      waiter.pointee.wait(for: self, below: caller)
    }
  }

  /// The lane was free after all: the caller owns it, and its own node is the first of the list.
  ///
  /// - Returns: false if the lane is given up, and the caller waits for its turn.
  private final func takeOwnTurn(_ own: Job, _ reads: Bool) -> Bool {
    if !reads {
      guard let job = first() else { Fault.bug("a lane lost its first waiter: " + decodedState) }
      if job == own {
        takeSlow(job)
        return true
      }
    }
    // The owner's walk along the list admits a reader, and readers behind it. A workloop prefers something more urgent.
    releaseOwnership()
    return false
  }

  /// Gives back what `beginSync` took.
  @usableFromInline
  @inline(never)
  final func endSync(_ context: UnsafeMutablePointer<QueueContext>) {
    if Recorder.isOn { return endSyncRecorded(context) }
    endSyncUnseen(context)
  }

  @inline(__always)
  final func endSyncUnseen(_ context: UnsafeMutablePointer<QueueContext>) {
    QueueContext.pop(context)
    // Apart from the rest, which needs registers saved; a thread that holds a lane has an id.
    let me = gc_thread_self().pointee.tid
    switch context.pointee.hold {
    case .alone where kind.hasReaders:
      if state.exchange(LaneState(concurrentOwner: me), for: LaneState(rawValue: LaneState.concurrent)) { return }
    case .alone:
      if state.exchange(LaneState(owner: me), for: LaneState(rawValue: 0)) { return }
    case .reader:
      state.prepareUpdate()
      if state.attempt({ $0.leaveReadUnawaited() }) != nil { return }
    default: break
    }
    endSyncOther(context)
  }

  @inline(never)
  private final func endSyncOther(_ context: UnsafeMutablePointer<QueueContext>) {
    switch context.pointee.hold {
    case .alone: releaseOwnership()
    case .chain:
      releaseTargets(context)
      if !tryDisown(Thread.id) { releaseOwnership() }
    case .chainReader:
      releaseTargets(context)
      leaveRead()
    case .reader: leaveRead()
    case .nothing, .global: break
    }
  }

  /// Gives back the lanes that `holdTargets` has noted, the uppermost first.
  private final func releaseTargets(_ context: UnsafeMutablePointer<QueueContext>) {
    while let target = context.pointee.targets.pop() {
      // unsafe: HeldTargets.I2.
      target.use { target in
        if target.kind.hasReaders {
          target.leaveRead()
        } else if !target.tryDisown(Thread.id) {
          target.releaseOwnership()
        }
      }
    }
  }

  var decodedState: String {
    let state = state.load()
    var text = "\"" + name + "\" owner " + String(state.owner) + ", readers " + String(state.readers)
    if state.has(LaneState.enqueued) { text += ", enqueued" }
    if state.has(LaneState.dirty) { text += ", dirty" }
    if state.has(LaneState.barrierPending) { text += ", barrier pending" }
    if state.has(LaneState.suspended) { text += ", suspended" }
    if state.has(LaneState.inactive) { text += ", inactive" }
    if state.has(LaneState.sentMask) { text += ", sent " + String(state.rawValue >> 56, radix: 2) }
    return text + ", urgency " + String(state.urgency)
  }
}
