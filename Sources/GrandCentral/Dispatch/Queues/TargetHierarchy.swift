// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Changing a lane's target.
//
// Targets.I1  A lane's target is replaced by the lane's owner while nobody reads, or while the lane is inactive; always
//     under the hierarchy's lock. So a thread that holds a lane, as owner or reader, sees a target that stands still,
//     and a thread that holds the hierarchy's lock sees all targets stand still.
// Targets.I2  The check that a new target closes no cycle and the replacement are one critical section.
// Targets.I3  A target that a pusher may use without a reference (`TargetWord.isLasting`) lives as long as the lane: it
//     is immortal, or the first queue of the program's that the lane has had as its target, which is kept.
// Targets.I4  Nothing about a lane is copied to the lanes below it. What depends on the chain (does it end at the main
//     queue, what QoS does it confer, who holds it) is looked up when it is needed, along the chain as it is.
//
// Decision 0006 has the reasons.
extension DispatchQueue {
  private static let hierarchy = Lock()

  /// Nobody may be changing targets while the process forks.
  static func holdHierarchy(_ hold: Bool) { hold ? hierarchy.lock() : hierarchy.unlock() }

  /// Makes this queue's items run as items of `queue`; nil stands for the global queue of the queue's own class.
  ///
  /// On an idle queue the change takes place at once; else it is an item: pending items still run on the old target,
  /// later ones on the new one. A chain that would come back to this queue traps (GC0009); global queues and the main
  /// queue have no target to set (GC0010).
  ///
  /// Blocking: never.
  final func retarget(to queue: DispatchQueue?) {
    if kind == .global || kind == .main { faultImmutableTarget() }
    let target = queue ?? GlobalQueues.root(for: ownQoS)
    if kind == .workloop { DispatchQueue.checkWorkloopTarget(name, target) }
    if retargetInactive(target) || retargetIdle(target) { return }
    // Found here rather than later, the backtrace shows the caller.
    if target.find({ $0 === self ? true : nil }) != nil { faultTargetCycle(target) }
    let job = Job(invoke: DispatchQueue.retarget, flags: [.barrier, .retarget], band: base.band)
    job.owner = Unmanaged.passUnretained(self).toOpaque()
    job.extra = Unmanaged.passRetained(target).toOpaque()
    push(job)
  }

  /// Whether the queue is inactive, and has the new target now. Activation takes the lock as well.
  private final func retargetInactive(_ target: DispatchQueue) -> Bool {
    // relaxed: looked at again under the lock; set at creation, and cleared once.
    if !state.load(ordering: .relaxed).has(LaneState.inactive) { return false }
    Self.hierarchy.lock()
    // relaxed: cleared under the lock.
    let isInactive = state.load(ordering: .relaxed).has(LaneState.inactive)
    let outcome = isInactive ? replaceTarget(target) : .replaced(nil)
    Self.hierarchy.unlock()
    settle(outcome, target)
    return isInactive
  }

  /// Whether the queue was idle, and has the new target now.
  private final func retargetIdle(_ target: DispatchQueue) -> Bool {
    let me = Thread.id
    if !items.tailIsNil || state.attempt({ $0.acquire(me) ? true : nil }) == nil { return false }
    Self.hierarchy.lock()
    let outcome = replaceTarget(target)
    Self.hierarchy.unlock()
    releaseOwnership()
    settle(outcome, target)
    return true
  }

  private static let retarget: Job.Invoke = { raw in
    let job = Job(raw: raw)
    // unsafe: the lane is being drained, so it is alive; the new target was retained for this job.
    let lane = Unmanaged<DispatchQueue>.fromOpaque(job.owner!).takeUnretainedValue()
    let target = Unmanaged<DispatchQueue>.fromOpaque(job.extra!).takeRetainedValue()
    job.recycle()
    hierarchy.lock()
    let outcome = lane.replaceTarget(target)
    hierarchy.unlock()
    lane.settle(outcome, target)
  }

