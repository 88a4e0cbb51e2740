// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// One entry of a thread's stack of queues: "this thread is inside an item of `queue`".
///
/// Frames live on the stack of whoever runs the item; the thread's record points to the innermost. They answer which
/// queue is current, whether a queue is held by this thread, and whether a barrier would wait for its own caller.
@frozen
@usableFromInline
struct Frame {
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

  typealias Pointer = UnsafeMutablePointer<Frame>

  /// Makes this the thread's innermost frame.
  @inline(__always)
  static func push(_ frame: Pointer, _ queue: DispatchQueue, _ hold: Hold) {
    let thread = gc_thread_self()
    frame.pointee.queue = Unmanaged.passUnretained(queue).toOpaque()
    frame.pointee.hold = hold
    frame.pointee.previous = thread.pointee.frame
    thread.pointee.frame = UnsafeMutableRawPointer(frame)
  }

  @inline(__always)
  static func pop(_ frame: Pointer) {
    gc_thread_self().pointee.frame = frame.pointee.previous
  }

  @inline(__always)
  static var innermost: Pointer? {
    gc_thread_self().pointee.frame?.assumingMemoryBound(to: Frame.self)
  }

  /// Whether this thread is inside an item of `queue`, or of a queue that targets it.
  static func contains(_ queue: DispatchQueue) -> Bool {
    let wanted = Unmanaged.passUnretained(queue).toOpaque()
    var frame = innermost
    while let current = frame {
      // unsafe: a queue in a frame is alive, and so is its chain: neither can be retargeted while an item runs.
      var link = current.pointee.queue
      while let raw = link {
        if raw == wanted { return true }
        link = Unmanaged<DispatchQueue>.fromOpaque(raw)._withUnsafeGuaranteedRef { $0.targetPointer }
      }
      frame = current.pointee.previous?.assumingMemoryBound(to: Frame.self)
    }
    return false
  }
}
