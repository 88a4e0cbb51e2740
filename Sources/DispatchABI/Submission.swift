// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CDispatchGlue

// MARK: Asynchronous

@c @implementation
public func dispatch_async_f(
  _ queue: dispatch_queue_t?, _ context: Raw?, _ work: dispatch_function_t?
) {
  let work = Handle.need(work)
  Handle.queue(queue)._withUnsafeGuaranteedRef { queue in
    queue.enqueue(Job(work, context, Call.function, qos: queue.submissionQoS))
  }
}

@c @implementation
public func dispatch_async(
  _ queue: dispatch_queue_t?, _ work: Raw?
) {
  let work = Handle.need(work)
  Handle.queue(queue)._withUnsafeGuaranteedRef { queue in queue.enqueue(Job(block: work, on: queue)) }
}

@c @implementation
public func dispatch_barrier_async_f(
  _ queue: dispatch_queue_t?, _ context: Raw?, _ work: dispatch_function_t?
) {
  let work = Handle.need(work)
  Handle.queue(queue)._withUnsafeGuaranteedRef { queue in
    queue.enqueue(Job(work, context, Call.function, qos: queue.submissionQoS, flags: .barrier))
  }
}

@c @implementation
public func dispatch_barrier_async(
  _ queue: dispatch_queue_t?, _ work: Raw?
) {
  let work = Handle.need(work)
  Handle.queue(queue)._withUnsafeGuaranteedRef { queue in queue.enqueue(Job(block: work, on: queue, barrier: true)) }
}

@c @implementation
public func dispatch_after_f(
  _ when: dispatch_time_t, _ queue: dispatch_queue_t?, _ context: Raw?, _ work: dispatch_function_t?
) {
  let work = Handle.need(work)
  Handle.queue(queue)._withUnsafeGuaranteedRef { queue in
    queue.after(TimeCode(rawValue: when).deadline) { Job(work, context, Call.function, qos: queue.submissionQoS) }
  }
}

@c @implementation
public func dispatch_after(
  _ when: dispatch_time_t, _ queue: dispatch_queue_t?, _ work: Raw?
) {
  let work = Handle.need(work)
  Handle.queue(queue)._withUnsafeGuaranteedRef { queue in
    let deadline = TimeCode(rawValue: when).deadline
    if let item = gcd_block_work_item(work) {
      // unsafe: the block keeps its item, and the caller the block.
      Unmanaged<DispatchWorkItem>.fromOpaque(item)._withUnsafeGuaranteedRef { queue.after(deadline, $0) }
    } else {
      queue.after(deadline) { Job(block: work, on: queue) }
    }
  }
}

// MARK: Synchronous

/// Has a block run by `run`, which is told whether as a barrier; as its work item if it stands for one.
@inline(__always)
private func run(_ block: Raw, on queue: DispatchQueue, barrier: Bool, _ run: (Bool, () -> Void) -> Void) {
  guard let item = gcd_block_work_item(block) else { return run(barrier) { gcd_block_call(block) } }
  // unsafe: the block keeps its item, and the caller the block.
  Unmanaged<DispatchWorkItem>.fromOpaque(item)._withUnsafeGuaranteedRef { item in
    item.noteSubmission(to: queue)
    run(barrier || item.flags.contains(.barrier)) { item.runSubmitted() }
  }
}

@c @implementation
public func dispatch_sync_f(
  _ queue: dispatch_queue_t?, _ context: Raw?, _ work: dispatch_function_t?
) {
  let work = Handle.need(work)
  Handle.queue(queue)._withUnsafeGuaranteedRef { $0.runInline(barrier: false) { work(context) } }
}

@c @implementation
public func dispatch_sync(
  _ queue: dispatch_queue_t?, _ work: Raw?
) {
  let work = Handle.need(work)
  Handle.queue(queue)._withUnsafeGuaranteedRef { queue in
    run(work, on: queue, barrier: false) { queue.runInline(barrier: $0, $1) }
  }
}

@c @implementation
public func dispatch_barrier_sync_f(
  _ queue: dispatch_queue_t?, _ context: Raw?, _ work: dispatch_function_t?
) {
  let work = Handle.need(work)
  Handle.queue(queue)._withUnsafeGuaranteedRef { $0.runInline(barrier: true) { work(context) } }
}

@c @implementation
public func dispatch_barrier_sync(
  _ queue: dispatch_queue_t?, _ work: Raw?
) {
  let work = Handle.need(work)
  Handle.queue(queue)._withUnsafeGuaranteedRef { queue in
    run(work, on: queue, barrier: true) { queue.runInline(barrier: $0, $1) }
  }
}

@c @implementation
public func dispatch_async_and_wait_f(
  _ queue: dispatch_queue_t?, _ context: Raw?, _ work: dispatch_function_t?
) {
  let work = Handle.need(work)
  Handle.queue(queue)._withUnsafeGuaranteedRef { $0.runAnywhere(barrier: false) { work(context) } }
}

@c @implementation
public func dispatch_async_and_wait(
  _ queue: dispatch_queue_t?, _ work: Raw?
) {
  let work = Handle.need(work)
  Handle.queue(queue)._withUnsafeGuaranteedRef { queue in
    run(work, on: queue, barrier: false) { queue.runAnywhere(barrier: $0, $1) }
  }
}

@c @implementation
public func dispatch_barrier_async_and_wait_f(
  _ queue: dispatch_queue_t?, _ context: Raw?, _ work: dispatch_function_t?
) {
  let work = Handle.need(work)
  Handle.queue(queue)._withUnsafeGuaranteedRef { $0.runAnywhere(barrier: true) { work(context) } }
}

@c @implementation
public func dispatch_barrier_async_and_wait(
  _ queue: dispatch_queue_t?, _ work: Raw?
) {
  let work = Handle.need(work)
  Handle.queue(queue)._withUnsafeGuaranteedRef { queue in
    run(work, on: queue, barrier: true) { queue.runAnywhere(barrier: $0, $1) }
  }
}

// MARK: Many

/// Calls a function with each index of a range, from the threads that take part.
private func apply(_ iterations: Int, _ queue: dispatch_queue_t?, _ call: (Int) -> Void) {
  func ranges(_ first: Int, _ end: Int) {
    var index = first
    while index < end {
      call(index)
      index &+= 1
    }
  }
  if let queue {
    Handle.queue(queue)._withUnsafeGuaranteedRef { $0.applyRanges(iterations, ranges) }
  } else {
    DispatchQueue.performRanges(iterations, ranges)
  }
}

@c @implementation
public func dispatch_apply_f(
  _ iterations: Int, _ queue: dispatch_queue_t?, _ context: Raw?,
  _ work: (@convention(c) (Raw?, Int) -> Void)?
) {
  let work = Handle.need(work)
  apply(iterations, queue) { work(context, $0) }
}

@c @implementation
public func dispatch_apply(
  _ iterations: Int, _ queue: dispatch_queue_t?, _ work: Raw?
) {
  let work = Handle.need(work)
  apply(iterations, queue) { gcd_block_call_index(work, $0) }
}
