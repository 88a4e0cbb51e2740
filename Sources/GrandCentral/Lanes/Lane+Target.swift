// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Changing a lane's target.
//
// Targets.I1  A lane's target is replaced by the lane's owner while no thread reads, or while the lane is inactive; always
//     under the hierarchy's lock. So a thread that holds a lane, as owner or reader, sees a target that stands still, and a
//     thread that holds the hierarchy's lock sees all targets stand still.
// Targets.I2  The check that a new target closes no cycle and the replacement are one critical section.
// Targets.I3  A target that a pusher may use without a reference (`TargetWord.isLasting`) lives as long as the lane. It is
//     immortal, or it is the first of the program's queues that the active lane has had as its target: that one is kept.
// Targets.I4  Nothing about a lane is copied to the lanes below it. What depends on the chain (does it end at the main queue,
//     what QoS does it confer, which thread holds it) is looked up when it is needed, along the chain as it is.
//
// Decision 0006 has the reasons.
extension Lane {
  private static let hierarchy = ProcessLock()

  /// No thread may be changing targets while the process forks.
  static func holdHierarchy(_ hold: Bool) { hold ? hierarchy.lock() : hierarchy.unlock() }

  /// Makes this lane's items run as items of `target`.
  ///
  /// On an idle lane the change takes place at once. Otherwise it is an item: pending items still run on the old target, later
  /// ones on the new one. A chain that would come back to this lane traps (GC0009); global queues and the main queue have no
  /// target to set (GC0010).
  @_optimize(size)
  final func moveBelow(_ target: Lane) {
    if kind.isBuiltIn { faultImmutableTarget() }
    if kind.sortsItems { Lane.checkWorkloopTarget(name, target) }
    if retargetInactive(target) || retargetIdle(target) { return }
    // Checked here rather than later, so that the backtrace shows the caller.
    if target.find({ $0 === self ? true : nil }) != nil { faultTargetCycle(target) }
    let job = Job(invoke: Lane.retarget, flags: [.barrier, .retarget], band: base.band)
    job.owner = reference.word
    job.extra = Owned(target).intoWord()
    pushSlow(job)
  }

  /// Whether the queue is inactive, and has the new target now. Activation takes the lock as well.
  @_optimize(size)
  private final func retargetInactive(_ target: Lane) -> Bool {
    // relaxed: looked at again under the lock; set at creation, and cleared once.
    if !state.load(ordering: .relaxed).has(LaneState.inactive) { return false }
    Self.hierarchy.lock()
    // relaxed: cleared under the lock.
    let isInactive = state.load(ordering: .relaxed).has(LaneState.inactive)
    let outcome = isInactive ? replaceTarget(target, isInactive: true) : .replaced(nil)
    Self.hierarchy.unlock()
    settle(outcome, target)
    return isInactive
  }

  /// Whether the queue was idle, and has the new target now.
  @_optimize(size)
  private final func retargetIdle(_ target: Lane) -> Bool {
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
    let lane = Borrowed<Lane>(word: job.owner!).object
    let target = Owned<Lane>(word: job.extra!).take()
    job.recycle()
    hierarchy.lock()
    let outcome = lane.replaceTarget(target)
    hierarchy.unlock()
    lane.settle(outcome, target)
  }

  private enum Replacement {
    /// The caller now owns a reference to the former target, and releases it outside of the lock.
    case replaced(Borrowed<Lane>?)
    /// Nothing was changed.
    case wouldCloseCycle
  }

  /// Targets.I1, Targets.I2: the caller holds the hierarchy's lock, and either owns the lane while no thread reads, or the
  /// lane is inactive.
  @_optimize(size)
  private final func replaceTarget(_ new: Lane, isInactive: Bool = false) -> Replacement {
    if new.findWhileTargetsStand({ $0 === self ? true : nil }) != nil { return .wouldCloseCycle }
    let former = targetWord
    let isLasting = isInactive ? new.kind.isBuiltIn : keepFirst(former, before: new)
    let isNested = !new.kind.isRunQueue
    state.update { $0.moveAway(nested: isNested) }
    // relaxed: a hint for where to queue.
    baseQoS.store(Self.base(ownQoS, floor, new.reference).rawValue, ordering: .relaxed)
    // pairs with: targetWord – publishes the new target
    target.store(TargetWord(Owned(new).give(), isLasting: isLasting).rawValue, ordering: .releasing)
    return .replaced(former.lane)
  }

  /// Targets.I3: makes sure that the first of the program's queues that was the lane's target is kept. Under the lock.
  ///
  /// - Returns: whether `new` lives as long as the lane.
  @_optimize(size)
  private final func keepFirst(_ former: TargetWord, before new: Lane) -> Bool {
    var first = extrasReference?.use { $0.firstTarget }
    if first == nil, let queue = former.lane?.object, !queue.kind.isBuiltIn {
      readyExtras.firstTarget = queue
      first = queue
    }
    return new.kind.isBuiltIn || first == nil || first === new
  }

  /// Targets.I3: the lane becomes active, and its target is the first one. Under the lock.
  final func keepTarget() {
    let word = targetWord
    if word.isLasting { return }
    // pairs with: targetWord – publishes the target
    target.store(TargetWord(word.lane, isLasting: true).rawValue, ordering: .releasing)
  }

