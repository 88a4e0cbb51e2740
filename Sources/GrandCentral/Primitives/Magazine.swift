// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

// Where work nodes come from: free nodes of one size, kept by each thread and traded between threads in batches.
//
//   thread:  loaded   a list of 0…64 free nodes, taken from and given to        (gc_thread: loaded, loaded_count)
//            spare    a full batch, or nothing                                  (gc_thread: spare, spare_count)
//   shared:  Depot    full batches, see Depot.swift
//
//   | word of a free node | means                                           |
//   |---------------------|-------------------------------------------------|
//   | 0                   | next free node of the same batch or list        |
//   | 1                   | next batch of a depot shard, in a batch's first |
//
// G1  A node is free in exactly one place: in one thread's magazine, or in one batch of the depot.
// G2  `loaded_count` is the length of `loaded`; `spare_count` is 0 or a full batch.
// G3  Only the thread itself touches its magazine: no atomics. The depot's shard locks order what a node's last user
//     wrote before its next user's.
// G4  A thread trades with the depot at most once per 64 operations, whatever the order of takes and gives: after a
//     trade it can go 64 steps in either direction.
//
// take     1  pop loaded            2  loaded is empty: swap with spare    3  fetch a batch from the depot
//          4  the depot has none: allocate one node
// give     1  push onto loaded      2  loaded is full: swap with an empty spare
//          3  hand the spare to the depot, which frees it when it has plenty
//
// A producer and a consumer on two threads thus pass batches in a circle, and no node goes through the allocator.
//
// Rejected: the allocator (a free on another thread than the malloc takes a lock or an atomic per item); a lock-free
// stack of single nodes (one contended word for every item, and ABA).
enum Magazine {
  /// Bytes of a node. With the allocator's header it fills one cache line.
  static let nodeSize = 56
  /// Nodes in a batch.
  static let batchSize: UInt32 = 64

  /// A node's memory, not initialised.
  @inline(__always)
  static func take() -> UnsafeMutableRawPointer {
    let thread = gc_thread_self()
    guard let node = thread.pointee.loaded else { return takeSlow(thread) }
    let next = node.load(as: UnsafeMutableRawPointer?.self)
    // In a large backlog nodes are cold: the next one's line is fetched while this one is filled.
    gc_prefetch(next)
    thread.pointee.loaded = next
    thread.pointee.loaded_count &-= 1
    return node
  }

  /// Takes back a node that `take` returned, on whatever thread. Nothing in it is deinitialised.
  @inline(__always)
  static func give(_ node: UnsafeMutableRawPointer) {
    let thread = gc_thread_self()
    let count = thread.pointee.loaded_count
    // A thread that has never taken anything arms its exit hook here: what it keeps must not end with it.
    if count >= batchSize || thread.pointee.registered == 0 { return giveSlow(thread, node) }
    node.storeBytes(of: thread.pointee.loaded, as: UnsafeMutableRawPointer?.self)
    thread.pointee.loaded = node
    thread.pointee.loaded_count = count &+ 1
  }

  @inline(never)
  private static func takeSlow(_ thread: UnsafeMutablePointer<gc_thread>) -> UnsafeMutableRawPointer {
    armExitHook(thread)
    if thread.pointee.spare_count != 0 {
      thread.pointee.loaded = thread.pointee.spare
      thread.pointee.spare = nil
      thread.pointee.spare_count = 0
    } else if let batch = Depot.fetch() {
      thread.pointee.loaded = batch
    } else {
      return Memory.allocate(nodeSize)
    }
    thread.pointee.loaded_count = batchSize
    return take()
  }

  @inline(never)
  private static func giveSlow(_ thread: UnsafeMutablePointer<gc_thread>, _ node: UnsafeMutableRawPointer) {
    armExitHook(thread)
    if thread.pointee.loaded_count < batchSize { return give(node) }
    if thread.pointee.spare_count != 0, let batch = thread.pointee.spare, !Depot.deposit(batch) { free(list: batch) }
    thread.pointee.spare = thread.pointee.loaded
    thread.pointee.spare_count = batchSize
    thread.pointee.loaded = nil
    thread.pointee.loaded_count = 0
    give(node)
  }

  /// A thread that comes here for the first time empties its magazine when it ends.
  private static func armExitHook(_ thread: UnsafeMutablePointer<gc_thread>) {
    if thread.pointee.registered != 0 { return }
    thread.pointee.registered = 1
    Thread.atExit { Magazine.flushThread() }
  }

  /// Gives up all that the calling thread keeps. What it takes or gives later is kept, and flushed, anew.
  static func flushThread() {
    let thread = gc_thread_self()
    if thread.pointee.spare_count != 0, let batch = thread.pointee.spare, !Depot.deposit(batch) { free(list: batch) }
    if thread.pointee.loaded_count == batchSize, let batch = thread.pointee.loaded, Depot.deposit(batch) {
      thread.pointee.loaded = nil
    }
    free(list: thread.pointee.loaded)
    thread.pointee.loaded = nil
    thread.pointee.spare = nil
    thread.pointee.loaded_count = 0
    thread.pointee.spare_count = 0
    thread.pointee.registered = 0
  }

  /// In the child of a fork: the threads that were using the depot are not there any more.
  static func resetAfterFork() { Depot.resetAfterFork() }

  private static func free(list: UnsafeMutableRawPointer?) {
    var next = list
    while let node = next {
      next = node.load(as: UnsafeMutableRawPointer?.self)
      Memory.free(node)
    }
  }
}
