// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

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
public class DispatchQueue: DispatchObject.Lane, @unchecked Sendable {  // adds no state
  init(
    kind: Kind, name: QueueName, qos: QoSWord, target: DispatchQueue?, inactive: Bool = false,
    autoreleaseFrequency: AutoreleaseFrequency = .inherit
  ) {
    super.init(
      kind: kind, name: name, qos: qos, target: target?.reference, inactive: inactive,
      annotation: autoreleaseFrequency.code)
    if let target { _ = Owned(target).give() }
  }

  /// The name given at creation; empty if there was none.
  ///
  /// Complexity: O(1). Blocking: never.
  public final var label: String { name }

  /// The quality of service given at creation. Without one: that of the global queue that is the target, unless it is the default one.
  public final var qos: DispatchQoS {
    var shown = ownQoS
    if !shown.isUnspecified || kind.isBuiltIn { return shown.qos }
    withTarget { if $0.kind.isRunQueue, $0.ownQoS != .default { shown = $0.ownQoS } }
    return shown.qos
  }

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
  ///   - target: The queue that this queue's items run on, as items of its own; nil is a global queue.
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
  /// A global queue and the main queue take no notice of it. Complexity: O(1). Blocking: never.
  public override func suspend() { suspendLane() }

  /// Takes back one `suspend()`. Traps (GC0001) if there was none.
  ///
  /// A queue created inactive is activated by its first surplus `resume()`, as by `activate()`. Complexity: O(1).
  /// Blocking: never.
  public override func resume() { resumeLane() }

  /// Lets a queue that was created inactive begin its work. Does nothing the second time.
  ///
  /// Complexity: O(1). Blocking: never.
  public override func activate() { activateLane() }

  override func retarget(to lane: Lane?) { moveBelow(lane ?? GlobalQueues.root(for: ownQoS)) }
}

extension DispatchObject {
  /// Makes the object's items run as items of `queue`; nil stands for a global queue.
  ///
  /// A source's handlers run on the new target from now on, and so do a channel's barriers. The handlers of a channel's operations run on
  /// the queue that each call names. Of any object the finalizer runs there.
  ///
  /// On an idle queue the change takes place at once; otherwise it is itself an item: pending items still run on the old
  /// target, later ones on the new one. Nil is the global queue of the queue's own class. A chain that would come back to
  /// this queue traps (GC0009); global queues and the main queue have no target to set (GC0010). The first queue of yours
  /// that is the target stays alive as long as the queue; later ones until they are replaced.
  ///
  /// Complexity: O(depth of the chain of targets). Blocking: never.
  public final func setTarget(queue: DispatchQueue?) { retarget(to: queue) }
}

extension DispatchObject.Lane {
  /// The queue that this is.
  @inline(__always)
  final var queue: DispatchQueue {
    // unsafe: every lane is made as a queue; the class Lane is instantiated nowhere else.
    unsafeDowncast(self, to: DispatchQueue.self)
  }
}
