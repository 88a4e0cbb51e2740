// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

// Where work nodes come from: free nodes of one size, kept by each thread and traded between threads in batches.
//
//   thread:  loaded   a batch with 0…64 free nodes, taken from and given to      (gc_thread: loaded, loaded_count)
//            spare    a second batch: empty, or as it came from a trade          (gc_thread: spare, spare_count)
//   shared:  Depot    batches that no thread has room for; Region: memory of nodes never used so far
//
// Magazine.G1  A node is free in exactly one place: in one batch, or in a region's uncarved part.
// Magazine.G2  `loaded_count` and `spare_count` say how many nodes are in the two batches; a batch's own count is only
//     true in the depot. `loaded_limit` is 0 as long as there is no batch.
// Magazine.G3  Only the thread itself touches its magazine: no atomics. The depot's shard locks order what a node's
//     last user wrote before its next user's.
// Magazine.G4  A thread trades with the depot at most once per 64 operations, whatever the order of takes and gives:
//     after a trade it can go 64 steps in either direction.
// Magazine.G5  Taking a node does not read its memory: a large backlog's nodes are cold.
// Magazine.G6  What one thread is going to write and another has used is written by the other as well: the giver writes the
//     node's first word, the taker the slot. A line that the other has only read stays shared by both processors. Then the write must
//     take the line back from the reader, which neither a prefetch nor the store buffer hides on some processors: 75 ns in place of 4
//     ns for each node of a backlog (an AMD EPYC, two groups of cores).
//
// take     1  pop loaded            2  loaded is empty: swap with spare    3  fetch a batch from the depot for it
//          4  the depot has none: carve fresh nodes
// give     1  push onto loaded      2  loaded is full: swap with an empty spare
//          3  hand the full spare to the depot for an empty batch
//
// A producer and a consumer on two threads thus pass batches in a circle, and no node goes through the allocator.
//
// Rejected: the allocator (a free on another thread than the malloc takes a lock or an atomic per item); a lock-free
// stack of single nodes (one contended word for every item, and ABA); lists through the nodes (Magazine.G5).
enum Magazine {
  typealias Node = UnsafeMutableRawPointer

  /// Bytes of a node: one cache line, and aligned to it.
  static let nodeSize = 64
  /// How many takes ahead a node's line is fetched.
  private static let lookahead = 4

  /// A node's memory, not initialised.
  @inline(__always)
  static func take() -> Node {
    let thread = gc_thread_self()
    let count = thread.pointee.loaded_count
    if count == 0 { return takeSlow(thread) }
    // unsafe: Magazine.G2, with a count there is a batch, and slots below the count are filled.
    let batch = NodeBatch(raw: thread.pointee.loaded.unsafelyUnwrapped)
    let index = Int(count) &- 1
    thread.pointee.loaded_count = count &- 1
    gc_prefetch_write(batch[index &- lookahead])
    let node = batch[index].unsafelyUnwrapped
    batch[index] = nil
    return node
  }

  /// Takes back a node that `take` returned, on whatever thread. Nothing in it is deinitialised.
  @inline(__always)
  static func give(_ node: Node) {
    let thread = gc_thread_self()
    let count = thread.pointee.loaded_count
    if count >= thread.pointee.loaded_limit { return giveSlow(thread, node) }
    // unsafe: Magazine.G6; the node is the magazine's.
    node.storeBytes(of: 0, as: UInt.self)
    // unsafe: Magazine.G2, with a limit there is a batch.
    NodeBatch(raw: thread.pointee.loaded.unsafelyUnwrapped)[Int(count)] = node
    thread.pointee.loaded_count = count &+ 1
  }

  /// As `take` and `give`, as calls: for what is made now and then.
  @inline(never)
  static func takeRarely() -> Node { take() }
  @inline(never)
  static func giveRarely(_ node: Node) { give(node) }

