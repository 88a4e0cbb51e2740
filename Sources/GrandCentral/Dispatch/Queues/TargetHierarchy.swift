// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// Targets. A lane's target changes only while the lane is owned with nobody reading, so whoever runs one of its items
// sees a chain that stands still; walks along other lanes' chains take the hierarchy's lock.
//
// A pusher that sends a lane through its target does not hold the lane. Most lanes keep their first target for life, so
// that one is kept until the lane dies, and may be used without a lock; a lane whose target has changed says so in its
// state (`retargeted`), and its target is then read and retained under the hierarchy's lock.
extension DispatchQueue {
  private static let hierarchy = Lock()

  /// Nobody may be changing targets while the process forks.
  static func holdHierarchy(_ hold: Bool) { hold ? hierarchy.lock() : hierarchy.unlock() }

  /// Makes this queue's items run as items of `queue`; nil stands for the global queue of the queue's own class.
  ///
  /// On an active queue the change is itself an item: pending items still run on the old target, later ones on the new
  /// one. A chain that would come back to this queue traps (GC0009); global queues and the main queue have no target to
  /// set (GC0010).
  ///
  /// Blocking: never.
  final func retarget(to queue: DispatchQueue?) {
    if kind == .global || kind == .main { faultImmutableTarget() }
    let target = queue ?? GlobalQueues.root(for: ownQoS)
    if kind == .workloop { DispatchQueue.checkWorkloopTarget(name, target) }
    checkCycle(target)
    // relaxed: an inactive queue is set up by one thread.
    if state.load(ordering: .relaxed).has(LaneState.inactive) {
      applyTarget(target)
      return
    }
    // relaxed: a hint for the band.
    let band = QoSWord(rawValue: baseQoS.load(ordering: .relaxed)).band
    let job = Job(invoke: DispatchQueue.retarget, flags: [.barrier, .retarget], band: band)
    job.owner = Unmanaged.passUnretained(self).toOpaque()
    job.extra = Unmanaged.passRetained(target).toOpaque()
    push(job)
  }

  private static let retarget: Job.Invoke = { raw in
    let job = Job(raw: raw)
    // unsafe: the lane is being drained, so it is alive; the new target was retained for this job.
    let lane = Unmanaged<DispatchQueue>.fromOpaque(job.owner!).takeUnretainedValue()
    let target = Unmanaged<DispatchQueue>.fromOpaque(job.extra!).takeRetainedValue()
    job.recycle()
    lane.checkCycle(target)
    lane.applyTarget(target)
  }

  /// Owner, with nobody reading; or the only user of an inactive queue.
  private final func applyTarget(_ new: DispatchQueue) {
    Self.hierarchy.lock()
    let roles = Self.roles(kind, new)
    state.update { state in
      state.clear(LaneState.roles)
      state.rawValue |= roles | LaneState.retargeted
    }
    // relaxed: a hint for where to queue.
    baseQoS.store(Self.base(ownQoS, new).merged(with: floor).rawValue, ordering: .relaxed)
    // pairs with: targetPointer – publishes the new target
    let old = target.exchange(Unmanaged.passRetained(new).toOpaque(), ordering: .acquiringAndReleasing)
    Self.hierarchy.unlock()
    let former = old.map { Unmanaged<DispatchQueue>.fromOpaque($0).takeRetainedValue() }
    let extras = readyExtras
    extras.lock.lock()
    if extras.firstTarget == nil { extras.firstTarget = former }
    extras.lock.unlock()
    withExtendedLifetime(former) {}
  }

  /// The least that the queue's items are worth.
  final var floor: QoSWord {
    extrasReference?._withUnsafeGuaranteedRef { extras in extras.lock.withLock { extras.floor } } ?? .unspecified
  }

  /// Items are worth `floor` at least. For queues that are not active yet.
  final func setFloor(_ floor: QoSWord) {
    let extras = readyExtras
    extras.lock.withLock { extras.floor = floor }
    // relaxed: a hint for where to queue.
    baseQoS.store(QoSWord(rawValue: baseQoS.load(ordering: .relaxed)).merged(with: floor).rawValue, ordering: .relaxed)
  }

  /// Runs `body` with the target, which stays alive meanwhile; for callers that do not hold the lane.
  @inline(__always)
  final func withTarget(_ body: (DispatchQueue) -> Void) {
    // pairs with: applyTarget – publishes that the target has changed
    if state.load().has(LaneState.retargeted) { return withTargetSlow(body) }
    // unsafe: the first target is kept until the lane dies, and the caller keeps the lane.
    Unmanaged<DispatchQueue>.fromOpaque(targetPointer!)._withUnsafeGuaranteedRef(body)
  }

  @inline(never)
  private final func withTargetSlow(_ body: (DispatchQueue) -> Void) {
    Self.hierarchy.lock()
    let target = targetQueue!
    Self.hierarchy.unlock()
    body(target)
  }

  private final func checkCycle(_ target: DispatchQueue) {
    Self.hierarchy.lock()
    defer { Self.hierarchy.unlock() }
    var link: DispatchQueue? = target
    while let queue = link {
      if queue === self { faultTargetCycle(target) }
      link = queue.targetQueue
    }
  }

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
