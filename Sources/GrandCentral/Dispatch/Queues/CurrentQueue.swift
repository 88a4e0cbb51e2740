// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Where am I? Answered from the thread's contexts.
extension DispatchQueue {
  /// The queue whose item the calling thread is inside; on the main thread outside of any item the main queue, elsewhere
  /// the default global queue.
  ///
  /// ```swift
  /// log("running on \(DispatchQueue.current.label)")
  /// ```
  public final class var current: DispatchQueue {
    if let context = QueueContext.innermost, let raw = context.pointee.queue {
      // unsafe: a queue in a context is alive.
      return Unmanaged<DispatchQueue>.fromOpaque(raw).takeUnretainedValue()
    }
    if let worker = Worker.current {
      // relaxed: the worker's own field.
      return GlobalQueues.queue(for: Band(rank: worker.pointee.runningRank.load(ordering: .relaxed)))
    }
    return MainLoop.isHere ? .main : GlobalQueues.default
  }

  /// Whether the calling thread is inside an item of this queue, or of a queue that targets it.
  final var isCurrent: Bool {
    // relaxed: a thread sees its own ownership.
    if state.load(ordering: .relaxed).owner == Thread.id { return true }
    if QueueContext.contains(self) { return true }
    if kind == .main { return Worker.current == nil && MainLoop.isHere }
    return kind == .global && QueueContext.innermost == nil && Worker.current != nil && DispatchQueue.current === self
  }

  /// As `isCurrent`, and nothing else runs on the queue meanwhile.
  final var isCurrentAlone: Bool {
    switch kind {
    case .serial, .pooled, .workloop, .main: isCurrent
    case .global: false
    // relaxed: a thread sees its own ownership; an owner that moves items has no item's context of its own beside it.
    case .concurrent: state.load(ordering: .relaxed).owner == Thread.id
    }
  }
}

/// What `dispatchPrecondition` can ask about the calling thread.
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
/// dispatchPrecondition(condition: .onQueue(store.queue))
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
