// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What queues and sources have in common: they can be suspended, resumed, activated and retargeted.
public class DispatchObject: @unchecked Sendable {  // subclasses keep their state in atomics and under locks
  /// What few objects need, made when first needed; retained.
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
  public func activate() {}

  /// Makes the object's items run as items of `queue`; nil stands for the default global queue.
  ///
  /// Takes effect between items, in order with the pending ones.
  public func setTarget(queue: DispatchQueue?) {}

  /// The extras if anybody has needed them.
  @inline(__always)
  final var extrasReference: Unmanaged<Extras>? {
    // pairs with: readyExtras – publishes the initialised extras
    extras.load(ordering: .acquiring).map { Unmanaged<Extras>.fromOpaque($0) }
  }

  final var readyExtras: Extras {
    if let existing = extrasReference { return existing.takeUnretainedValue() }
    let made = Unmanaged.passRetained(Extras())
    // pairs with: extrasReference, readyExtras – publishes the initialised extras. One that succeeds has found nil, behind
    // which nothing was published.
    let (exchanged, winner) = extras.compareExchange(
      expected: nil, desired: made.toOpaque(), successOrdering: .releasing, failureOrdering: .acquiring)
    if exchanged { return made.takeUnretainedValue() }
    made.release()
    return Unmanaged<Extras>.fromOpaque(winner!).takeUnretainedValue()
  }

  deinit {
    // relaxed: the last reference is gone, and its release has ordered everything before.
    if let raw = extras.load(ordering: .relaxed) { Unmanaged<Extras>.fromOpaque(raw).release() }
  }
}

/// What few objects need.
final class Extras: @unchecked Sendable {  // fields are atomic, or guarded as they say
  let lock = Lock()
  /// Guarded by `lock`: suspensions not yet taken back.
  var suspensions = 0
  /// Values by key.
  let specifics = Specifics()
  /// Guarded by the hierarchy's lock: the first target that can go, kept once the lane has another; see Targets.I3.
  var firstTarget: DispatchQueue?
  /// Guarded by `lock`.
  var context = ObjectContext()
  /// The least that a queue's items are worth, a `QoSWord`.
  let floor = Atomic<UInt16>(0)
  /// The process, by its generation, in which a queue's activations on their way were sent; see `adoptActivation`.
  let sentIn = Atomic<UInt32>(0)
}
