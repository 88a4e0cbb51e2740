// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

#if Tasks || !HAS_TRAITS
  /// What is under way in a `withDispatchGroup`.
  ///
  /// ```swift
  /// await withDispatchGroup { scope in
  ///   for file in files { scope.async(on: .global()) { index(file) } }
  /// }
  /// ```
  public final class DispatchGroupScope: Sendable {
    let group = DispatchGroup()
    private let hasEnded = Atomic<Bool>(false)

    fileprivate init() {}

    /// Whether the scope's body has thrown, or its task has been cancelled: items that have not started do not run any more.
    public var isCancelled: Bool {
      // relaxed: a flag by itself.
      hasEnded.load(ordering: .relaxed)
    }

    /// Makes the items that have not started do nothing.
    ///
    /// Complexity: O(1). Blocking: never.
    public func cancel() {
      // relaxed: a flag by itself.
      hasEnded.store(true, ordering: .relaxed)
    }

    /// Runs `work` on `queue` as part of the scope, and returns at once.
    ///
    /// Complexity: O(1). Blocking: never.
    public func async(
      on queue: DispatchQueue, qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
      execute work: @escaping @Sendable () -> Void
    ) {
      queue.async(group: group, qos: qos, flags: flags) { if !self.isCancelled { work() } }
    }

    /// Something that is under way until `leave()` is called, or the value is forgotten: for calls that report their end in a
    /// handler.
    ///
    /// ```swift
    /// await withDispatchGroup { scope in
    ///   let entry = scope.enter()
    ///   fetch(page) { _ in entry.leave() }
    /// }
    /// ```
    ///
    /// Complexity: O(1). Blocking: never.
    public func enter() -> Entry { Entry(group) }

    /// One thing under way. It ends once, with the first `leave()`, or with the last reference.
    public final class Entry: Sendable {
      private let group: DispatchGroup
      private let hasLeft = Atomic<Bool>(false)

      fileprivate init(_ group: DispatchGroup) {
        self.group = group
        group.enter()
      }

      /// It is done. Does nothing the second time.
      ///
      /// Complexity: O(1). Blocking: never.
      public func leave() {
        // relaxed: only one caller leaves; the group publishes what it did.
        if !hasLeft.exchange(true, ordering: .relaxed) { group.leave() }
      }

      deinit { leave() }
    }
  }

  /// Runs `body`, and returns when it and everything that it has started on queues have ended.
  ///
  /// ```swift
  /// await withDispatchGroup { scope in
  ///   for file in files { scope.async(on: .global()) { index(file) } }
  /// }
  /// ```
  ///
  /// It throws what `body` throws: a body that throws nothing needs no `try`.
  ///
  /// There is no count to balance. If the body throws, or the task is cancelled, items that have not started do not run, and
  /// the call returns when the others have ended. No thread is blocked meanwhile.
  ///
  /// Complexity: O(items). Blocking: never: the task is suspended meanwhile.
  nonisolated(nonsending) public func withDispatchGroup<T, E: Error>(
    _ body: nonisolated(nonsending) (DispatchGroupScope) async throws(E) -> T
  ) async throws(E) -> T {
    let scope = DispatchGroupScope()
    // From the first moment on: the body may wait long for something of its own.
    let result = await withTaskCancellationHandler {
      let result: Result<T, E>
      do throws(E) {
        result = .success(try await body(scope))
      } catch {
        scope.cancel()
        result = .failure(error)
      }
      await scope.end()
      return result
    } onCancel: {
      scope.cancel()
    }
    return try result.get()
  }

  extension DispatchGroupScope {
    /// Waits for everything, whatever becomes of the task.
    nonisolated(nonsending) fileprivate func end() async { await AsyncWaiter.waitToTheEnd(for: group) }
  }
#endif
