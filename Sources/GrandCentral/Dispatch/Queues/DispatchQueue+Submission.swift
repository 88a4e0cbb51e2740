// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Asynchronous submission.
extension DispatchQueue {
  /// Runs `work` on this queue, and returns at once.
  ///
  /// ```swift
  /// queue.async { render(page) }
  /// ```
  ///
  /// Items start in the order in which they were submitted. The queue stays alive until the item has run.
  ///
  /// Complexity: O(1); allocates nothing but what the closure captures. Blocking: never.
  public final func async(execute work: consuming @escaping @Sendable () -> Void) {
    let qos = submissionQoS
    let job = Job(invoke: Items.plain, qos: qos.rawValue, band: qos.band)
    job.setBody(Job.Body(run: work))
    enqueue(job)
  }

  /// Runs `work` on this queue, and returns at once.
  ///
  /// - Parameters:
  ///   - group: Entered now, left when the item has run.
  ///   - qos: Lifts the item above its queue, and never lowers it; on the default global queue it decides alone.
  ///   - flags: `.barrier` on a concurrent queue of your own waits for earlier items and runs alone.
  ///   - work: What to run.
  public final func async(
    group: DispatchGroup? = nil, qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
    execute work: consuming @escaping @Sendable () -> Void
  ) {
    let job = makeJob(qos, flags, consume work)
    if let group {
      group.enter()
      job.invoke = Items.grouped
      job.extra = Unmanaged.passRetained(group).toOpaque()
    }
    enqueue(job)
  }

  /// Runs a work item on this queue, and returns at once.
  public final func async(execute workItem: DispatchWorkItem) {
    enqueue(workItem.makeJob(for: self))
  }

  /// Runs a work item on this queue as part of `group`, and returns at once.
  public final func async(group: DispatchGroup, execute workItem: DispatchWorkItem) {
    let job = workItem.makeJob(for: self)
    group.enter()
    job.invoke = Items.groupedWorkItem
    job.owner = Unmanaged.passRetained(group).toOpaque()
    enqueue(job)
  }

  // MARK: Making jobs

  /// The QoS of an item for which none is given: the queue's, else the submitter's.
  @usableFromInline
  @inline(__always)
  final var submissionQoS: QoSWord {
    let base = base
    if !base.isUnspecified { return base }
    return QoSWord(rawValue: UInt16(truncatingIfNeeded: gc_thread_self().pointee.qos))
  }

  /// The QoS of an item with one of its own.
  final func effectiveQoS(_ wanted: QoSWord, _ flags: DispatchWorkItemFlags) -> QoSWord {
    let base = base
    if flags.contains(.noQoS) || flags.contains(.detached), wanted.isUnspecified { return base }
    if wanted.isUnspecified { return submissionQoS }
    // The default global queue is for items of any quality; the others are worth their own at least.
    if kind == .global { return self === GlobalQueues.default ? wanted : base.merged(with: wanted) }
    // Items are never worth less than their queue.
    if flags.contains(.enforceQoS) { return base.merged(with: wanted) }
    if kind == .workloop { return wanted.merged(with: floor) }
    if flags.contains(.inheritQoS), !base.isUnspecified { return base }
    return base.merged(with: wanted)
  }

  final func makeJob(
    _ qos: DispatchQoS, _ flags: DispatchWorkItemFlags, _ work: consuming @escaping () -> Void
  ) -> Job {
    let wanted = flags.contains(.noQoS) ? .unspecified : QoSWord(qos)
    let effective = effectiveQoS(wanted, flags)
    let job = Job(
      invoke: Items.plain, flags: flags.contains(.barrier) ? .barrier : [], qos: effective.rawValue,
      band: effective.band)
    job.setBody(Job.Body(run: work))
    return job
  }
}
