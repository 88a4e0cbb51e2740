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
    if let queue = ofWorker { return queue }
    return MainLoop.isHere ? .main : GlobalQueues.default
  }

  /// The global queue of the band in which the calling thread runs a job; nil if it is no worker.
  private static var ofWorker: DispatchQueue? {
    guard let worker = Worker.current else { return nil }
    // relaxed: the worker's own field.
    return GlobalQueues.queue(for: Band(rank: worker.pointee.runningRank.load(ordering: .relaxed)))
  }

  /// Whether the calling thread is inside an item of this queue, or of a queue that targets it.
  final var isCurrent: Bool {
    // relaxed: a thread sees its own ownership.
    if state.load(ordering: .relaxed).owner == Thread.id { return true }
    if QueueContext.contains(self) { return true }
    if kind.isMain { return Worker.current == nil && MainLoop.isHere }
    return kind.isRunQueue && !QueueContext.isBelowDrainer && DispatchQueue.ofWorker === self
  }

  /// As `isCurrent`, and nothing else runs on the queue meanwhile.
  final var isCurrentAlone: Bool {
    if kind.isRunQueue { return false }
    // relaxed: a thread sees its own ownership; an owner that moves items has no item's context of its own beside it.
    return kind.hasReaders ? state.load(ordering: .relaxed).owner == Thread.id : isCurrent
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
  /// It runs an item of the queue, or of one that targets it.
  case onQueue(DispatchQueue)
  /// It runs a barrier item of the queue.
  case onQueueAsBarrier(DispatchQueue)
  /// It runs no item of the queue, nor of one that targets it.
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
