// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CDispatchGlue
import CPlatform
import Synchronization

/// What waits return when the time is up: Darwin's number.
private let timedOut = 49

// MARK: Groups

@c @implementation
public func dispatch_group_create() -> dispatch_group_t? {
  // The thread that leaves the group may hold no reference to it.
  Handle.made(DispatchGroup(keepsItself: true))
}

@c @implementation
public func dispatch_group_enter(_ group: dispatch_group_t?) {
  (Handle.take(group) as Unmanaged<DispatchGroup>)._withUnsafeGuaranteedRef { $0.enter() }
}

@c @implementation
public func dispatch_group_leave(_ group: dispatch_group_t?) {
  (Handle.take(group) as Unmanaged<DispatchGroup>)._withUnsafeGuaranteedRef { $0.leave() }
}

@c @implementation
public func dispatch_group_wait(_ group: dispatch_group_t?, _ timeout: dispatch_time_t) -> Int {
  (Handle.take(group) as Unmanaged<DispatchGroup>)._withUnsafeGuaranteedRef {
    $0.wait(until: TimeCode(rawValue: timeout).deadline) ? 0 : timedOut
  }
}

@c @implementation
public func dispatch_group_async_f(
  _ group: dispatch_group_t?, _ queue: dispatch_queue_t?, _ context: Raw?, _ work: dispatch_function_t?
) {
  let (group, work): (Unmanaged<DispatchGroup>, dispatch_function_t) = (Handle.take(group), Handle.need(work))
  Handle.queue(queue)._withUnsafeGuaranteedRef { queue in
    let job = Job(work, context, Call.groupedFunction, qos: queue.submissionQoS)
    // An entered group keeps itself alive.
    group._withUnsafeGuaranteedRef { $0.enter() }
    job.extra = group.toOpaque()
    queue.enqueue(job)
  }
}

@c @implementation
public func dispatch_group_async(_ group: dispatch_group_t?, _ queue: dispatch_queue_t?, _ work: Raw?) {
  let (group, work): (Unmanaged<DispatchGroup>, Raw) = (Handle.take(group), Handle.need(work))
  Handle.queue(queue)._withUnsafeGuaranteedRef { queue in
    group._withUnsafeGuaranteedRef { $0.enter() }
    let job = Job(block: work, on: queue)
    if gcd_block_work_item(work) != nil {
      job.invoke = Call.groupedItem
      job.owner = group.retain().toOpaque()
    } else {
      job.invoke = Call.groupedBlock
      job.extra = group.toOpaque()
    }
    queue.enqueue(job)
  }
}

@c @implementation
public func dispatch_group_notify_f(
  _ group: dispatch_group_t?, _ queue: dispatch_queue_t?, _ context: Raw?, _ work: dispatch_function_t?
) {
  let (group, work): (Unmanaged<DispatchGroup>, dispatch_function_t) = (Handle.take(group), Handle.need(work))
  let queue = Handle.queue(queue).takeUnretainedValue()
  group._withUnsafeGuaranteedRef {
    $0.notify(Job(work, context, Call.function, qos: queue.submissionQoS), on: queue)
  }
}

@c @implementation
public func dispatch_group_notify(_ group: dispatch_group_t?, _ queue: dispatch_queue_t?, _ work: Raw?) {
  let (group, work): (Unmanaged<DispatchGroup>, Raw) = (Handle.take(group), Handle.need(work))
  let queue = Handle.queue(queue).takeUnretainedValue()
  group._withUnsafeGuaranteedRef { $0.notify(Job(block: work, on: queue), on: queue) }
}

// MARK: Semaphores

@c @implementation
public func dispatch_semaphore_create(_ value: Int) -> dispatch_semaphore_t? {
  value < 0 ? nil : Handle.made(DispatchSemaphore(value: value))
}

@c @implementation
public func dispatch_semaphore_wait(_ semaphore: dispatch_semaphore_t?, _ timeout: dispatch_time_t) -> Int {
  let semaphore: Unmanaged<DispatchSemaphore> = Handle.take(semaphore)
  return semaphore._withUnsafeGuaranteedRef { $0.take() } ? 0 : waitSlow(semaphore, timeout)
}

