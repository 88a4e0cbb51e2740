// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Delayed submission.
extension DispatchQueue {
  /// Submits `work` at `deadline`, never before.
  ///
  /// ```swift
  /// queue.asyncAfter(deadline: .now() + .milliseconds(200)) { retry() }
  /// ```
  ///
  /// A deadline that has passed submits at once; `.distantFuture` never does, and releases the closure.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func asyncAfter(
    deadline: DispatchTime, qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
    execute work: consuming @escaping @Sendable () -> Void
  ) {
    after(deadline.deadline) { makeJob(qos, flags, work) }
  }

  /// Submits `work` at `wallDeadline`, which follows steps of the clock.
  public final func asyncAfter(
    wallDeadline: DispatchWallTime, qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
    execute work: consuming @escaping @Sendable () -> Void
  ) {
    after(wallDeadline.deadline) { makeJob(qos, flags, work) }
  }

  /// Submits a work item at `deadline`. Cancelling the item removes the timer and releases the closure at once.
  public final func asyncAfter(deadline: DispatchTime, execute: DispatchWorkItem) {
    after(deadline.deadline, execute)
  }

  /// Submits a work item at `wallDeadline`, which follows steps of the clock.
  public final func asyncAfter(wallDeadline: DispatchWallTime, execute: DispatchWorkItem) {
    after(wallDeadline.deadline, execute)
  }

  final func after(_ deadline: Deadline, _ makeJob: () -> Job) {
    if deadline.isNever { return }
    let job = makeJob()
    let remaining = deadline.remaining()
    if remaining == 0 { return enqueue(job) }
    DelayedJob.start(job, on: self, at: deadline, leeway: Delay.leeway(for: remaining))
  }

  final func after(_ deadline: Deadline, _ item: DispatchWorkItem) {
    if deadline.isNever { return }
    let remaining = deadline.remaining()
    if remaining == 0 { return async(execute: item) }
    DelayedItem(item, on: self, at: deadline, leeway: Delay.leeway(for: remaining)).start()
  }
}

/// How late a delayed submission may be so that it can share a wake-up with its neighbours.
enum Delay {
  private static let largestLeeway: UInt64 = 32_000

  static func leeway(for remaining: UInt64) -> UInt64 { min(remaining / 16, largestLeeway) }
}

/// A job that waits for its time in the timer wheel: the entry's words are the job and the queue, retained.
enum DelayedJob {
  static func start(_ job: Job, on queue: DispatchQueue, at deadline: Deadline, leeway: UInt64) {
    // unsafe: an entry is as large as a node.
    let entry = Magazine.take().bindMemory(to: TimerEntry.self, capacity: 1)
    entry.initialize(
      to: TimerEntry(
        deadline: deadline.nanoseconds, leeway: leeway, context: job.raw,
        word: UInt64(UInt(bitPattern: Unmanaged.passRetained(queue).toOpaque())), fire: fired))
    Engine.shared.pointee.timers.add(entry, on: deadline.clock, in: Engine.shared.pointee)
  }

  private static let fired: TimerEntry.Fire = { raw in
    // unsafe: fired once, by the wheel that has let go of the entry; its words are what `start` put there.
    let entry = raw.assumingMemoryBound(to: TimerEntry.self)
    let job = Job(raw: entry.pointee.context!)
    let queue = Unmanaged<DispatchQueue>.fromOpaque(UnsafeRawPointer(bitPattern: UInt(entry.pointee.word))!)
    entry.deinitialize(count: 1)
    Magazine.give(raw)
    queue._withUnsafeGuaranteedRef { $0.enqueue(job) }
    queue.release()
  }
}

/// A work item that waits for its time, and can be called off meanwhile.
///
/// The wheel holds one reference to it while the timer is live; whoever takes the timer out of the wheel, by firing or
/// by cancelling, releases it.
final class DelayedItem: @unchecked Sendable {  // immutable but for the entry, which the timers' lock guards
  /// I
  private let item: DispatchWorkItem
  private let queue: DispatchQueue
  private let deadline: Deadline
  private let entry: UnsafeMutablePointer<TimerEntry>
  /// M(the item's lock): another one of the same item, retained.
  var next: Unmanaged<DelayedItem>?

  init(_ item: DispatchWorkItem, on queue: DispatchQueue, at deadline: Deadline, leeway: UInt64) {
    self.item = item
    self.queue = queue
    self.deadline = deadline
    // unsafe: an entry is as large as a node.
    entry = Magazine.take().bindMemory(to: TimerEntry.self, capacity: 1)
    entry.initialize(to: TimerEntry(deadline: deadline.nanoseconds, leeway: leeway, fire: DelayedItem.fired))
  }

  deinit {
    entry.deinitialize(count: 1)
    Magazine.give(UnsafeMutableRawPointer(entry))
  }

  func start() {
    entry.pointee.context = Unmanaged.passRetained(self).toOpaque()
    // Noted before it can fire: firing forgets it again.
    item.noteTimer(self)
    Engine.shared.pointee.timers.add(entry, on: deadline.clock, in: Engine.shared.pointee)
    if item.isCancelled {
      // The cancellation may have come before there was an entry to cancel.
      item.forgetTimer(self)
      cancel()
    }
  }

  /// Takes the timer out of the wheel, if it has not fired.
  func cancel() {
    if Engine.shared.pointee.timers.cancel(entry, on: deadline.clock) {
      Unmanaged.passUnretained(self).release()
    }
  }

  private static let fired: TimerEntry.Fire = { raw in
    // unsafe: fired once, by the wheel that has let go of the entry; the reference is the one that `start` made.
    let entry = raw.assumingMemoryBound(to: TimerEntry.self)
    let delayed = Unmanaged<DelayedItem>.fromOpaque(entry.pointee.context!).takeRetainedValue()
    delayed.item.forgetTimer(delayed)
    delayed.queue.async(execute: delayed.item)
  }
}