  private enum Replacement {
    /// The caller now owns a reference to the former target, and lets it go outside of the lock.
    case replaced(Unmanaged<DispatchQueue>?)
    /// Nothing was changed.
    case wouldCloseCycle
  }

  /// Targets.I1, Targets.I2: the caller holds the hierarchy's lock, and owns the lane with nobody reading, or the lane
  /// is inactive.
  private final func replaceTarget(_ new: DispatchQueue) -> Replacement {
    if new.findWhileTargetsStand({ $0 === self ? true : nil }) != nil { return .wouldCloseCycle }
    let former = targetWord
    let isLasting = keepFirst(former, before: new)
    let isNested = new.kind != .global
    state.update { $0.moveAway(nested: isNested) }
    // relaxed: a hint for where to queue.
    baseQoS.store(Self.base(ownQoS, floor, new).rawValue, ordering: .relaxed)
    // pairs with: targetWord – publishes the new target
    target.store(TargetWord(Unmanaged.passRetained(new), isLasting: isLasting).rawValue, ordering: .releasing)
    return .replaced(former.queue)
  }

  /// Targets.I3: sees to it that the first queue of the program's that is the lane's target is kept. Under the lock.
  ///
  /// - Returns: whether `new` lives as long as the lane.
  private final func keepFirst(_ former: TargetWord, before new: DispatchQueue) -> Bool {
    var first = extrasReference?._withUnsafeGuaranteedRef { $0.firstTarget }
    if first == nil, let queue = former.queue?.takeUnretainedValue(), !queue.isImmortal {
      readyExtras.firstTarget = queue
      first = queue
    }
    return new.isImmortal || first == nil || first === new
  }

  /// For `deinit`: what Targets.I3 has kept.
  final func takeFirstTarget() -> Unmanaged<DispatchQueue>? {
    guard let extras = extrasReference else { return nil }
    return extras._withUnsafeGuaranteedRef { extras in
      guard let first = extras.firstTarget else { return nil }
      let reference = Unmanaged.passRetained(first)
      extras.firstTarget = nil
      return reference
    }
  }

  private final func settle(_ outcome: Replacement, _ target: DispatchQueue) {
    switch outcome {
    case .replaced(let former): former?.release()
    case .wouldCloseCycle: faultTargetCycle(target)
    }
  }

  private final var isImmortal: Bool { kind == .global || kind == .main }

  // MARK: Looking along a chain

  /// What `look` finds on this lane or on the first lane above it where it finds something. For callers that do not hold
  /// the lane; the chain may have changed when it returns. `look` may see a lane twice.
  final func find<Found>(_ look: (DispatchQueue) -> Found?) -> Found? {
    var link = Unmanaged.passUnretained(self)
    while true {
      // unsafe: Targets.I3: the caller keeps this lane, and each lane keeps its lasting target.
      if let found = link._withUnsafeGuaranteedRef(look) { return found }
      let above = link._withUnsafeGuaranteedRef { $0.targetWord }
      guard let next = above.queue else { return nil }
      if !above.isLasting { return link._withUnsafeGuaranteedRef { $0.findUnderLock(look) } }
      link = next
    }
  }

  @inline(never)
  private final func findUnderLock<Found>(_ look: (DispatchQueue) -> Found?) -> Found? {
    Self.hierarchy.lock()
    defer { Self.hierarchy.unlock() }
    return findWhileTargetsStand(look)
  }

  private final func findWhileTargetsStand<Found>(_ look: (DispatchQueue) -> Found?) -> Found? {
    var link: Unmanaged<DispatchQueue>? = Unmanaged.passUnretained(self)
    while let lane = link {
      // unsafe: Targets.I1, and each lane owns a reference to its target.
      if let found = lane._withUnsafeGuaranteedRef(look) { return found }
      link = lane._withUnsafeGuaranteedRef { $0.targetWord.queue }
    }
    return nil
  }