  @inline(never)
  private static func takeSlow(_ thread: UnsafeMutablePointer<gc_thread>) -> Node {
    let empty = prepare(thread)
    if thread.pointee.spare_count != 0 { swapClips(thread) } else { fill(thread, empty) }
    return take()
  }

  /// Fills the loaded batch, which is `empty`, or exchanges it. Where there is no memory for more nodes, waits for those
  /// that other threads give back.
  private static func fill(_ thread: UnsafeMutablePointer<gc_thread>, _ empty: NodeBatch) {
    var patience = Memory.Patience()
    while true {
      if let batch = Depot.fetch(for: empty) {
        thread.pointee.loaded = batch.raw
        thread.pointee.loaded_count = UInt32(batch.count)
        return patience.isRewarded()
      }
      let carved = Region.carve(into: empty)
      if carved > 0 {
        thread.pointee.loaded_count = UInt32(carved)
        return patience.isRewarded()
      }
      patience.wait(for: Region.size)
    }
  }

  @inline(never)
  private static func giveSlow(_ thread: UnsafeMutablePointer<gc_thread>, _ node: Node) {
    _ = prepare(thread)
    if thread.pointee.loaded_count < thread.pointee.loaded_limit { return give(node) }
    if let spare = thread.pointee.spare {
      if thread.pointee.spare_count != 0 {
        let empty = Depot.deposit(NodeBatch(raw: spare), count: Int(thread.pointee.spare_count))
        thread.pointee.spare = (empty ?? Depot.emptyClip()).raw
        thread.pointee.spare_count = 0
      }
    } else {
      thread.pointee.spare = Depot.emptyClip().raw
    }
    swapClips(thread)
    give(node)
  }

  private static func swapClips(_ thread: UnsafeMutablePointer<gc_thread>) {
    (thread.pointee.loaded, thread.pointee.spare) = (thread.pointee.spare, thread.pointee.loaded)
    (thread.pointee.loaded_count, thread.pointee.spare_count) =
      (thread.pointee.spare_count, thread.pointee.loaded_count)
  }

  /// Makes sure that there is a batch, and that what the thread keeps does not end with the thread.
  private static func prepare(_ thread: UnsafeMutablePointer<gc_thread>) -> NodeBatch {
    seeToEnd(of: thread)
    if let loaded = thread.pointee.loaded { return NodeBatch(raw: loaded) }
    let batch = Depot.emptyClip()
    thread.pointee.loaded = batch.raw
    thread.pointee.loaded_limit = UInt32(NodeBatch.capacity)
    return batch
  }

  /// What the calling thread keeps will not end with it.
  static func seeToEnd(of thread: UnsafeMutablePointer<gc_thread>) {
    if thread.pointee.registered != 0 { return }
    thread.pointee.registered = 1
    Thread.atExit { Magazine.flushThread() }
  }

  /// Gives up all that the calling thread keeps. What it takes or gives later is kept, and flushed, anew.
  static func flushThread() {
    let thread = gc_thread_self()
    retire(thread.pointee.loaded, count: thread.pointee.loaded_count)
    retire(thread.pointee.spare, count: thread.pointee.spare_count)
    thread.pointee.loaded = nil
    thread.pointee.spare = nil
    thread.pointee.loaded_count = 0
    thread.pointee.loaded_limit = 0
    thread.pointee.spare_count = 0
    if thread.pointee.insight != nil { InsightThread.leave() }
    thread.pointee.registered = 0
  }

  private static func retire(_ batch: UnsafeMutableRawPointer?, count: UInt32) {
    guard let batch else { return }
    let empty = count == 0 ? NodeBatch(raw: batch) : Depot.deposit(NodeBatch(raw: batch), count: Int(count))
    if let empty { Depot.keep(empty) }
  }

  /// In the child of a fork: the threads that were using the depot are not there any more.
  static func resetAfterFork() { Depot.resetAfterFork() }
}
