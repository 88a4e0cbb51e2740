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
    performRanges(iterations) { first, end in
      var index = first
      while index < end {
        work(index)
        index &+= 1
      }
    }
  }

  /// Calls `work` with ranges that together make up all indices. The loop over a range is the client's, so that the
  /// compiler sees what it repeats.
  @usableFromInline
  final class func performRanges(_ iterations: Int, _ work: (Int, Int) -> Void) {
    checkIterations(iterations, "DispatchQueue.concurrentPerform", current)
    ApplyCall.run(iterations, work, helpers: processors - 1, on: nil)
  }

  /// As `concurrentPerform`, with the calls made as items of this queue: on a serial queue one after the other.
  ///
  /// Traps (GC0007) like `sync` if the caller already holds the queue.
  ///
  /// Complexity: O(n) for n iterations. Blocking: until all iterations have run.
  @inlinable
  public final func apply(iterations: Int, execute work: (Int) -> Void) {
    applyRanges(iterations) { first, end in
      var index = first
      while index < end {
        work(index)
        index &+= 1
      }
    }
  }

  @usableFromInline
  final func applyRanges(_ iterations: Int, _ work: (Int, Int) -> Void) {
    DispatchQueue.checkIterations(iterations, "DispatchQueue.apply", self)
    // The caller takes one of the places of a queue with a limit.
    let helpers = kind.runsSeveral ? min(DispatchQueue.processors, readerLimit) - 1 : 0
    sync { ApplyCall.run(iterations, work, helpers: helpers, on: self) }
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
