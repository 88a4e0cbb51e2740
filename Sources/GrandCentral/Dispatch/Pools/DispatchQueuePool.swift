// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// A few serial queues that share the work of many users: order where it is asked for, without a queue for each.
///
/// A program that makes a queue per image, per connection or per file has more queues than work that can run. A pool has
/// as many as should run beside each other, and hands them out in turn:
///
/// ```swift
/// let readers = DispatchQueuePool(name: "file.read", queueCount: 5, qos: .background)
/// readers.queue.async { load(file) }                   // the next one in turn
/// readers.queue(forKey: account).async { apply(change) }  // always the same one for the same account
/// DispatchQueuePool.default(for: .utility).queue.async { compress(file) }
/// ```
///
/// Each thread goes round the queues by itself, from a place of its own: handing out changes nothing that threads share.
///
/// References to a pool's queues are not counted. The queues stay when the pool goes, and serve the next pool of the same name
/// and quality of service: use a limited number of names for pools. A queue that is suspended, or has a value, a context or a
/// target that was set, serves no other pool, and stays as well: take these back before the pool goes.
///
/// A pool runs nothing itself: suspending it, or giving it a target, holds back or moves none of its queues.
public final class DispatchQueuePool: DispatchObject, @unchecked Sendable {  // immutable, but for atomics
  /// The most queues that a pool can have.
  @_alwaysEmitIntoClient public static var maximumQueueCount: Int { 32 }

  /// What the pool, and each of its queues, is called.
  public let name: String

  /// The quality of service of the queues.
  public let qos: DispatchQoS.QoSClass

  /// The number of queues, 1…32.
  public let queueCount: Int

  /// The queues.
  private let storage: UnsafeMutablePointer<Borrowed<PooledQueue>>

  /// Whether references to the queues need no counting.
  private let isUncounted: Bool

  /// Where the next thread that comes begins.
  private let nextStart = Atomic<UInt32>(0)

  /// The same in a simulation: the number of the run in the upper half, as each run begins anew.
  private let nextSimulated = Atomic<UInt64>(0)

  /// A pool with queues of its own.
  ///
  /// - Parameters:
  ///   - name: The label of each of the queues.
  ///   - queueCount: How many queues; less than 1 counts as 1, more than 32 as 32.
  ///   - qos: Their quality of service.
  ///
  /// Complexity: O(`queueCount`). Blocking: never.
  @_optimize(size)
  public init(name: String, queueCount: Int, qos: DispatchQoS.QoSClass = .default) {
    self.name = name
    self.qos = qos
    let count = min(max(1, queueCount), Self.maximumQueueCount)
    self.queueCount = count
    // unsafe: freed in deinit; written here only.
    storage = .allocate(capacity: count)
    let word = QoSWord(DispatchQoS(qosClass: qos, relativePriority: 0))
    var uncounted = true
    for index in 0..<count {
      let (queue, isUncounted) = PooledQueue.make(name: name, qos: word)
      (storage + index).initialize(to: Borrowed(queue))
      if !isUncounted { uncounted = false }
    }
    isUncounted = uncounted
    super.init()
  }

  deinit {
    for index in 0..<queueCount { pooled(index).retire() }
    storage.deallocate()
    finalizeContext(otherwise: GlobalQueues.default)
  }

  // MARK: Handing out

  /// The next queue in turn.
  ///
  /// A thread that calls again gets the queue after the one that it got before. Any thread may call this. It takes no lock,
  /// and makes an atomic change only when the thread used another pool before, or none.
  ///
  /// Complexity: O(1). Blocking: never.
  public var queue: DispatchSerialQueue { reference(advance()) }

  /// The queue with the least work pending; among equals the next one in turn.
  ///
  /// A snapshot: by the time it is used another queue may have less. Complexity: O(`queueCount`). Blocking: never.
  public var leastLoaded: DispatchSerialQueue {
    let start = advance()
    var (best, least) = (start, pooled(start).load)
    var index = start
    for _ in 1..<queueCount where least > 0 {
      index = index + 1 == queueCount ? 0 : index + 1
      let load = pooled(index).load
      if load < least { (best, least) = (index, load) }
    }
    return reference(best)
  }

  /// The queue of a key: equal keys share one, so what is submitted for a key stays in order; different keys spread over
  /// all queues.
  ///
  /// ```swift
  /// pool.queue(forKey: order.customer).async { book(order) }
  /// ```
  ///
  /// Which queue it is differs from one run of the program to the next. Complexity: that of hashing the key. Blocking:
  /// never.
  public func queue<Key: Hashable>(forKey key: Key) -> DispatchSerialQueue {
    var hasher = Hasher()
    hasher.combine(key)
    return queue(for: hasher)
  }

