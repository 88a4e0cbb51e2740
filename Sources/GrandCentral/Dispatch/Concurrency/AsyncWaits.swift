// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if Tasks || !HAS_TRAITS
  // Waiting in async code: the task is suspended, no thread is blocked. Each wait ends at once when its task is cancelled.
  //
  // The async forms have a name of their own. An async overload of `wait` would win in every async function, and code that
  // calls the blocking `wait()` there compiles with Dispatch: it would need `try await` with us, which a `rethrows` or
  // non-throwing function cannot give.

  extension AsyncWaitable {
    /// Waits to the end.
    nonisolated(nonsending) fileprivate func suspend(until deadline: Deadline) async throws(CancellationError)
      -> DispatchTimeoutResult
    {
      switch await AsyncWaiter.wait(for: self, until: deadline) {
      case .success: return .success
      case .timedOut: return .timedOut
      case .cancelled: throw CancellationError()
      }
    }
  }

  extension DispatchGroup {
    /// Waits until nothing is under way, without blocking a thread.
    ///
    /// ```swift
    /// try await group.asyncWait()
    /// ```
    ///
    /// Tasks and threads that wait are let through together. Complexity: O(1). Blocking: never. Throws when the task is
    /// cancelled, at once.
    nonisolated(nonsending) public func asyncWait() async throws(CancellationError) {
      _ = try await suspend(until: .never)
    }

    /// Waits until nothing is under way, or until `timeout`, without blocking a thread.
    ///
    /// Complexity: O(1). Blocking: never.
    nonisolated(nonsending) public func asyncWait(timeout: DispatchTime) async throws(CancellationError)
      -> DispatchTimeoutResult
    { try await suspend(until: timeout.deadline) }

    /// Waits until nothing is under way, or until `wallTimeout`, without blocking a thread.
    ///
    /// Complexity: O(1). Blocking: never.
    nonisolated(nonsending) public func asyncWait(wallTimeout: DispatchWallTime) async throws(CancellationError)
      -> DispatchTimeoutResult
    { try await suspend(until: wallTimeout.deadline) }
  }

  extension DispatchSemaphore {
    /// Takes one signal; waits for it if there is none, without blocking a thread.
    ///
    /// ```swift
    /// try await permits.asyncWait()
    /// defer { permits.signal() }
    /// ```
    ///
    /// Tasks and threads that wait are served together, first come, first served. Complexity: O(1). Blocking: never.
    /// Throws when the task is cancelled, at once; then no signal has been taken.
    nonisolated(nonsending) public func asyncWait() async throws(CancellationError) {
      _ = try await suspend(until: .never)
    }

    /// Takes one signal; waits for it until `timeout`, without blocking a thread.
    ///
    /// Complexity: O(1). Blocking: never.
    nonisolated(nonsending) public func asyncWait(timeout: DispatchTime) async throws(CancellationError)
      -> DispatchTimeoutResult
    { try await suspend(until: timeout.deadline) }

    /// Takes one signal; waits for it until `wallTimeout`, without blocking a thread.
    ///
    /// Complexity: O(1). Blocking: never.
    nonisolated(nonsending) public func asyncWait(wallTimeout: DispatchWallTime) async throws(CancellationError)
      -> DispatchTimeoutResult
    { try await suspend(until: wallTimeout.deadline) }
  }

  extension DispatchWorkItem {
    /// Waits until the item has run once, or was dequeued cancelled, without blocking a thread.
    ///
    /// ```swift
    /// queue.async(execute: search)
    /// try await search.value()
    /// ```
    ///
    /// The queue that holds the item is boosted to the task's priority, also if that rises later. Complexity: O(1). Blocking: never.
    /// Throws when the task is cancelled, at once; the item is not cancelled.
    nonisolated(nonsending) public final func value() async throws(CancellationError) {
      _ = try await suspend(until: .never)
    }

    /// Waits as `value()`, until `timeout` at most.
    ///
    /// Complexity: O(1). Blocking: never.
    nonisolated(nonsending) public final func asyncWait(timeout: DispatchTime) async throws(CancellationError)
      -> DispatchTimeoutResult
    { try await suspend(until: timeout.deadline) }

    /// Waits as `value()`, until `wallTimeout` at most.
    ///
    /// Complexity: O(1). Blocking: never.
    nonisolated(nonsending) public final func asyncWait(wallTimeout: DispatchWallTime) async throws(CancellationError)
      -> DispatchTimeoutResult
    { try await suspend(until: wallTimeout.deadline) }
  }
#endif
