// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// A serial queue of a pool: it counts its items, and references to it are not counted.
///
/// Other queues do not pay for the figures: items are counted where the kinds of queues differ (Lane+Kind), and by a function
/// that runs before the item's own.
///
/// Many threads are handed the same few queues, and would contend for their reference counts; so pooled queues are never
/// freed. When a pool goes, its queues are kept for the next pool of that name and quality of service.
///
/// A queue on which something is left that its users have set serves no other pool. It is looked at once, and set aside.
final class PooledQueue: DispatchSerialQueue, @unchecked Sendable {  // atomics; `next` is guarded by its lock
  // Next to the list's tail, which a pusher has to have anyway.
  private let submitted = Atomic<UInt64>(0)
  private let gap = CacheLine.Gap()
  /// Written by the owner.
  private let completed = Atomic<UInt64>(0)
  /// Guarded by `PooledQueue.lock`: another one that no pool has. Not private: a test counts them.
  @exclusivity(unchecked) private(set) var next: PooledQueue?

  private init(name: String, qos: QoSWord) {
    // relaxed: the same each time; what publishes the queue's jobs publishes this.
    Lane.countingRunner.store(Lane.address(PooledQueue.counted), ordering: .relaxed)
    super.init(pooled: name, qos: qos)
  }

  // MARK: Figures

  override func enqueueCounted(_ job: Job) {
    // relaxed: a figure.
    submitted.wrappingAdd(1, ordering: .relaxed)
    job.inner = job.invoke
    job.invoke = PooledQueue.counted
    pushSlow(job)
  }

  private static let counted: Job.Invoke = { raw in
    let job = Job(raw: raw)
    // unsafe: the thread that runs an item of a pooled queue holds that queue, and it is the innermost one.
    let queue = Borrowed<PooledQueue>(word: QueueContext.innermost!.pointee.lane!.word)
    job.inner(raw)
    queue.use { $0.didRun() }
  }

  @inline(__always)
  private func didRun() {
    // relaxed: a figure; the owner alone writes it, and owners follow each other in the lane's order.
    completed.store(completed.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
  }

  /// Items pending, and items done.
  var figures: (depth: Int, completed: UInt64) {
    // relaxed: figures; whichever is read first, an item may come or go before the other.
    let done = completed.load(ordering: .relaxed)
    let depth = Int64(bitPattern: submitted.load(ordering: .relaxed) &- done)
    return (Int(max(0, depth)), done)
  }

  /// How busy the queue is: its pending items, or 1 if a thread holds it without any.
  var load: Int {
    let depth = figures.depth
    if depth > 0 { return depth }
    // relaxed: a figure.
    return state.load(ordering: .relaxed).owner != 0 ? 1 : 0
  }

  // MARK: Lives

  private static let lock = ProcessLock()
  private static let buckets = 256
  /// Guarded by `lock`: queues that no pool has, newest first, in as many lists as there are buckets for names, and those that are set aside,
  /// in one list more; nil before the first one. Not private: a test counts them.
  /// No array, and nothing that is made on demand: both would ask the Swift runtime, whose locks a child may never get (`Engine/Fork.swift`).
  nonisolated(unsafe) private(set) static var retired: UnsafeMutablePointer<PooledQueue?>?

  @inline(never)
  @_optimize(size)
  static func bucket(_ name: String) -> Int {
    var (name, hash) = (name, UInt32(2_166_136_261))
    name.withUTF8 { for byte in $0 { hash = (hash ^ UInt32(byte)) &* 16_777_619 } }
    return Int(hash >> 8) % buckets
  }

  /// No thread may be moving queues while the process forks.
  static func holdRetired(_ hold: Bool) { hold ? lock.lock() : lock.unlock() }

  /// A queue for a new pool.
  ///
  /// - Returns: the queue, and whether the runtime leaves its reference count alone.
  static func make(name: String, qos: QoSWord) -> (queue: PooledQueue, isUncounted: Bool) {
    let queue = takeRetired(name, qos) ?? PooledQueue(name: name, qos: qos)
    return (queue, Immortal.grant(queue))
  }

  /// The newest one that fits, if it is as good as new: idle, and with nothing that its former users have set.
  @_optimize(size)
  private static func takeRetired(_ name: String, _ qos: QoSWord) -> PooledQueue? {
    let bucket = bucket(name)
    while let queue = takeIdle(name, qos, in: bucket) {
      let isChanged = queue.isChanged
      // Its work may have begun to go on between two looks, because it was suspended at the first one.
      if isChanged || queue.isBusy {
        // Set aside it stays reachable: a tool that finds leaks would report it otherwise.
        queue.retire(into: isChanged ? buckets : bucket)
        continue
      }
      // relaxed: figures of an idle queue.
      queue.submitted.store(0, ordering: .relaxed)
      queue.completed.store(0, ordering: .relaxed)
      return queue
    }
    return nil
  }

  /// Takes the newest one that fits out of its list, unless its former users still have work on it.
  @_optimize(size)
  private static func takeIdle(_ name: String, _ qos: QoSWord, in bucket: Int) -> PooledQueue? {
    lock.lock()
    defer { lock.unlock() }
    guard let retired else { return nil }
    var previous: PooledQueue?
    var link = retired[bucket]
    while let queue = link {
      link = queue.next
      if queue.ownQoS == qos, Text.equal(queue.name, name), !queue.isBusy {
        if let previous { previous.next = link } else { retired[bucket] = link }
        queue.next = nil
        return queue
      }
      previous = queue
    }
    return nil
  }

  /// The pool goes; others may still use the queue.
  func retire() { retire(into: Self.bucket(name)) }

  @_optimize(size)
  private func retire(into bucket: Int) {
    Self.lock.lock()
    let retired = Self.retired ?? Self.makeBuckets()
    next = retired[bucket]
    retired[bucket] = self
    Self.lock.unlock()
  }

  /// The lock is held.
  private static func makeBuckets() -> UnsafeMutablePointer<PooledQueue?> {
    // unsafe: never freed.
    let made = UnsafeMutablePointer<PooledQueue?>.allocate(capacity: buckets + 1)
    made.initialize(repeating: nil, count: buckets + 1)
    retired = made
    return made
  }

  /// Whether there is work on the queue that ends by itself: the queue may serve a pool afterwards.
  @inline(never)
  @_optimize(size)
  private var isBusy: Bool {
    let state = state.load()
    return !state.isHalted && (figures.depth != 0 || !items.tailIsNil || state.has(~LaneState.idle))
  }

  /// Whether something is left that the queue's users have set. Not with the lock: `Extras` has another one.
  private var isChanged: Bool {
    // relaxed: a former user that changes something from now on does so beside the users of the new pool.
    state.load(ordering: .relaxed).isHalted || targetWord.lane != GlobalQueues.root(for: ownQoS).reference
      || !(extrasReference?.use { $0.isEmpty } ?? true)
  }
}
