// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What run loops use: they run the items of the main queue, and of queues that belong to one thread.

import CDispatchGlue

@c(_dispatch_get_main_queue_port_4CF)
public func mainQueuePort() -> Int32 { MainLoop.descriptor }

@c(_dispatch_get_main_queue_handle_4CF)
public func mainQueueHandle() -> Int32 { MainLoop.descriptor }

@c(_dispatch_main_queue_callback_4CF)
public func mainQueueCallback(_ message: Raw?) { DispatchMainLoop.drain() }

/// A queue whose items only `_dispatch_runloop_root_queue_perform_4CF` runs: it is never activated. A synchronous caller waits
/// for that call as well.
@c(_dispatch_runloop_root_queue_create_4CF)
public func runLoopQueueCreate(_ label: UnsafePointer<CChar>?, _ flags: UInt) -> OpaquePointer? {
  if flags != 0 { return nil }
  let queue = DispatchQueue(
    kind: .serial, name: QueueName(keeping: gcd_copy_text(label)), qos: .unspecified,
    target: GlobalQueues.default, inactive: true)
  queue.state.update { $0.rawValue |= LaneState.threadBound }
  return Handle.made(queue)
}

/// Runs the first item, if there is one. For the thread that the queue belongs to.
///
/// - Returns: whether there was one.
@c(_dispatch_runloop_root_queue_perform_4CF)
public func runLoopQueuePerform(_ queue: OpaquePointer?) -> Bool {
  Handle.queue(queue, "_dispatch_runloop_root_queue_perform_4CF")._withUnsafeGuaranteedRef { $0.performFirst() }
}

/// Nothing to do: there is no port that a thread could wait at.
@c(_dispatch_runloop_root_queue_wakeup_4CF)
public func runLoopQueueWakeUp(_ queue: OpaquePointer?) {}

extension DispatchQueue {
  /// The queue is never activated, so that only the caller of this takes items off (Lane.L1).
  fileprivate func performFirst() -> Bool {
    let me = Thread.id
    let owns: Bool? = state.attempt { state in
      if state.isOwned || !state.has(LaneState.inactive) { return nil }
      state.setOwner(me)
      return true
    }
    if owns == nil { return false }
    var context = QueueContext()
    return _withUnprotectedUnsafeMutablePointer(to: &context) { context in
      QueueContext.push(context, self, .nothing)
      let job = first()
      if let job {
        take(job)
        let outer = QoSWord.ofThread
        job.run()
        QoSWord.ofThread = outer
      }
      QueueContext.pop(context)
      state.update { $0.clear(LaneState.ownerMask) }
      return job != nil
    }
  }
}
