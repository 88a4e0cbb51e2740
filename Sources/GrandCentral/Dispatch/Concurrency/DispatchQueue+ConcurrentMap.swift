// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

#if Tasks || !HAS_TRAITS
  extension DispatchQueue {
    /// Calls `transform` for each element, on several threads of this queue at once, and returns the results in the order of
    /// the elements.
    ///
    /// ```swift
    /// let sizes = try await DispatchQueue.global(qos: .utility).concurrentMap(files) { try size(of: $0) }
    /// ```
    ///
    /// As many threads take part as there are processors; one on a serial queue. If a call throws, no further calls begin and
    /// its error is thrown; if several calls throw, that of the earliest element. If the task is cancelled, no further calls
    /// begin and `CancellationError` is thrown. The calls see the task's local values, its priority and its cancellation.
    ///
    /// Complexity: O(n) calls of the body for n elements. Blocking: never.
    nonisolated(nonsending) public final func concurrentMap<Elements: RandomAccessCollection & Sendable, T: Sendable>(
      _ elements: Elements, _ transform: @escaping @Sendable (Elements.Element) throws -> T
    ) async throws -> [T] {
      let map = ConcurrentMap(elements, transform)
      let helpers = kind.runsSeveral ? min(map.count, DispatchQueue.processorsInUse) : 1
      await withDiscardingTaskGroup { group in
        for _ in 0..<helpers { group.addTask(executorPreference: self) { map.help() } }
      }
      return try map.results()
    }

    /// As the queue's own `concurrentMap`, on the default global queue.
    ///
    /// Complexity: O(n) calls of the body for n elements. Blocking: never: the task is suspended meanwhile.
    nonisolated(nonsending) public static func concurrentMap<Elements: RandomAccessCollection & Sendable, T: Sendable>(
      _ elements: Elements, _ transform: @escaping @Sendable (Elements.Element) throws -> T
    ) async throws -> [T] {
      try await GlobalQueues.default.concurrentMap(elements, transform)
    }

    private static var processorsInUse: Int {
      // relaxed: a setting.
      Engine.current.parallelism.load(ordering: .relaxed)
    }
  }

  /// One call of `concurrentMap`: helpers take runs of indices until there are none, or one of them has failed.
  private final class ConcurrentMap<Elements: RandomAccessCollection & Sendable, T: Sendable>:
    @unchecked Sendable  // each slot is written by the helper that has taken its index, and read when all have returned
  {
    private let elements: Elements
    private let transform: @Sendable (Elements.Element) throws -> T
    let count: Int
    /// How many indices a helper takes at once.
    private let stride: Int
    private let slots: UnsafeMutablePointer<T?>
    /// The first index that no helper has taken.
    private let next = Atomic<Int>(0)
    /// A call has thrown.
    private let hasFailed = Atomic<Bool>(false)
    private let lock = Lock()
    /// Guarded by `lock`.
    private var failure: (index: Int, error: any Error)?

    init(_ elements: Elements, _ transform: @escaping @Sendable (Elements.Element) throws -> T) {
      self.elements = elements
      self.transform = transform
      count = elements.count
      stride = max(1, min(64, count / 256))
      slots = .allocate(capacity: count)
      slots.initialize(repeating: nil, count: count)
    }

    deinit {
      slots.deinitialize(count: count)
      slots.deallocate()
    }

    func help() {
      while true {
        // relaxed: an index; the task group publishes the results.
        let first = next.wrappingAdd(stride, ordering: .relaxed).oldValue
        if first >= count { return }
        for index in first..<min(count, first + stride) {
          // relaxed: it ends calls that have not begun; `lock` publishes the error.
          if Task.isCancelled || hasFailed.load(ordering: .relaxed) { return }
          do {
            slots[index] = try transform(elements[elements.index(elements.startIndex, offsetBy: index)])
          } catch {
            return fail(index, error)
          }
        }
      }
    }

    private func fail(_ index: Int, _ error: any Error) {
      // relaxed: see `help`.
      hasFailed.store(true, ordering: .relaxed)
      lock.lock()
      defer { lock.unlock() }
      if let failure, failure.index < index { return }
      failure = (index, error)
    }

    /// When all helpers have returned.
    func results() throws -> [T] {
      if let failure { throw failure.error }
      var results: [T] = []
      results.reserveCapacity(count)
      for index in 0..<count {
        guard let result = slots[index] else { throw CancellationError() }
        results.append(result)
      }
      return results
    }
  }
#endif
