// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Synchronous submission. Generic and inlinable: the client's compiler sees through the closure, so that neither the
// result nor the error is boxed.
extension DispatchQueue {
  /// Runs `work` as an item of this queue and returns its result; errors come back as they are thrown.
  ///
  /// ```swift
  /// let total = try ledger.sync { try computeTotal() }
  /// ```
  ///
  /// It runs on the calling thread, except that items for the main queue run on the main thread. It starts after
  /// everything that was submitted before. Called by a thread that already holds the queue it traps (GC0007).
  ///
  /// Complexity: O(depth of the chain of targets); allocates nothing. Blocking: until the item has run. A pool thread that
  /// waits is replaced while there is work.
  @inlinable
  public final func sync<T, E: Error>(execute work: () throws(E) -> T) throws(E) -> T {
    try runInline(barrier: false, work)
  }

  /// As `sync(execute:)`; with `.barrier` the item runs alone on a concurrent queue.
  ///
  /// Complexity: O(depth of the chain of targets). Blocking: until the item has run. A pool thread that waits is
  /// replaced while there is work.
  @inlinable
  public final func sync<T, E: Error>(flags: DispatchWorkItemFlags, execute work: () throws(E) -> T) throws(E) -> T {
    try runInline(barrier: flags.contains(.barrier), work)
  }

  /// Runs a work item on this queue, and returns when it has run.
  ///
  /// Complexity: O(depth of the chain of targets). Blocking: until the item has run. A pool thread that waits is
  /// replaced while there is work.
  public final func sync(execute workItem: DispatchWorkItem) {
    let barrier = workItem.flags.contains(.barrier)
    workItem.noteSubmission(to: self)
    runInline(barrier: barrier) { workItem.runSubmitted() }
  }

  /// As `sync`, but the item may run on whichever thread holds the queue.
  ///
  /// Difference from `sync`: a caller that finds the queue busy leaves its item to the drainer and is spared a hand-over
  /// of the queue. Thread-local state of the caller is not visible to the item then. The item runs at the queue's quality
  /// of service; at the caller's if the queue has none.
  ///
  /// Complexity: O(depth of the chain of targets). Blocking: until the item has run. A pool thread that waits is
  /// replaced while there is work.
  @inlinable
  public final func asyncAndWait<T, E: Error>(execute work: () throws(E) -> T) throws(E) -> T {
    try runAnywhere(barrier: false, work)
  }

  /// As `asyncAndWait(execute:)`; with `.barrier` the item runs alone on a concurrent queue.
  ///
  /// Complexity: O(depth of the chain of targets). Blocking: until the item has run. A pool thread that waits is
  /// replaced while there is work.
  @inlinable
  public final func asyncAndWait<T, E: Error>(
    flags: DispatchWorkItemFlags, execute work: () throws(E) -> T
  ) throws(E) -> T {
    try runAnywhere(barrier: flags.contains(.barrier), work)
  }

  /// Runs a work item on this queue, and returns when it has run.
  ///
  /// Complexity: O(depth of the chain of targets). Blocking: until the item has run. A pool thread that waits is
  /// replaced while there is work.
  public final func asyncAndWait(execute workItem: DispatchWorkItem) {
    let barrier = workItem.flags.contains(.barrier)
    workItem.noteSubmission(to: self)
    runAnywhere(barrier: barrier, qos: effectiveQoS(workItem.wantedQoS, workItem.flags)) { workItem.runSubmitted() }
  }

  @inlinable
  @inline(__always)
  final func runInline<T, E: Error>(barrier: Bool, _ work: () throws(E) -> T) throws(E) -> T {
    var context = QueueContext()
    // unsafe: the context stays where it is until `endSync`.
    return try _withUnprotectedUnsafeMutablePointer(to: &context) { (context) throws(E) -> T in
      guard beginSync(context, barrier: barrier) else { return try collect(barrier: barrier, work) }
      defer { endSync(context) }
      return try work()
    }
  }

  @inlinable
  @inline(__always)
  final func runAnywhere<T, E: Error>(
    barrier: Bool, qos: QoSWord? = nil, _ work: () throws(E) -> T
  ) throws(E) -> T {
    var context = QueueContext()
    let qos = qos ?? submissionQoS
    // unsafe: the context stays where it is until `endSync`.
    return try _withUnprotectedUnsafeMutablePointer(to: &context) { (context) throws(E) -> T in
      guard beginIfIdle(context, barrier: barrier) else { return try collect(barrier: barrier, qos: qos, work) }
      let outer = CallerQoS(replacedBy: qos)
      defer {
        outer.restore()
        endSync(context)
      }
      return try work()
    }
  }

  /// Has the item run elsewhere, and brings back what it returns or throws.
  ///
  /// - Parameter qos: The item's; nil is the caller's.
  @inlinable
  final func collect<T, E: Error>(barrier: Bool, qos: QoSWord? = nil, _ work: () throws(E) -> T) throws(E) -> T {
    var outcome: Result<T, E>?
    runRemotely(barrier: barrier, qos: qos) {
      do throws(E) {
        outcome = .success(try work())
      } catch {
        outcome = .failure(error)
      }
    }
    return try outcome!.get()
  }
}
