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
    /// cancelled; it may ask for `Task.isCancelled`. The item ends with the work: the caller goes on where it came from, and the
    /// queue goes on with its next item. If the calling task prefers this queue and is in no actor, the work runs at once.
    ///
    /// Complexity: O(1). Blocking: never.
    nonisolated(nonsending) public final func run<T: Sendable, E: Error>(
      _ work: @Sendable () throws(E) -> T
    ) async throws(E) -> T {
      try await withTaskExecutorPreference(self, isolation: CallerOfRun.base(of: #isolation)) {
        @concurrent () async throws(E) -> T in
        try work()
      }
    }

    /// As `run(_:)`; with `.barrier` the item runs alone on a concurrent queue.
    ///
    /// Complexity: O(1). Blocking: never: the task is suspended meanwhile.
    nonisolated(nonsending) public final func run<T: Sendable, E: Error>(
      flags: DispatchWorkItemFlags, _ work: @Sendable () throws(E) -> T
    ) async throws(E) -> T {
      guard flags.contains(.barrier), kind.hasReaders else { return try await run(work) }
      return try await withTaskExecutorPreference(
        BarrierExecutor(queue: self), isolation: CallerOfRun.base(of: #isolation)
      ) { @concurrent () async throws(E) -> T in
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

  private enum CallerOfRun {
    /// The isolation in which the preference for the queue is set and taken back: the caller's own, or none if the caller is an
    /// ordinary actor.
    ///
    /// An ordinary actor has no executor of its own: a job of the runtime runs what waits for the actor, and the runtime gives this
    /// job to the executor that the returning task prefers. If the task came back to the actor while it still preferred the queue,
    /// this job would be an item of the queue, and the actor's code would hold the queue. So the task leaves the actor first, and
    /// comes back when the preference has gone. To leave costs no change of threads, unless the task prefers yet another executor.
    /// Other callers save these steps: their executors take the task whatever it prefers.
    @inline(__always)
    static func base(of isolation: (any Actor)?) -> (any Actor)? {
      guard let isolation else { return nil }
      // unsafe: a reference to an executor is two words, as `UnownedTaskExecutor.==` of the standard library shows to its clients.
      // The second one has the table of the executor's functions as a `SerialExecutor`. It is 0 for ordinary actors, and for no others.
      let words = unsafeBitCast(isolation.unownedExecutor, to: (identity: UInt, functions: UInt).self)
      return words.functions == 0 ? nil : isolation
    }
  }
#endif
