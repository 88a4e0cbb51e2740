// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// One entry of a thread's stack of queues: "this thread is inside an item of `queue`".
///
/// Frames live on the stack of whoever runs the item; the thread's record points to the innermost. They answer which
/// queue is current, whether a queue is held by this thread, and whether a barrier would wait for its own caller.
@frozen
@usableFromInline
struct QueueContext {
  /// How the item holds its queue.
  @usableFromInline
  enum Hold: UInt8 {
    /// The queue's owner is this thread, and its target needs no holding.
    case alone
    /// As `alone`, with the targets held too.
    case chain
    /// A reader of a concurrent queue; `chainReader` with the targets held too.
    case reader
    case chainReader
    /// Nothing is held: a global queue, or an item that its drainer runs.
    case nothing
  }

  @usableFromInline var queue: UnsafeMutableRawPointer?
  @usableFromInline var previous: UnsafeMutableRawPointer?
  @usableFromInline var hold: Hold
  /// The lanes that are held above the queue, with `chain` and `chainReader`.
  @usableFromInline var targets: HeldTargets

  @inlinable
  init() {
    queue = nil
    previous = nil
    hold = .nothing
    targets = HeldTargets()
  }

  typealias Pointer = UnsafeMutablePointer<QueueContext>

  /// Makes this the thread's innermost context.
  @inline(__always)
  static func push(_ context: Pointer, _ queue: DispatchQueue, _ hold: Hold) {
    let thread = gc_thread_self()
    context.pointee.queue = Unmanaged.passUnretained(queue).toOpaque()
    context.pointee.hold = hold
    context.pointee.previous = thread.pointee.queue_context
    thread.pointee.queue_context = UnsafeMutableRawPointer(context)
  }

  @inline(__always)
  static func pop(_ context: Pointer) {
    gc_thread_self().pointee.queue_context = context.pointee.previous
  }

  @inline(__always)
  static var innermost: Pointer? {
    gc_thread_self().pointee.queue_context?.assumingMemoryBound(to: QueueContext.self)
  }

  /// Whether this thread is inside an item of `queue`, or of a queue that targets it.
  static func contains(_ queue: DispatchQueue) -> Bool {
    let wanted = Unmanaged.passUnretained(queue).toOpaque()
    var context = innermost
    while let current = context {
      // unsafe: a queue in a context is alive, and so is its chain: neither can be retargeted while an item runs.
      var link = current.pointee.queue
      while let raw = link {
        if raw == wanted { return true }
        link = Unmanaged<DispatchQueue>.fromOpaque(raw)._withUnsafeGuaranteedRef { $0.targetPointer }
      }
      context = current.pointee.previous?.assumingMemoryBound(to: QueueContext.self)
    }
    return false
  }
}
