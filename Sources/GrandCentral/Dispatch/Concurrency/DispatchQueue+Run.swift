// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if Tasks || !HAS_TRAITS
  // Running work on a queue and waiting for it, in async code. The task itself goes to the queue and comes back: so its local
  // values, its priority and its cancellation are there, and nothing is boxed.
  extension DispatchQueue {
    /// Runs `work` as an item of this queue and returns its result; errors come back as they are thrown.
    ///
    /// ```swift
    /// let total = try await ledger.run { try computeTotal() }
    /// ```
    ///
    /// No thread is blocked. The task's local values and its priority are the item's as well. The work runs even if the task is
    /// cancelled; it may ask for `Task.isCancelled`. If the calling task prefers this queue, the work runs at once.
    ///
    /// Complexity: O(1). Blocking: never.
    nonisolated(nonsending) public final func run<T: Sendable, E: Error>(
      _ work: @Sendable () throws(E) -> T
    ) async throws(E) -> T {
      try await withTaskExecutorPreference(self) { @concurrent () async throws(E) -> T in try work() }
    }

    /// As `run(_:)`; with `.barrier` the item runs alone on a concurrent queue.
    ///
    /// Complexity: O(1). Blocking: never: the task is suspended meanwhile.
    nonisolated(nonsending) public final func run<T: Sendable, E: Error>(
      flags: DispatchWorkItemFlags, _ work: @Sendable () throws(E) -> T
    ) async throws(E) -> T {
      guard flags.contains(.barrier), kind.hasReaders else { return try await run(work) }
      return try await withTaskExecutorPreference(BarrierExecutor(queue: self)) { @concurrent () async throws(E) -> T in
        try work()
      }
    }

    /// Waits, without blocking a thread, until everything that was submitted before has run.
    ///
    /// ```swift
    /// for page in pages { queue.async { cache.store(page) } }
    /// try await queue.barrier()
    /// ```
    ///
    /// On a concurrent queue it waits as a barrier does, and later items wait for it; on a global queue it is an item
    /// like others. Complexity: O(1). Blocking: never. Throws when the task is cancelled, at once.
    nonisolated(nonsending) public final func barrier() async throws(CancellationError) {
      let item = DispatchWorkItem(flags: .barrier) {}
      async(execute: item)
      do {
        try await item.value()
      } catch {
        item.cancel()
        throw error
      }
    }
  }
#endif
