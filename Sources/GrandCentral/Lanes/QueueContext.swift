// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// One entry of a thread's stack of queues: "this thread is inside an item of `queue`".
///
/// Contexts live on the stack of the thread that runs the item; the thread's record points to the innermost one. They tell
/// which queue is current, whether this thread holds a queue, and whether a barrier would wait for its own caller.
@frozen
@usableFromInline
struct QueueContext {
  /// How the item holds its queue.
  @usableFromInline
  enum Hold {
    /// The queue's owner is this thread, and its target needs no holding.
    case alone
    /// As `alone`, with the targets held too.
    case chain
    /// A reader of a concurrent queue; `chainReader` with the targets held too.
    case reader
    case chainReader
    /// Nothing is held: an item that its drainer runs, or one of a global queue that names its queue.
    case nothing
    /// Nothing is held: a synchronous item of a global queue, or iterations of a queue that a context further out holds.
    case global
  }

  @usableFromInline var lane: Borrowed<Lane>?
  /// The context further out on the thread's stack.
  @usableFromInline var outer: UnsafeMutablePointer<QueueContext>?
  @usableFromInline var hold: Hold
  /// The lanes that are held above the queue, with `chain` and `chainReader`.
  @usableFromInline var targets: HeldTargets
  /// A drainer's: the oldest item of the lane, while the lane's list does not show it (MPSCList.M5).
  var oldest: UnsafeMutableRawPointer? = nil

  @inlinable
  init() {
    lane = nil
    outer = nil
    hold = .nothing
    targets = HeldTargets()
  }

  typealias Pointer = UnsafeMutablePointer<QueueContext>

  /// Makes this the thread's innermost context.
  @inline(__always)
  static func push(_ context: Pointer, _ lane: Lane, _ hold: Hold) {
    let outer = innermost
    innermost = context
    context.pointee.enter(lane, hold, outer)
  }

  @inline(__always)
  private mutating func enter(_ lane: Lane, _ hold: Hold, _ outer: Pointer?) {
    self.lane = lane.reference
    self.hold = hold
    self.outer = outer
  }

  @inline(__always)
  mutating func takeOldest() -> Job.Word? {
    defer { oldest = nil }
    return oldest
  }

  /// - Returns: the context further out.
  private mutating func leaveOldest() -> Pointer? {
    oldest = nil
    return outer
  }

  @inline(__always)
  static func pop(_ context: Pointer) { innermost = context.pointee.outer }

  @inline(__always)
  static private(set) var innermost: Pointer? {
    get { gc_thread_self().pointee.queue_context?.assumingMemoryBound(to: QueueContext.self) }
    set { gc_thread_self().pointee.queue_context = .init(newValue) }
  }

  /// The lane of the innermost context.
  static var ofInnermost: Borrowed<Lane>? { innermost?.pointee.lane }

  /// Whether a worker's job runs items of a lane, or an item that names its queue. A job that does neither is an item of the global
  /// queue of its band, whatever synchronous items the worker has begun from there.
  ///
  /// - Parameter innermost: the worker's. It is the calling thread, or sleeps.
  static func isBelowDrainer(_ innermost: Pointer?) -> Bool {
    contains(from: innermost) { $0.outer == nil && $0.hold == .nothing }
  }

  /// In a forked child: items that wait on the queues that this thread is inside of are the parent's, and stay with it.
  /// Otherwise, when the item that has forked returns, its drainer would run them here as well.
  static func leaveItemsToParent() {
    RemoteCall.forgetCallers()
    var link = innermost
    while let context = link { link = context.pointee.leaveOldest() }
    _ = contains { context in
      context.lane?.use { lane in
        lane.chainContains {
          $0.leaveItems()
          return false
        }
      } ?? false
    }
  }

  /// Whether `look` returns true for one of the thread's contexts, innermost first.
  static func contains(where look: (QueueContext) -> Bool) -> Bool { contains(from: innermost, where: look) }

  /// The same for another thread, which sleeps, from one of its contexts outwards.
  static func contains(from first: Pointer?, where look: (QueueContext) -> Bool) -> Bool {
    var link = first
    while let context = link?.pointee {
      if look(context) { return true }
      link = context.outer
    }
    return false
  }

  /// Whether this thread is inside an item of `wanted`, or of a lane that targets it.
  static func contains(_ wanted: Lane) -> Bool {
    contains { $0.isInside(wanted) }
  }

  /// Whether the item's lane is `wanted`, or targets it.
  func isInside(_ wanted: Lane) -> Bool {
    lane?.use { $0.chainContains { $0 === wanted } } ?? false
  }
}

extension Lane {
  /// Whether `look` returns true for this lane or for one above it. For callers inside an item of this lane: so it is alive,
  /// and so is its chain, because neither can be retargeted while an item runs.
  final func chainContains(_ look: (Lane) -> Bool) -> Bool {
    var link = reference
    while true {
      if link.use(look) { return true }
      guard let next = link.use({ $0.targetWord.lane }) else { return false }
      link = next
    }
  }
}
