// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What queues and sources have in common: they can be suspended, resumed, activated and retargeted.
///
/// ```swift
/// func pausing(_ objects: [DispatchObject], while change: () -> Void) {
///   for object in objects { object.suspend() }
///   change()
///   for object in objects { object.resume() }
/// }
/// ```
public class DispatchObject: @unchecked Sendable {  // subclasses keep their state in atomics and under locks
  /// Rarely used fields, allocated on first use; retained.
  private let extras = Atomic<UnsafeMutableRawPointer?>(nil)

  init() {}

  /// Holds back new items until `resume()`; the one that runs now finishes. Calls nest.
  ///
  /// Blocking: never. Complexity: O(1).
  public func suspend() {}

  /// Takes back one `suspend()`. Traps (GC0001) if there was none.
  ///
  /// Blocking: never. Complexity: O(1).
  public func resume() {}

  /// Lets an object that was created inactive begin its work. Does nothing the second time.
  ///
  /// Complexity: O(1). Blocking: never.
  public func activate() {}

  // What `setTarget(queue:)` does: of an object that runs nothing, the finalizer's queue is set.
  func retarget(to lane: Lane?) {
    let extras = readyExtras
    extras.lock.lock()
    let former = extras.finalizerTarget
    extras.finalizerTarget = lane
    extras.lock.unlock()
    withExtendedLifetime(former) {}
  }

  /// The extras if they have been needed.
  @inline(__always)
  final var extrasReference: Borrowed<Extras>? {
    // pairs with: readyExtras – publishes the initialised extras
    extras.load(ordering: .acquiring).map { Borrowed(word: $0) }
  }

  final var readyExtras: Extras {
    if let existing = extrasReference { return existing.object }
    let made = Owned(Extras())
    // pairs with: extrasReference, readyExtras – publishes the initialised extras. An exchange that succeeds has found nil,
    // behind which nothing was published.
    let (exchanged, winner) = extras.compareExchange(
      expected: nil, desired: made.borrowed.word, successOrdering: .releasing, failureOrdering: .acquiring)
    if exchanged { return made.give().object }
    made.release()
    return Borrowed<Extras>(word: winner!).object
  }

  deinit {
    // relaxed: the last reference is gone, and its release has ordered everything before.
    if let raw = extras.load(ordering: .relaxed) { Owned<Extras>(word: raw).release() }
  }
}

/// Rarely used fields, allocated on first use.
final class Extras: @unchecked Sendable {  // fields are atomic, or guarded as they say
  let lock = Lock()
  /// Guarded by `lock`: suspensions not yet taken back.
  var suspensions = 0
  /// Values by key.
  let specifics = Specifics()
  /// Guarded by the hierarchy's lock: the first target that can go, kept once the lane has another; see Targets.I3.
  var firstTarget: Lane?
  /// Guarded by `lock`.
  var context = ObjectContext()
  /// Guarded by `lock`: where the finalizer of an object runs that has no other target.
  var finalizerTarget: Lane?
  /// The lowest QoS of a queue's items, a `QoSWord`.
  let floor = Atomic<UInt16>(0)
  /// The fork generation of the process that has sent the queue's activations on their way; see `adoptActivation`.
  let sentIn = Atomic<UInt32>(0)

  /// Whether the program has set nothing here, or has taken all of it back. A first target counts for nothing: the lane keeps it, and does
  /// not show it.
  @_optimize(size)
  var isEmpty: Bool {
    // In a child of fork a thread of the parent's may hold the lock for ever.
    guard lock.tryLock() else { return false }
    let isBare = suspensions == 0 && context.pointer == nil && context.finalizer == nil
    lock.unlock()
    // relaxed: a hint for where to queue.
    return isBare && specifics.isEmpty && floor.load(ordering: .relaxed) == 0
  }
}
