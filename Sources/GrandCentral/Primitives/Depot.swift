// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Full batches of free nodes that no thread's magazine has room for.
//
//   shards ─► | busy  count  batches |  gap  | busy  count  batches |  …       one array, made on first use
//
//   | field   | letter          | means                                               |
//   |---------|-----------------|-----------------------------------------------------|
//   | busy    | A               | 1 while a thread is at work in the shard             |
//   | count   | A, set by busy  | batches in the shard; others read it as a hint       |
//   | batches | M(busy)         | newest batch; word 1 of its first node is the next   |
//
// E1  Nobody ever waits for a shard: a busy one is passed over. Passing over costs a depositor the next shard and at
//     last a free, a fetcher at last a malloc; both happen once in 64 operations and are correct.
// E2  A shard has at most `shardLimit` batches; what would be more goes back to the allocator.
//
// A thread starts at the shard that its id names, so that threads meet rarely.
//
// Rejected: a stack per shard popped by compare-and-exchange (ABA: the first batch may be fetched and come back between
// load and exchange), or by taking the whole stack (everybody else finds the shard empty meanwhile, and allocates).
enum Depot {
  static let shardCount = 8
  /// 8 shards of 64 batches of 64 nodes are 2 MiB.
  static let shardLimit = 1024

  struct Shard: ~Copyable {
    let busy = Atomic<UInt32>(0)
    let count = Atomic<Int>(0)
    var batches: UnsafeMutableRawPointer?
    let gap = CacheLine.Gap()

    @inline(__always)
    borrowing func tryEnter() -> Bool {
      // relaxed: a look that keeps the line shared while the shard is in use.
      if busy.load(ordering: .relaxed) != 0 { return false }
      // pairs with: leave – publishes the shard's list and the nodes in it
      return busy.exchange(1, ordering: .acquiring) == 0
    }

    @inline(__always)
    borrowing func leave() {
      // pairs with: tryEnter – publishes the shard's list and the nodes in it
      busy.store(0, ordering: .releasing)
    }

    /// As a hint.
    @inline(__always)
    var batchCount: Int {
      // relaxed: exact only for whoever is in the shard.
      get { count.load(ordering: .relaxed) }
      nonmutating set { count.store(newValue, ordering: .relaxed) }
    }
  }

  /// A: address of the array of shards, which is never freed; 0 until first used.
  private static let table = Atomic<UInt>(0)

  /// Keeps a full batch.
  ///
  /// - Returns: false if there is no room for it.
  static func deposit(_ batch: UnsafeMutableRawPointer) -> Bool {
    let shards = shards()
    let home = Int(gc_thread_id())
    for step in 0..<shardCount {
      let shard = shards + (home &+ step) % shardCount
      if shard.pointee.batchCount >= shardLimit || !shard.pointee.tryEnter() { continue }
      defer { shard.pointee.leave() }
      let count = shard.pointee.batchCount
      if count >= shardLimit { continue }
      // unsafe: the batch is the caller's, and a node has more than two words.
      batch.storeBytes(of: shard.pointee.batches, toByteOffset: 8, as: UnsafeMutableRawPointer?.self)
      shard.pointee.batches = batch
      shard.pointee.batchCount = count + 1
      return true
    }
    return false
  }

  /// A full batch, or nil if none is at hand.
  static func fetch() -> UnsafeMutableRawPointer? {
    let shards = shards()
    let home = Int(gc_thread_id())
    for step in 0..<shardCount {
      let shard = shards + (home &+ step) % shardCount
      if shard.pointee.batchCount == 0 || !shard.pointee.tryEnter() { continue }
      defer { shard.pointee.leave() }
      guard let batch = shard.pointee.batches else { continue }
      shard.pointee.batches = batch.load(fromByteOffset: 8, as: UnsafeMutableRawPointer?.self)
      // Not `-=`: ThreadSanitizer takes that for a modification of the whole shard.
      shard.pointee.batchCount = shard.pointee.batchCount - 1
      return batch
    }
    return nil
  }

  /// How many batches there are, as a hint.
  static var batchCount: Int {
    let shards = shards()
    return (0..<shardCount).reduce(0) { $0 + shards[$1].batchCount }
  }

  /// The child of a fork forgets the batches: one of them may have been on its way between two threads.
  static func resetAfterFork() {
    // relaxed: the child has one thread.
    table.store(0, ordering: .relaxed)
  }

  @inline(__always)
  private static func shards() -> UnsafeMutablePointer<Shard> {
    // pairs with: makeShardsSlow – publishes the shards' initial state
    UnsafeMutablePointer(bitPattern: table.load(ordering: .acquiring)) ?? makeShardsSlow()
  }

  @inline(never)
  private static func makeShardsSlow() -> UnsafeMutablePointer<Shard> {
    let size = shardCount * MemoryLayout<Shard>.stride
    let made = Memory.allocate(size, alignment: CacheLine.size).bindMemory(to: Shard.self, capacity: shardCount)
    for index in 0..<shardCount { (made + index).initialize(to: Shard()) }
    // pairs with: shards – publishes the shards' initial state
    let (first, existing) = table.compareExchange(
      expected: 0, desired: UInt(bitPattern: made), successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring
    )
    if first { return made }
    Memory.free(UnsafeMutableRawPointer(made))
    return UnsafeMutablePointer(bitPattern: existing)!
  }
}