  /// As `queue(forKey:)`, with the bytes as the key.
  func queue(forBytes bytes: UnsafeRawBufferPointer) -> DispatchSerialQueue {
    var hasher = Hasher()
    hasher.combine(bytes: bytes)
    return queue(for: hasher)
  }

  private func queue(for hasher: consuming Hasher) -> DispatchSerialQueue {
    // The upper half, which is as good as the rest, scaled to the range without a division.
    let hash = UInt64(UInt32(truncatingIfNeeded: hasher.finalize() >> 32))
    return reference(Int((hash &* UInt64(queueCount)) &>> 32))
  }

  /// The queues, in the order in which they are handed out.
  public var queues: [DispatchSerialQueue] { (0..<queueCount).map { reference($0) } }

  @inline(__always)
  private func pooled(_ index: Int) -> PooledQueue { storage[index].object }

  /// A queue, as a reference of the caller's: where none are counted, without asking for one.
  @inline(__always)
  private func reference(_ index: Int) -> DispatchSerialQueue {
    // unsafe: the queues are never freed; the caller's release of an uncounted one does nothing.
    isUncounted ? Owned<PooledQueue>(word: storage[index].word).take() : storage[index].object
  }

  /// The place after the calling thread's last one in this pool, 0..<queueCount.
  ///
  /// A thread remembers its place in one pool only. A thread that comes from another pool, or for the first time, takes the
  /// next start. So threads spread, and threads that go back and forth between pools go round each of them together.
  @inline(__always)
  private func advance() -> Int {
    let thread = gc_thread_self()
    let me = UnsafeRawPointer(Borrowed(self).word)
    // A pool that lies where another one was continues with its places; so the place may be beyond the end.
    var turn = Int(thread.pointee.pool_turn)
    if thread.pointee.pool != me || turn >= queueCount { turn = begin() }
    let next = turn + 1
    thread.pointee.pool_turn = UInt32(truncatingIfNeeded: next == queueCount ? 0 : next)
    return turn
  }

  @inline(never)
  private func begin() -> Int {
    // Each thread of a simulation comes by once at least.
    World.goBeyondOrders(.pools)
    gc_thread_self().pointee.pool = UnsafeRawPointer(Borrowed(self).word)
    // relaxed: a number by itself.
    let ticket =
      World.current.map { simulatedTicket($0.run) } ?? nextStart.wrappingAdd(1, ordering: .relaxed).oldValue
    return Int(ticket % UInt32(truncatingIfNeeded: queueCount))
  }

  @inline(never)
  private func simulatedTicket(_ run: UInt32) -> UInt32 {
    // relaxed: threads of a simulation come one at a time, and there is one at a time.
    let seen = nextSimulated.load(ordering: .relaxed)
    let ticket = UInt32(truncatingIfNeeded: seen >> 32) == run ? UInt32(truncatingIfNeeded: seen) : 0
    // relaxed: see above.
    nextSimulated.store(UInt64(run) << 32 | UInt64(ticket &+ 1), ordering: .relaxed)
    return ticket
  }

  // MARK: Figures

  /// What one queue of a pool has to do, and has done.
  public struct QueueStatistics: Sendable, Equatable {
    /// Items that were submitted and have not finished, the running one among them.
    public let depth: Int
    /// Items that have finished since the pool was made.
    public let completed: UInt64
    /// When the figures were read.
    public let time: DispatchTime

    /// Items per second since an earlier reading of the same queue; 0 if no time has passed.
    ///
    /// ```swift
    /// let before = pool.statistics
    /// …
    /// let rates = zip(pool.statistics, before).map { $0.throughput(since: $1) }
    /// ```
    public func throughput(since earlier: QueueStatistics) -> Double {
      guard time > earlier.time else { return 0 }
      let seconds = Double(time.uptimeNanoseconds - earlier.time.uptimeNanoseconds) / 1e9
      return Double(completed &- earlier.completed) / seconds
    }
  }

  func figures(of index: Int) -> (depth: Int, completed: UInt64) { pooled(index).figures }

  /// The figures of each queue, in the order of `queues`.
  ///
  /// What is counted is work submitted to run later: `async` in its forms, delayed items once they are due, notifications.
  /// Calls of `sync` are not. Complexity: O(`queueCount`). Blocking: never.
  public var statistics: [QueueStatistics] {
    World.goBeyondOrders(.pools)
    let now = DispatchTime.now()
    return (0..<queueCount).map { index in
      let (depth, completed) = figures(of: index)
      return QueueStatistics(depth: depth, completed: completed, time: now)
    }
  }
}
