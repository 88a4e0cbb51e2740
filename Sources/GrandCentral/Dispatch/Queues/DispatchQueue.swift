// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// An ordered place for work: items are dequeued first in, first out, and run on threads of a shared pool.
///
/// A *serial* queue runs one item at a time; a *concurrent* queue runs several, and honours barriers; *global* queues
/// are concurrent, one per quality of service; the *main* queue runs its items on the main thread.
///
/// ```swift
/// let queue = DispatchQueue(label: "com.example.store")
/// queue.async { save(document) }
/// let count = queue.sync { store.count }
/// ```
///
/// Difference from libdispatch: `sync` takes typed throws and boxes nothing; a `sync` that would deadlock traps at once
/// and says why (GC0007); the main queue stays on the main thread.
public class DispatchQueue: DispatchObject, @unchecked Sendable {  // fields are immutable or atomic; items by Lane.L1
  enum Kind: UInt8 {
    case serial
    /// Serial, with figures: `PooledQueue`.
    case pooled
    case concurrent
    case workloop
    case main
    case global

    /// Whether it is a plain serial lane.
    @inline(__always) var isSerial: Bool { rawValue <= Kind.pooled.rawValue }
  }

  // The word that syncers change comes first, the list's tail, which pushers change, last: 64 bytes apart, so that a
  // pusher and the drainer do not fight over one cache line.
  let state: AtomicState<LaneState>
  /// Written as Targets.I1 says: a `TargetWord`, which owns a reference; 0 for global queues and the main queue.
  let target: Atomic<UInt>
  /// Constant, but for `dispatch_queue_set_label_nocopy`, which comes before others use the queue.
  @exclusivity(unchecked) var queueName: QueueName
  /// What this queue was created with.
  let ownQoS: QoSWord
  let kind: Kind
  /// The attributes' autorelease frequency; recorded, without effect on Linux.
  let autoreleaseFrequency: AutoreleaseFrequency
  /// The QoS of items for which none is given, see `base`.
  let baseQoS: Atomic<UInt16>
  /// How many items may run at once; the largest number stands for no limit. See DispatchQueue+Width. Tools of the C
  /// interface look for it, see `dispatch_queue_offsets`.
  let width: Atomic<UInt16>
  /// A workloop's items by urgency; the owner's alone (Lane.L1).
  let buckets: UnsafeMutablePointer<PriorityBuckets>?
  /// By Lane.L1.
  let items = MPSCList()

  init(
    kind: Kind, name: QueueName, qos: QoSWord, target: DispatchQueue?, inactive: Bool = false,
    autoreleaseFrequency: AutoreleaseFrequency = .inherit
  ) {
    self.kind = kind
    queueName = name
    ownQoS = qos
    self.autoreleaseFrequency = autoreleaseFrequency
    var initial = LaneState(rawValue: Self.roles(kind, target))
    if inactive { initial.rawValue |= LaneState.inactive }
    state = AtomicState(initial)
    baseQoS = Atomic(Self.base(qos, .unspecified, target).rawValue)
    width = Atomic(kind == .concurrent || kind == .global ? .max : 1)
    if kind == .workloop {
      // unsafe: freed in deinit.
      let buckets = UnsafeMutablePointer<PriorityBuckets>.allocate(capacity: 1)
      buckets.initialize(to: PriorityBuckets())
      self.buckets = buckets
    } else {
      buckets = nil
    }
    self.target = Atomic(TargetWord(target.map { Unmanaged.passRetained($0) }, isLasting: true).rawValue)
    super.init()
  }

  deinit {
    // relaxed: the last reference is gone, and its release has ordered everything before.
    let last = state.load(ordering: .relaxed)
    if last.has(LaneState.suspended) { faultReleasedWhileSuspended() }
    if last.has(LaneState.inactive), !items.tailIsNil { faultReleasedWhileInactive() }
    if let target = TargetWord(rawValue: target.load(ordering: .relaxed)).queue {
      if let lastContext { target._withUnsafeGuaranteedRef { lastContext.finalize(on: $0) } }
      Farewell.release(target)
    }
    if let first = takeFirstTarget() { Farewell.release(first) }
    buckets?.deinitialize(count: 1)
    buckets?.deallocate()
    queueName.free()
  }

  static func roles(_ kind: Kind, _ target: DispatchQueue?) -> UInt64 {
    let own: UInt64 = kind == .concurrent ? LaneState.concurrent : kind == .main ? LaneState.threadBound : 0
    guard let target, target.kind != .global else { return own }
    return own | LaneState.nested
  }

  @inline(__always)
  final var targetWord: TargetWord {
    // pairs with: replaceTarget – publishes the new target
    TargetWord(rawValue: target.load(ordering: .acquiring))
  }

  /// The target, unretained; for callers that hold the lane.
  @inline(__always)
  final var targetPointer: UnsafeMutableRawPointer? { targetWord.pointer }

  /// The name given at creation; empty if there was none.
  ///
  /// Complexity: O(1). Blocking: never.
  public final var label: String { name }

  /// For messages.
  final var name: String { queueName.text }

  /// The quality of service given at creation.
  public final var qos: DispatchQoS { ownQoS.qos }

  /// A queue of your own.
  ///
  /// ```swift
  /// let cache = DispatchQueue(label: "cache", attributes: .concurrent)
  /// ```
  ///
  /// - Parameters:
  ///   - label: A name that appears in reports and faults.
  ///   - qos: The quality of service of items for which none is given.
  ///   - attributes: `.concurrent`, `.initiallyInactive`.
  ///   - autoreleaseFrequency: Recorded; Linux has no autorelease pools.
  ///   - target: The queue as whose items this queue's items run; nil is a global queue.
  ///
  /// Complexity: O(1). Blocking: never.
  public convenience init(
    label: String, qos: DispatchQoS = .unspecified, attributes: Attributes = [],
    autoreleaseFrequency: AutoreleaseFrequency = .inherit, target: DispatchQueue? = nil
  ) {
    self.init(
      kind: attributes.contains(.concurrent) ? .concurrent : .serial, name: QueueName(label), qos: QoSWord(qos),
      target: target ?? GlobalQueues.root(for: QoSWord(qos)), inactive: attributes.contains(.initiallyInactive),
      autoreleaseFrequency: autoreleaseFrequency)
  }

  /// Holds back new items until `resume()`; the one that runs now finishes. Calls nest.
  ///
  /// A global queue and the main queue take no notice of it. Blocking: never.
  public override func suspend() { suspendLane() }

  /// Takes back one `suspend()`. Traps (GC0001) if there was none.
  ///
  /// A queue created inactive is activated by its first surplus `resume()`, as by `activate()`. Blocking: never.
  public override func resume() { resumeLane() }

  /// Lets a queue that was created inactive begin its work. Does nothing the second time.
  public override func activate() { activateLane() }

  /// Makes this queue's items run as items of `queue`; nil stands for the global queue of the queue's own class.
  ///
  /// On an idle queue the change takes place at once; else it is itself an item: pending items still run on the old
  /// target, later ones on the new one. A chain that would come back to this queue traps (GC0009); global queues and the
  /// main queue have no target to set (GC0010). The first queue of yours that is the target stays alive as long as the
  /// queue; later ones until they are replaced.
  ///
  /// Blocking: never.
  public override func setTarget(queue: DispatchQueue?) { retarget(to: queue) }
}
