// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// NodeBatches that no thread's magazine has room for.
//
//   shards ─► | busy  count  filled  empty |  gap  | busy  count  filled  empty |  …     one array, made on first use
//
//   | field  | letter          | means                                                     |
//   |--------|-----------------|-----------------------------------------------------------|
//   | busy   | A               | 1 while a thread is at work in the shard                   |
//   | count  | A, set by busy  | filled batches in the shard; others read it as a hint        |
//   | filled | M(busy)         | newest batch with nodes; `NodeBatch.next` is the one before      |
//   | empty  | M(busy)         | newest batch without                                        |
//
// Depot.E1  A fetcher does not wait for a shard: it passes over a busy one, and after the last one it carves fresh nodes. A
//     depositor passes over busy ones too, round and round, because what it brings must stay somewhere. A shard is busy for a
//     few instructions, once in 64 operations.
// Depot.E2  A fetcher leaves an empty batch where it takes a filled one; a depositor takes an empty one from where it leaves a
//     filled one. So a shard has as many batches as its largest backlog needed.
//
// A thread starts at the shard that its id names, so that threads meet rarely.
//
// Rejected: a stack per shard popped by compare-and-exchange (ABA: the first batch may be fetched and come back between load
// and exchange), or by taking the whole stack (all other threads find the shard empty meanwhile, and carve).
enum Depot {
  static let shardCount = 8

  private struct Shard: ~Copyable {
    let busy = Atomic<UInt32>(0)
    let count = Atomic<Int>(0)
    var filled: NodeBatch?
    var empty: NodeBatch?
    let gap = CacheLine.Gap()

    @inline(__always)
    borrowing func tryEnter() -> Bool {
      // relaxed: a look that keeps the line shared while the shard is in use.
      if busy.load(ordering: .relaxed) != 0 { return false }
      // pairs with: leave – publishes the shard's lists, the batches and the nodes in them
      return busy.exchange(1, ordering: .acquiring) == 0
    }

    @inline(__always)
    borrowing func leave() {
      // pairs with: tryEnter – publishes the shard's lists, the batches and the nodes in them
      busy.store(0, ordering: .releasing)
    }

    /// As a hint.
    @inline(__always)
    var filledCount: Int {
      // relaxed: exact only for the thread that is in the shard.
      get { count.load(ordering: .relaxed) }
      nonmutating set { count.store(newValue, ordering: .relaxed) }
    }
  }

  /// Address of the array of shards, which is never freed; 0 until first used.
  private static let table = Atomic<UInt>(0)

  /// Keeps a batch with `count` nodes.
  ///
  /// - Returns: an empty batch for it, if one is at hand.
  static func deposit(_ batch: NodeBatch, count: Int) -> NodeBatch? {
    batch.count = count
    let shard = enter()
    defer { shard.pointee.leave() }
    batch.next = shard.pointee.filled
    shard.pointee.filled = batch
    shard.pointee.filledCount = shard.pointee.filledCount + 1
    return popEmpty(shard)
  }

  /// Keeps a batch without nodes.
  static func keep(_ empty: NodeBatch) {
    let shard = enter()
    empty.next = shard.pointee.empty
    shard.pointee.empty = empty
    shard.pointee.leave()
  }

  /// A batch without nodes.
  static func emptyClip() -> NodeBatch {
    var patience = Memory.Patience()
    while true {
      let shard = enter()
      let empty = popEmpty(shard)
      shard.pointee.leave()
      if let batch = empty ?? Region.carveClip() {
        patience.isRewarded()
        return batch
      }
      // Another thread may give one back.
      patience.wait(for: Region.size)
    }
  }

  private static func popEmpty(_ shard: UnsafeMutablePointer<Shard>) -> NodeBatch? {
    let empty = shard.pointee.empty
    shard.pointee.empty = empty?.next
    return empty
  }

  /// A shard for the calling thread alone, until it leaves.
  private static func enter() -> UnsafeMutablePointer<Shard> {
    let shards = shards()
    var index = Int(gc_thread_id()) % shardCount
    var backoff = Backoff()
    var tries = 0
    while !(shards + index).pointee.tryEnter() {
      index = (index + 1) % shardCount
      tries += 1
      if tries > shardCount { backoff.wait() }
    }
    return shards + index
  }

  /// A batch with nodes in exchange for `empty`, or nil if none is at hand.
  static func fetch(for empty: NodeBatch) -> NodeBatch? {
    let shards = shards()
    let home = Int(gc_thread_id())
    for step in 0..<shardCount {
      let shard = shards + (home &+ step) % shardCount
      if shard.pointee.filledCount == 0 || !shard.pointee.tryEnter() { continue }
      defer { shard.pointee.leave() }
      guard let batch = shard.pointee.filled else { continue }
      shard.pointee.filled = batch.next
      // Not `-=`: ThreadSanitizer takes that for a modification of the whole shard.
      shard.pointee.filledCount = shard.pointee.filledCount - 1
      empty.next = shard.pointee.empty
      shard.pointee.empty = empty
      return batch
    }
    return nil
  }

  /// How many filled batches there are, as a hint.
  static var filledCount: Int {
    // pairs with: makeShardsSlow – publishes the shards' initial state
    guard let shards = UnsafeMutablePointer<Shard>(bitPattern: table.load(ordering: .acquiring)) else { return 0 }
    var count = 0
    for index in 0..<shardCount { count += shards[index].filledCount }
    return count
  }

  /// Takes out all that is at hand: the batches with nodes and those without, linked.
  static func takeAll() -> (filled: NodeBatch?, empty: NodeBatch?) {
    let shards = shards()
    var all: (filled: NodeBatch?, empty: NodeBatch?)
    for index in 0..<shardCount {
      let shard = shards + index
      if !shard.pointee.tryEnter() { continue }
      let (filled, empty) = (shard.pointee.filled, shard.pointee.empty)
      shard.pointee.filled = nil
      shard.pointee.empty = nil
      shard.pointee.filledCount = 0
      shard.pointee.leave()
      move(filled, to: &all.filled)
      move(empty, to: &all.empty)
    }
    return all
  }

  private static func move(_ list: NodeBatch?, to all: inout NodeBatch?) {
    var next = list
    while let batch = next {
      next = batch.next
      batch.next = all
      all = batch
    }
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
  @_optimize(size)
  private static func makeShardsSlow() -> UnsafeMutablePointer<Shard> {
    let size = shardCount * MemoryLayout<Shard>.stride
    let made = Memory.allocate(size, alignment: CacheLine.size).bindMemory(to: Shard.self, capacity: shardCount)
    for index in 0..<shardCount { (made + index).initialize(to: Shard()) }
    // pairs with: shards, filledCount, makeShardsSlow – publishes the shards' initial state. An exchange that succeeds has
    // found 0, behind which nothing was published.
    let (first, existing) = table.compareExchange(
      expected: 0, desired: UInt(bitPattern: made), successOrdering: .releasing, failureOrdering: .acquiring)
    if first { return made }
    Memory.free(UnsafeMutableRawPointer(made))
    return UnsafeMutablePointer(bitPattern: existing)!
  }
}