@inline(never)
private func waitSlow(_ semaphore: Unmanaged<DispatchSemaphore>, _ timeout: dispatch_time_t) -> Int {
  semaphore._withUnsafeGuaranteedRef { $0.waitSlow(TimeCode(rawValue: timeout).deadline) } ? 0 : timedOut
}

@c @implementation
public func dispatch_semaphore_signal(_ semaphore: dispatch_semaphore_t?) -> Int {
  (Handle.take(semaphore) as Unmanaged<DispatchSemaphore>)._withUnsafeGuaranteedRef { $0.signal() }
}

// MARK: Once

/// `DispatchOnce` in a variable of the program's.
///
/// | word    | meaning                                            |
/// |---------|----------------------------------------------------|
/// | 0       | not yet run                                        |
/// | tid     | runs on that thread, no other thread waits         |
/// | tid + W | runs on that thread, another sleeps on the word    |
/// | -1      | has run; programs compare with it themselves       |
private struct OnceWord {
  private static let waited = 1 << 31
  let word: UnsafeMutablePointer<Atomic<Int>>

  init(_ predicate: UnsafeMutablePointer<dispatch_once_t>?, _ call: StaticString) {
    // unsafe: an atomic word is laid out as the word.
    word = UnsafeMutableRawPointer(Handle.need(predicate, call)).assumingMemoryBound(to: Atomic<Int>.self)
  }

  /// - Returns: whether the caller runs the body.
  func begin() -> Bool {
    let me = Int(Thread.id)
    while true {
      // pairs with: finish – publishes what the body wrote
      let (first, seen) = word.pointee.compareExchange(expected: 0, desired: me, ordering: .acquiring)
      if first {
        Thread.enterBody()
        return true
      }
      if seen == -1 { return false }
      if seen & ~Self.waited == me {
        Fault.misuse(
          .onceReentered,
          "dispatch_once was called from inside its own block, and would wait for itself for ever. Move the nested call "
            + "out of the block.")
      }
      wait(seen)
    }
  }

  private func wait(_ seen: Int) {
    if seen & Self.waited == 0 {
      // relaxed: marks that a sleeper must be woken; the body's writes come with -1.
      if !word.pointee.compareExchange(expected: seen, desired: seen | Self.waited, ordering: .relaxed).exchanged {
        return
      }
    }
    let note = WaitNote.begin(.once, UInt(bitPattern: word), owner: UInt32(truncatingIfNeeded: seen & ~Self.waited))
    let blocking = Blocking.begin()
    // The lower half of the word, which comes first.
    WaitGraph.waitForOnce(DispatchOnce.awaited(word), while: UInt32(truncatingIfNeeded: seen | Self.waited))
    blocking.end()
    note.end()
  }

  func finish() {
    Thread.leaveBody()
    // pairs with: begin – publishes what the body wrote
    if word.pointee.exchange(-1, ordering: .releasing) & Self.waited != 0 { _ = Futex.wake(word, count: .max) }
  }
}

@c @implementation
public func dispatch_once_f(
  _ predicate: UnsafeMutablePointer<dispatch_once_t>?, _ context: Raw?, _ function: dispatch_function_t?
) {
  let once = OnceWord(predicate, "dispatch_once_f")
  let function = Handle.need(function)
  if once.begin() {
    function(context)
    once.finish()
  }
}

@c @implementation
public func dispatch_once(_ predicate: UnsafeMutablePointer<dispatch_once_t>?, _ block: Raw?) {
  let once = OnceWord(predicate, "dispatch_once")
  let block = Handle.need(block)
  if once.begin() {
    gcd_block_call(block)
    once.finish()
  }
}

// MARK: Time

@c @implementation
public func dispatch_time(_ when: dispatch_time_t, _ delta: Int64) -> dispatch_time_t {
  TimeCode(rawValue: when).advanced(by: delta).rawValue
}

@c @implementation
public func dispatch_walltime(_ when: UnsafePointer<timespec>?, _ delta: Int64) -> dispatch_time_t {
  guard let when else { return TimeCode.wallNow.advanced(by: delta).rawValue }
  return TimeCode.wall(seconds: Int64(when.pointee.tv_sec), nanoseconds: Int64(when.pointee.tv_nsec), delta: delta)
    .rawValue
}
