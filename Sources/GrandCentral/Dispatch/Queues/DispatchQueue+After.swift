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
  /// A deadline that has passed submits at once; `.distantFuture` never does, and releases the closure. There is no leeway: a timer
  /// source has one.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func asyncAfter(
    deadline: DispatchTime, qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
    execute work: consuming @escaping @Sendable () -> Void
  ) {
    after(deadline.deadline) { makeJob(qos, flags, work) }
  }

  /// Submits `work` at `wallDeadline`, which follows steps of the clock.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func asyncAfter(
    wallDeadline: DispatchWallTime, qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
    execute work: consuming @escaping @Sendable () -> Void
  ) {
    after(wallDeadline.deadline) { makeJob(qos, flags, work) }
  }

  /// Submits a work item at `deadline`. Cancelling the item removes the timer and releases the closure at once; a thread that
  /// waits for the item goes on at `deadline`.
  ///
  /// Complexity: O(1), however often the item is delayed. Blocking: never.
  public final func asyncAfter(deadline: DispatchTime, execute: DispatchWorkItem) {
    after(deadline.deadline, execute)
  }

  /// Submits a work item at `wallDeadline`, which follows steps of the clock.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func asyncAfter(wallDeadline: DispatchWallTime, execute: DispatchWorkItem) {
    after(wallDeadline.deadline, execute)
  }

  final func after(_ deadline: Deadline, _ makeJob: () -> Job) {
    if deadline.isNever { return }
    let job = makeJob()
    if deadline.remaining() == 0 { return enqueueSlow(job) }
    DelayedJob.start(job, on: self, at: deadline)
  }

  /// - Parameter prepare: Is called with the item's job, and kept until there is one, or none is to come.
  final func after(_ deadline: Deadline, _ item: DispatchWorkItem, prepare: ((Job) -> Void)? = nil) {
    if deadline.isNever { return }
    if deadline.remaining() > 0 { return DelayedItem.start(item, on: self, at: deadline, prepare) }
    let job = item.makeJob(for: self)
    prepare?(job)
    enqueueSlow(job)
  }
}

/// A job that waits for its time in the timer wheel, and the queue that it is for.
enum DelayedJob {
  static func start(_ job: Job, on queue: DispatchQueue, at deadline: Deadline) {
    if Recorder.isOn { World.tellOfTimers(World.setsTimer) }
    // unsafe: an entry is as large as a node.
    let entry = Magazine.take().bindMemory(to: TimerEntry.self, capacity: 1)
    entry.initialize(
      to: TimerEntry(
        deadline: deadline.nanoseconds, context: job.raw,
        word: UInt64(Owned(queue).give().bits), fire: fired))
    Engine.current.timers.add(entry, on: deadline.clock, in: Engine.current)
  }

  static let fired: TimerEntry.Fire = { raw in
    let (job, queue) = take(raw)
    queue.use { $0.enqueueSlow(job) }
    queue.giveBack()
  }

  /// The job and its queue, retained. Called once, when the wheel has let go of the entry, whose memory goes.
  @inline(__always)
  static func take(_ raw: Job.Word) -> (job: Job, queue: Borrowed<DispatchQueue>) {
    // unsafe: see above; its words are what `start` put there.
    let entry = raw.assumingMemoryBound(to: TimerEntry.self)
    let delayed = entry.pointee.delayed
    // Another thread has written the job, and this one is going to: its line comes once, and meanwhile the entry goes.
    gc_prefetch_write(delayed.job.raw)
    entry.deinitialize(count: 1)
    Magazine.give(raw)
    return delayed
  }
}

extension TimerEntry {
  /// What `DelayedJob` has put into the entry's words: the job, and its queue, retained.
  fileprivate var delayed: (job: Job, queue: Borrowed<DispatchQueue>) {
    (Job(raw: context.unsafelyUnwrapped), Borrowed(bits: UInt(word)).unsafelyUnwrapped)
  }
}