  /// For `deinit`: what Targets.I3 has kept.
  final func takeFirstTarget() -> Lane? {
    guard let extras = extrasReference else { return nil }
    return extras.use { extras in
      guard let first = extras.firstTarget else { return nil }
      extras.firstTarget = nil
      return first
    }
  }

  @_optimize(size)
  private final func settle(_ outcome: Replacement, _ target: Lane) {
    switch outcome {
    case .replaced(let former):
      if InsightRegion.memory != nil { noteTarget(target) }
      if let former { former.giveBack() }
    case .wouldCloseCycle: faultTargetCycle(target)
    }
  }

  // MARK: Looking along a chain

  /// What `look` finds on this lane, or on the first lane above it where it finds something. For callers that do not hold the
  /// lane: the chain may have changed when it returns. `look` may see a lane twice.
  final func find<Found>(_ look: (Lane) -> Found?) -> Found? {
    var link = reference
    while true {
      // unsafe: Targets.I3: the caller keeps this lane, and each lane keeps its lasting target.
      if let found = link.use(look) { return found }
      let above = link.use { $0.targetWord }
      guard let next = above.lane else { return nil }
      if !above.isLasting { return link.use { $0.findUnderLock(look) } }
      link = next
    }
  }

  @inline(never)
  private final func findUnderLock<Found>(_ look: (Lane) -> Found?) -> Found? {
    Self.hierarchy.lock()
    defer { Self.hierarchy.unlock() }
    return findWhileTargetsStand(look)
  }

  private final func findWhileTargetsStand<Found>(_ look: (Lane) -> Found?) -> Found? {
    var link: Borrowed<Lane>? = reference
    while let lane = link {
      // unsafe: Targets.I1, and each lane owns a reference to its target.
      if let found = lane.use(look) { return found }
      link = lane.use { $0.targetWord.lane }
    }
    return nil
  }

  /// Runs `body` with the target, which stays alive meanwhile; for callers that do not hold the lane.
  @inline(__always)
  final func withTarget(_ body: (Lane) -> Void) {
    let word = targetWord
    if !word.isLasting { return withTargetSlow(body) }
    // unsafe: Targets.I3, and the caller keeps the lane.
    word.lane.unsafelyUnwrapped.use(body)
  }

  @inline(never)
  private final func withTargetSlow(_ body: (Lane) -> Void) {
    Self.hierarchy.lock()
    // unsafe: Targets.I1.
    let target = Owned(targetWord.lane!.object)
    // The compiler does not move the retain behind a call of C.
    gc_prefetch(target.borrowed.word)
    Self.hierarchy.unlock()
    target.use(body)
    target.release()
  }

  // MARK: What a chain confers

  static func base(_ own: QoSWord, _ floor: QoSWord, _ target: Borrowed<Lane>?) -> QoSWord {
    if !own.isUnspecified { return own.merged(with: floor) }
    guard let target else { return floor }
    let (isRunQueue, qos) = target.use { ($0.kind.isRunQueue, $0.ownQoS) }
    if !isRunQueue { return .inherited }
    return qos == .default ? floor : qos.merged(with: floor)
  }

  /// The QoS of items that are given none; unspecified stands for the submitter's.
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

  /// The lowest QoS of the queue's own items.
  final var floor: QoSWord {
    // relaxed: a hint for where to queue.
    extrasReference?.use { QoSWord(rawValue: $0.floor.load(ordering: .relaxed)) } ?? .unspecified
  }

  /// Items get the QoS `floor` at least. For queues that are not active yet.
  final func setFloor(_ floor: QoSWord) {
    Self.hierarchy.lock()
    // relaxed: a hint for where to queue, like the base.
    readyExtras.floor.store(floor.rawValue, ordering: .relaxed)
    let target = targetWord.lane
    baseQoS.store(Self.base(ownQoS, floor, target).rawValue, ordering: .relaxed)
    Self.hierarchy.unlock()
  }

  // MARK: Misuse

  @inline(never)
  @_optimize(size)
  private final func faultTargetCycle(_ target: Lane) -> Never {
    Fault.misuse(
      .targetCycle,
      "setTarget on \"" + name + "\" with target \"" + target.name + "\" would close a cycle: that queue already runs "
        + "its items on \"" + name + "\". Choose a target outside the queue's own hierarchy.")
  }

  /// A workloop decides by itself what runs next, so it stands directly on a global queue.
  @_optimize(size)
  static func checkWorkloopTarget(_ name: String, _ target: Lane) {
    if target.kind.isRunQueue { return }
    Fault.misuse(
      .invalidTargetForWorkloop,
      "the workloop \"" + name + "\" was given the target \"" + target.name + "\"; a workloop can only target a global "
        + "queue. Pass DispatchQueue.global(qos:), or target the workloop from your queue instead.")
  }

  @inline(never)
  @_optimize(size)
  private final func faultImmutableTarget() -> Never {
    Fault.misuse(
      .setTargetOnActiveRoot,
      "setTarget on \"" + name + "\": the target of a global queue or of the main queue cannot be changed. Create a "
        + "queue of your own with the target you want.")
  }
}
