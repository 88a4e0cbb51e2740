// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Where the calling thread is, answered from its contexts.
extension DispatchQueue {
  /// The queue whose item the calling thread is inside; on the main thread outside of any item the main queue, elsewhere
  /// the default global queue.
  ///
  /// ```swift
  /// log("running on \(DispatchQueue.current.label)")
  /// ```
  public final class var current: DispatchQueue {
    // A queue in a context is alive.
    if let lane = QueueContext.innermost?.pointee.lane { return lane.object.queue }
    if let worker = Worker.current { return queue(of: worker) }
    return MainLoop.isHere ? .main : GlobalQueues.default
  }

  /// The global queue of the band in which a worker runs its job.
  private static func queue(of worker: Worker.Pointer) -> DispatchQueue {
    // relaxed: the worker's own field, or that of one which sleeps: the call that it waits for has published it.
    GlobalQueues.queue(for: Band(rank: worker.pointee.runningRank.load(ordering: .relaxed)))
  }

  /// Whether the calling thread is inside an item of this queue, or of a queue that targets it; or runs a synchronous item for a thread
  /// that is.
  final var isCurrent: Bool {
    // relaxed: a thread sees its own ownership.
    if state.load(ordering: .relaxed).owner == Thread.id { return true }
    if QueueContext.contains(self) { return true }
    if kind.isMain {
      if Worker.current == nil && MainLoop.isHere { return true }
    } else if isItem(of: Worker.current, QueueContext.innermost) {
      return true
    }
    return isCallers
  }

  /// Whether the worker's job is an item of this queue, which is a global one.
  private final func isItem(of worker: Worker.Pointer?, _ context: QueueContext.Pointer?) -> Bool {
    guard kind.isRunQueue, let worker, !QueueContext.isBelowDrainer(context) else { return false }
    return DispatchQueue.queue(of: worker) === self
  }

  /// `isCurrent`, of a thread that waits for the item which the calling thread runs.
  @_optimize(size) @inline(never)
  private final var isCallers: Bool {
    RemoteCall.containsCaller { caller in
      // relaxed: a thread that waits keeps what it owns.
      if state.load(ordering: .relaxed).owner == caller.thread { return true }
      if QueueContext.contains(from: caller.context, where: { $0.isInside(self) }) { return true }
      return kind.isMain ? caller.isMain : isItem(of: caller.worker, caller.context)
    }
  }

  /// As `isCurrent`, and nothing else runs on the queue meanwhile.
  final var isCurrentAlone: Bool {
    if kind.isRunQueue { return false }
    if !kind.hasReaders { return isCurrent }
    // relaxed: a thread sees its own ownership, and one that waits keeps it; an owner that moves items has no item's context of its own
    // beside it.
    let owner = state.load(ordering: .relaxed).owner
    return owner == Thread.id || RemoteCall.containsCaller { $0.thread == owner }
  }
}

/// What `dispatchPrecondition` can ask about the calling thread.
///
/// ```swift
/// func readArchive() {
///   dispatchPrecondition(condition: .notOnQueue(.main))  // this may take long
/// }
/// ```
public enum DispatchPredicate: Sendable {
  /// It runs an item of the queue, or of one that targets it; or a synchronous item for a thread that does.
  case onQueue(DispatchQueue)
  /// It runs a barrier item of the queue.
  case onQueueAsBarrier(DispatchQueue)
  /// It runs no item of the queue, nor of one that targets it, nor a synchronous item for a thread that does.
  case notOnQueue(DispatchQueue)
}

/// Traps unless the calling thread is where `condition` says it is; in release builds too.
///
/// ```swift
/// store.queue.async {
///   dispatchPrecondition(condition: .onQueue(store.queue))
/// }
/// ```
///
/// Blocking: never. Complexity: O(depth of nested items and targets).
public func dispatchPrecondition(
  condition: @autoclosure () -> DispatchPredicate, file: StaticString = #file, line: UInt = #line
) {
  let predicate = condition()
  switch predicate {
  case .onQueue(let queue):
    if !queue.isCurrent { preconditionFailed(.preconditionOnQueue, "to be on", queue, file, line) }
  case .onQueueAsBarrier(let queue):
    if !queue.isCurrentAlone {
      preconditionFailed(.preconditionOnQueueAsBarrier, "to be, as a barrier, on", queue, file, line)
    }
  case .notOnQueue(let queue):
    if queue.isCurrent { preconditionFailed(.preconditionNotOnQueue, "not to be on", queue, file, line) }
  }
}

@inline(never)
private func preconditionFailed(
  _ id: FaultID, _ wanted: String, _ queue: DispatchQueue, _ file: StaticString, _ line: UInt
) -> Never {
  Fault.misuse(
    id,
    "dispatchPrecondition at " + file.description + ":" + String(line) + " expects " + wanted + " queue \""
      + queue.name + "\", but the caller runs on \"" + DispatchQueue.current.name
      + "\". Submit the work to the expected queue, or correct the precondition.")
}
