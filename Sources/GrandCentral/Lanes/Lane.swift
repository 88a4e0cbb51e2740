// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

@usableFromInline
typealias Lane = DispatchObject.Lane

extension DispatchObject {
  // A list of items; the word that says which thread may touch it; and the target, which runs them as its own items.
  // `LaneState` has the invariants. Lane+Enqueue is the submitter's side, Lane+Drain the owner's, Lane+Sync that of the caller
  // that waits, Lane+Target the hierarchy's, Lane+Suspend the suspender's.
  //
  // Every lane is a `DispatchQueue`, which adds the public functions and no field: one object, one allocation, and no load
  // between a queue and its lane. Decision 0024 has what was rejected. A global queue is the same class and uses no more of
  // it than its name and its kind: `Kind.runQueue`.

  /// What a queue is made of. It has no public members.
  @_documentation(visibility: internal)
  public class Lane: DispatchObject, @unchecked Sendable {  // fields are immutable or atomic; items by Lane.L1
    // What pushers and the drainer read for each item comes first, the list's tail, which pushers change for each item, behind the name:
    // as far away as it can be, and yet 64 bytes before the state of the queue that lies behind this one in memory. `LaneLayoutTests`.
    let state: AtomicState<LaneState>
    /// Written as Targets.I1 says: a `TargetWord`, which owns a reference; 0 for global queues and the main queue. Where a source has its
    /// target, too: see `dispatch_queue_offsets`.
    let target: Atomic<UInt>
    /// What this queue was created with.
    let ownQoS: QoSWord
    let kind: Kind
    /// What the program recorded at creation. It means nothing to the lane.
    let annotation: UInt8
    /// The QoS of items that are given none, see `base`.
    let baseQoS: Atomic<UInt16>
    /// How many items may run at once; the largest number stands for no limit. See Lane+Width. Tools of the C interface
    /// look for it, see `dispatch_queue_offsets`.
    let width: Atomic<UInt16>
    /// A workloop's items by urgency; the owner's alone (Lane.L1).
    let buckets: UnsafeMutablePointer<PriorityBuckets>?
    /// Constant, except for `dispatch_queue_set_label_nocopy`, which comes before other threads use the queue.
    @exclusivity(unchecked) final var queueName: QueueName
    /// The items, oldest first. Every thread may push; the owner alone takes items off (Lane.L1).
    let items = MPSCList()
    /// The queue's number in the insight region: see `insightNumber`. Behind everything else, where it moves nothing.
    let insight = InsightNumber()

    /// - Parameter target: The caller gives the lane a reference to it after this call, by `Owned.give`. So the compiler can
    ///   move the reference that the caller has.
    @inline(__always)
    init(
      kind: Kind, name: QueueName, qos: QoSWord, target: Borrowed<Lane>?, inactive: Bool, annotation: UInt8
    ) {
      self.kind = kind
      queueName = name
      ownQoS = qos
      self.annotation = annotation
      var initial = LaneState(rawValue: kind.roles)
      if let target, target.use({ !$0.kind.isRunQueue }) { initial.rawValue |= LaneState.nested }
      if inactive { initial.rawValue |= LaneState.inactive }
      state = AtomicState(initial)
      baseQoS = Atomic(Lane.base(qos, .unspecified, target).rawValue)
      width = Atomic(kind.width)
      if kind.sortsItems {
        // unsafe: freed in deinit.
        let buckets = UnsafeMutablePointer<PriorityBuckets>.allocate(capacity: 1)
        buckets.initialize(to: PriorityBuckets())
        self.buckets = buckets
      } else {
        buckets = nil
      }
      // Targets.I3
      let isLasting = !inactive || target?.use { $0.kind.isBuiltIn } ?? true
      self.target = Atomic(TargetWord(target, isLasting: isLasting).rawValue)
      super.init()
      if inactive || Recorder.numbersObjects { _ = insightNumber }
    }

    deinit {
      if insight.isGiven { insight.end() }
      // relaxed: the last reference is gone, and its release has ordered everything before. The same holds for the loads
      // below.
      let last = state.load(ordering: .relaxed)
      if last.has(LaneState.halted | LaneState.ownerMask | LaneState.readerMask) { checkRelease(last) }
      if let target = TargetWord(rawValue: target.load(ordering: .relaxed)).lane {
        if let lastContext { target.use { lastContext.finalize(on: $0) } }
        Farewell.release(Owned(word: target.word))
      }
      if let first = takeFirstTarget() { Farewell.release(Owned(first)) }
      buckets?.deinitialize(count: 1)
      buckets?.deallocate()
      queueName.free()
    }

    /// Takes in an item of a lane that counts: `Kind.counted`, for the subclass that does it.
    func enqueueCounted(_ job: Job) { pushSlow(job) }

    /// What stands for an activation of `Kind.main`, for the subclass that knows the main thread's loop.
    func callMainThread() {}

    /// Of `Kind.main`: whether the calling thread is the one that runs the items.
    var isOnMainThread: Bool { false }

    @inline(__always)
    final var targetWord: TargetWord {
      // pairs with: replaceTarget – publishes the new target
      TargetWord(rawValue: target.load(ordering: .acquiring))
    }

    /// The name given at creation, for messages.
    final var name: String { queueName.text }
  }
}
