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
    submit(work)
  }

  /// Runs a work item on this queue, and returns at once.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func async(execute workItem: DispatchWorkItem) {
    enqueue(workItem.makeJob(for: self), isKept: true)
  }

  // MARK: Making jobs

  /// The QoS of an item with one of its own.
  @inline(__always)
  final func effectiveQoS(_ wanted: QoSWord, _ flags: DispatchWorkItemFlags) -> QoSWord {
    if wanted.isUnspecified, flags.isDisjoint(with: [.noQoS, .detached]) { return submissionQoS }
    return effectiveQoSSlow(wanted, flags)
  }

  @inline(never)
  private final func effectiveQoSSlow(_ wanted: QoSWord, _ flags: DispatchWorkItemFlags) -> QoSWord {
    let base = base
    if wanted.isUnspecified { return base }
    // The default global queue is for items of any quality; the others are worth their own at least.
    if kind.isRunQueue { return self === GlobalQueues.default ? wanted : base.merged(with: wanted) }
    // Items are never worth less than their queue.
    if flags.contains(.enforceQoS) { return base.merged(with: wanted) }
    if kind.keepsItemQoS { return wanted.merged(with: floor) }
    if flags.contains(.inheritQoS), !base.isUnspecified { return base }
    return base.merged(with: wanted)
  }

  final func makeJob(
    _ qos: DispatchQoS, _ flags: DispatchWorkItemFlags, _ work: consuming @escaping () -> Void
  ) -> Job {
    makeJob(flags.contains(.noQoS) ? .unspecified : QoSWord(qos), flags, work)
  }

  @inline(__always)
  final func makeJob(
    _ wanted: QoSWord, _ flags: DispatchWorkItemFlags, _ work: consuming @escaping () -> Void
  ) -> Job {
    let effective = effectiveQoS(wanted, flags)
    let job = Job(
      invoke: Items.plain, flags: flags.contains(.barrier) ? .barrier : [], qos: effective.rawValue,
      band: effective.band)
    job.setBody(Job.Body(run: work))
    return job
  }
}
