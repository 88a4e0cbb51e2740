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
      let block = Block(work)
      // unsafe: the block keeps its item, and the caller the block.
      Unmanaged<DispatchWorkItem>.fromOpaque(item)._withUnsafeGuaranteedRef { item in
        queue.after(deadline, item) { Call.keep(block.raw, in: $0) }
      }
    } else {
      queue.after(deadline) { Job(block: work, on: queue) }
    }
  }
}

// MARK: Synchronous

/// Runs the work item that a block stands for.
@inline(never)
private func run(item: Raw, on queue: Unmanaged<DispatchQueue>, barrier: Bool, anywhere: Bool) {
  // unsafe: the block keeps its item, and the caller the block and the queue.
  Unmanaged<DispatchWorkItem>.fromOpaque(item)._withUnsafeGuaranteedRef { item in
    let queue = queue.takeUnretainedValue()
    let barrier = barrier || item.flags.contains(.barrier)
    item.noteSubmission(to: queue)
    if anywhere {
      let qos = queue.effectiveQoS(item.wantedQoS, item.flags)
      queue.runAnywhere(barrier: barrier, qos: qos) { item.runSubmitted() }
    } else {
      queue.runInline(barrier: barrier) { item.runSubmitted() }
    }
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
  let queue = Handle.queue(queue)
  if let item = gcd_block_work_item(work) { return run(item: item, on: queue, barrier: false, anywhere: false) }
  queue._withUnsafeGuaranteedRef { $0.runInline(barrier: false) { gcd_block_call(work) } }
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
  let queue = Handle.queue(queue)
  if let item = gcd_block_work_item(work) { return run(item: item, on: queue, barrier: true, anywhere: false) }
  queue._withUnsafeGuaranteedRef { $0.runInline(barrier: true) { gcd_block_call(work) } }
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
  let queue = Handle.queue(queue)
  if let item = gcd_block_work_item(work) { return run(item: item, on: queue, barrier: false, anywhere: true) }
  queue._withUnsafeGuaranteedRef { $0.runAnywhere(barrier: false) { gcd_block_call(work) } }
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
  let queue = Handle.queue(queue)
  if let item = gcd_block_work_item(work) { return run(item: item, on: queue, barrier: true, anywhere: true) }
  queue._withUnsafeGuaranteedRef { $0.runAnywhere(barrier: true) { gcd_block_call(work) } }
}

// MARK: Many

/// Calls a function with each index of a range, from the threads that take part.
@inline(__always)
private func apply(_ iterations: Int, _ queue: dispatch_queue_t?, _ call: (Int) -> Void) {
  func loop(_ loop: ApplyLoop.Pointer) { ApplyLoop.run(loop, call) }
  if let queue {
    Handle.queue(queue)._withUnsafeGuaranteedRef { $0.applyLoops(iterations, loop) }
  } else {
    DispatchQueue.performLoops(iterations, loop)
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