  /// Runs `body` with the target, which stays alive meanwhile; for callers that do not hold the lane.
  @inline(__always)
  final func withTarget(_ body: (DispatchQueue) -> Void) {
    let word = targetWord
    if !word.isLasting { return withTargetSlow(body) }
    // unsafe: Targets.I3, and the caller keeps the lane.
    word.queue.unsafelyUnwrapped._withUnsafeGuaranteedRef(body)
  }

  @inline(never)
  private final func withTargetSlow(_ body: (DispatchQueue) -> Void) {
    Self.hierarchy.lock()
    // unsafe: Targets.I1.
    let target = targetWord.queue!.retain()
    // A call of C, which the compiler does not move the retain behind.
    gc_prefetch(target.toOpaque())
    Self.hierarchy.unlock()
    target._withUnsafeGuaranteedRef(body)
    target.release()
  }

  // MARK: What a chain confers

  static func base(_ own: QoSWord, _ floor: QoSWord, _ target: DispatchQueue?) -> QoSWord {
    if !own.isUnspecified { return own.merged(with: floor) }
    guard let target, target !== GlobalQueues.default else { return floor }
    return target.kind == .global ? target.ownQoS.merged(with: floor) : .inherited
  }

  /// The QoS of items for which none is given; unspecified stands for the submitter's.
  @inline(__always)
  final var base: QoSWord {
    // relaxed: a hint for where to queue.
    let known = QoSWord(rawValue: baseQoS.load(ordering: .relaxed))
    return known == .inherited ? inheritedBase() : known
  }

  /// Targets.I4: the nearest target that has a QoS decides.
  @inline(never)
  private final func inheritedBase() -> QoSWord {
    var base = QoSWord.unspecified
    _ = find { lane -> Bool? in
      // relaxed: a hint for where to queue.
      let known = QoSWord(rawValue: lane.baseQoS.load(ordering: .relaxed))
      base = base.merged(with: known == .inherited ? lane.floor : known)
      return known == .inherited ? nil : true
    }
    return base
  }

  /// The least that the queue's own items are worth.
  final var floor: QoSWord {
    // relaxed: a hint for where to queue.
    extrasReference?._withUnsafeGuaranteedRef { QoSWord(rawValue: $0.floor.load(ordering: .relaxed)) } ?? .unspecified
  }

  /// Items are worth `floor` at least. For queues that are not active yet.
  final func setFloor(_ floor: QoSWord) {
    Self.hierarchy.lock()
    // relaxed: a hint for where to queue, like the base.
    readyExtras.floor.store(floor.rawValue, ordering: .relaxed)
    let target = targetWord.queue?.takeUnretainedValue()
    baseQoS.store(Self.base(ownQoS, floor, target).rawValue, ordering: .relaxed)
    Self.hierarchy.unlock()
  }

  // MARK: Misuse

  @inline(never)
  private final func faultTargetCycle(_ target: DispatchQueue) -> Never {
    Fault.misuse(
      .targetCycle,
      "setTarget on \"" + name + "\" with target \"" + target.name + "\" would close a cycle: that queue already runs "
        + "its items on \"" + name + "\". Choose a target outside the queue's own hierarchy.")
  }

  /// A workloop decides by itself what runs next, so it stands directly on a global queue.
  static func checkWorkloopTarget(_ name: String, _ target: DispatchQueue) {
    if target.kind == .global { return }
    Fault.misuse(
      .invalidTargetForWorkloop,
      "the workloop \"" + name + "\" was given the target \"" + target.name + "\"; a workloop can only target a global "
        + "queue. Pass DispatchQueue.global(qos:), or target the workloop from your queue instead.")
  }

  @inline(never)
  private final func faultImmutableTarget() -> Never {
    Fault.misuse(
      .setTargetOnActiveRoot,
      "setTarget on \"" + name + "\": the target of a global queue or of the main queue cannot be changed. Create a "
        + "queue of your own with the target you want.")
  }
}
