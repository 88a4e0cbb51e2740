// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Submission of items that belong to a group.
extension DispatchQueue {
  /// Runs `work` on this queue, and returns at once.
  ///
  /// - Parameters:
  ///   - group: Entered now, left when the item has run.
  ///   - qos: Lifts the item above its queue, and never lowers it; on the default global queue it decides alone.
  ///   - flags: `.barrier` on a concurrent queue of your own waits for earlier items and runs alone.
  ///   - work: What to run.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func async(
    group: DispatchGroup? = nil, qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
    execute work: consuming @escaping @Sendable () -> Void
  ) {
    let job = makeJob(qos, flags, consume work)
    if let group {
      group.enter()
      job.invoke = Items.grouped
      job.extra = Owned(group).intoWord()
    }
    enqueue(job, isKept: true)
  }

  /// Runs a work item on this queue as part of `group`, and returns at once.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func async(group: DispatchGroup, execute workItem: DispatchWorkItem) {
    let job = workItem.makeJob(for: self)
    group.enter()
    job.invoke = Items.groupedWorkItem
    job.owner = Owned(group).intoWord()
    enqueueSlow(job)
  }
}

extension Items {
  /// A closure that leaves a group afterwards; `extra` is the group, retained.
  static let grouped: Job.Invoke = { raw in
    let job = Job(raw: raw)
    let group = Borrowed<DispatchGroup>(word: job.extra!)
    let body = job.takeBody()
    job.recycle()
    Items.note(group.bits)
    body.run()
    Items.note(0)
    group.use { $0.leave() }
    group.giveBack()
  }

  /// A work item that leaves a group afterwards; `extra` is the item, `owner` the group, both retained.
  static let groupedWorkItem: Job.Invoke = { raw in
    let job = Job(raw: raw)
    let item = Borrowed<DispatchWorkItem>(word: job.extra!)
    let group = Borrowed<DispatchGroup>(word: job.owner!)
    job.recycle()
    Items.note(group.bits)
    item.use { $0.runSubmitted() }
    Items.note(0)
    item.giveBack()
    group.use { $0.leave() }
    group.giveBack()
  }
}
