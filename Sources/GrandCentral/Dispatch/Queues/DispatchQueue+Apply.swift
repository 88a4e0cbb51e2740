// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

extension DispatchQueue {
  /// Calls `work` once for each index below `iterations`, on several processors, and returns when all calls are done.
  ///
  /// ```swift
  /// DispatchQueue.concurrentPerform(iterations: rows) { row in shade(row) }
  /// ```
  ///
  /// The caller takes part; a call with little work stays on it. Calls nest, and may be made from any queue. The
  /// caller's quality of service is the helpers' too. A negative count traps (GC0016).
  ///
  /// Complexity: O(iterations); allocates nothing. Blocking: until all calls are done.
  @inlinable
  public final class func concurrentPerform(iterations: Int, execute work: (Int) -> Void) {
    performLoops(iterations) { ApplyLoop.run($0, work) }
  }

  /// Calls `work` for chunks that together make up all indices. The loop over a chunk is the client's, so that the
  /// compiler sees what it repeats.
  @usableFromInline
  final class func performLoops(_ iterations: Int, _ work: (ApplyLoop.Pointer) -> Void) {
    checkIterations(iterations, "DispatchQueue.concurrentPerform", current)
    ApplyCall.run(iterations, work, helpers: processors - 1, on: nil, in: nil)
  }

  /// As `concurrentPerform`, with the calls made as items of this queue: on a serial queue one after the other.
  ///
  /// On a concurrent queue the calls go on beside a barrier that comes meanwhile, which waits for all of them. If the queue has a limit of
  /// how many items run, or one of its targets has, the other threads that take part are items: they wait behind the barrier. Calls nest: an
  /// iteration, or another item of the queue, that calls `apply` on it keeps its place.
  ///
  /// Traps (GC0007) like `sync` if the caller already holds the queue. Without iterations it does nothing.
  ///
  /// Complexity: O(n) for n iterations. Blocking: until all iterations have run.
  @inlinable
  public final func apply(iterations: Int, execute work: (Int) -> Void) {
    applyLoops(iterations) { ApplyLoop.run($0, work) }
  }

  @usableFromInline
  final func applyLoops(_ iterations: Int, _ work: (ApplyLoop.Pointer) -> Void) {
    DispatchQueue.checkIterations(iterations, "DispatchQueue.apply", self)
    if iterations == 0 { return }
    if QueueContext.contains(self), isReadHere { return applyAgain(iterations, work) }
    sync { applyHere(iterations, work) }
  }

  /// Whether a caller inside an item of this queue, or of one that targets it, is not in a barrier.
  private final var isReadHere: Bool {
    // relaxed: a thread sees its own id.
    state.load(ordering: .relaxed).owner != Thread.id
  }

  /// By a caller that is a reader of this queue already. It needs no second place, for which it might wait for others that do the same, or
  /// for a barrier that waits for it.
  @inline(never)
  private final func applyAgain(_ iterations: Int, _ work: (ApplyLoop.Pointer) -> Void) {
    var context = QueueContext()
    _withUnprotectedUnsafeMutablePointer(to: &context) { context in
      QueueContext.push(context, self, .global)
      applyHere(iterations, work)
      QueueContext.pop(context)
    }
  }

  /// By the caller, which is a reader of this queue until all calls are done. So its helpers need no places of their own, and do not
  /// stand behind a barrier or a suspension that comes meanwhile. Only where the number of items is limited they are items.
  @inline(never)
  private final func applyHere(_ iterations: Int, _ work: (ApplyLoop.Pointer) -> Void) {
    // The caller takes one of the places of a queue with a limit.
    var helpers = min(DispatchQueue.processors, readerLimit) - 1
    var (root, isLimited) = (self as Lane, false)
    _ = chainContains { lane in
      if !lane.kind.runsSeveral { helpers = 0 }
      if lane.isLimited { isLimited = true }
      root = lane
      return false
    }
    ApplyCall.run(
      iterations, work, helpers: helpers, on: isLimited ? self : root, in: isLimited || root === self ? nil : self)
  }

  static var processors: Int {
    // relaxed: a setting.
    Engine.current.parallelism.load(ordering: .relaxed)
  }

  private static func checkIterations(_ iterations: Int, _ call: String, _ queue: DispatchQueue) {
    if iterations < 0 {
      Fault.misuse(
        .negativeIterations,
        call + " on \"" + queue.name + "\" was asked for " + String(iterations)
          + " iterations. Pass the number of calls to make, 0 or more.")
    }
  }
}
