// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Synchronization
import Testing

@testable import GrandCentral

@Suite("A magazine")
struct MagazineTests {
  /// What a fresh thread finds; its magazine is flushed when it ends.
  private func onFreshThread(_ body: @escaping @Sendable () -> Void) { PlainThread(body).join() }

  private static var loaded: UInt32 { gc_thread_self().pointee.loaded_count }
  private static var spare: UInt32 { gc_thread_self().pointee.spare_count }
  /// The thread's two batches. A trade exchanges one of them; that they change places is none.
  private static var batches: Set<UnsafeMutableRawPointer?> {
    [gc_thread_self().pointee.loaded, gc_thread_self().pointee.spare]
  }

  @Test("gives out the node that was given back last")
  func lastFirst() {
    onFreshThread {
      let (a, b) = (Magazine.take(), Magazine.take())
      Magazine.give(a)
      Magazine.give(b)
      #expect(Magazine.take() == b)
      #expect(Magazine.take() == a)
      Magazine.give(a)
      Magazine.give(b)
    }
  }

  @Test("never gives a node out twice, each is a cache line, and it keeps at most two batches")
  func model() {
    let seed = Stress.seed("magazine")
    onFreshThread {
      var random = SeededRandom(seed: seed)
      var taken: [UnsafeMutableRawPointer] = []
      var known: Set<UnsafeMutableRawPointer> = []
      for _ in 0..<50_000 {
        if taken.count < 500, random.below(100) < 50 {
          let node = Magazine.take()
          #expect(known.insert(node).inserted)
          #expect(UInt(bitPattern: node) % 64 == 0)
          node.initializeMemory(as: UInt8.self, repeating: 0xAA, count: Magazine.nodeSize)
          taken.append(node)
        } else if !taken.isEmpty {
          taken.swapAt(random.below(taken.count), taken.count - 1)
          let node = taken.removeLast()
          known.remove(node)
          Magazine.give(node)
        }
        #expect(Self.loaded <= UInt32(NodeBatch.capacity))
        #expect(Self.spare <= UInt32(NodeBatch.capacity))
      }
      for node in taken { Magazine.give(node) }
    }
  }

  @Test("trades with the depot once in 64 operations, even around the turn of a batch")
  func turn() {
    onFreshThread {
      var nodes = (0..<200).map { _ in Magazine.take() }
      // More and more nodes, until both batches have been full, and fewer and fewer, until both have been empty. At each number of them the
      // thread goes by one node to either side.
      for step in 0..<300 {
        var (batches, trades) = (Self.batches, 0)
        func noteTrade() {
          let now = Self.batches
          if now != batches { trades += 1 }
          batches = now
        }
        for _ in 0..<50 {
          nodes.append(Magazine.take())
          noteTrade()
          for _ in 0..<2 {
            Magazine.give(nodes.removeLast())
            noteTrade()
          }
          nodes.append(Magazine.take())
          noteTrade()
        }
        #expect(trades <= 200 / NodeBatch.capacity + 1, "step \(step)")
        if step < 150 { Magazine.give(nodes.removeLast()) } else { nodes.append(Magazine.take()) }
      }
      for node in nodes { Magazine.give(node) }
    }
  }

  @Test("is empty after a flush, and serves the thread again afterwards")
  func flush() {
    onFreshThread {
      let nodes = (0..<300).map { _ in Magazine.take() }
      for node in nodes { Magazine.give(node) }
      Magazine.flushThread()
      #expect(Self.loaded == 0)
      #expect(Self.spare == 0)
      #expect(gc_thread_self().pointee.loaded == nil)
      #expect(gc_thread_self().pointee.spare == nil)
      Magazine.give(Magazine.take())
      #expect(Self.loaded > 0)
    }
  }

  @Test("what a thread keeps when it ends serves others")
  func inheritance() {
    let seen = Mutex<Set<UInt>>([])
    let inherited = Atomic<Int>(0)
    // Other tests take from the depot too, but hardly all that a hundred threads leave there.
    for _ in 0..<100 {
      onFreshThread {
        let node = Magazine.take()
        let address = UInt(bitPattern: node)
        if !seen.withLock({ $0.insert(address).inserted }) { inherited.add(1, ordering: .relaxed) }
        Magazine.give(node)
      }
    }
    #expect(inherited.load(ordering: .relaxed) > 0)
  }
}

@Suite("A region of nodes")
struct RegionTests {
  @Test("nodes never used before are taken in the order of their addresses")
  func ascending() {
    PlainThread {
      let batch = Depot.emptyClip()
      let count = Region.carve(into: batch)
      #expect(count > 0 && count <= NodeBatch.capacity)
      let addresses = (0..<count).map { UInt(bitPattern: batch[count - 1 - $0]) }
      for (first, second) in zip(addresses, addresses.dropFirst()) { #expect(second == first + 64) }
      if let empty = Depot.deposit(batch, count: count) { Depot.keep(empty) }
    }.join()
  }

  @Test("threads take and give while another trims: no node is given out twice")
  func trimUnderLoad() {
    let seed = Stress.seed("trim")
    let ended = Atomic<Int>(0)
    let workers = (0..<3).map { number in
      PlainThread {
        var random = SeededRandom(seed: seed &+ UInt64(number))
        for _ in 0..<40 {
          let nodes = (0..<20_000 + random.below(20_000)).map { index in
            let node = Magazine.take()
            node.storeBytes(of: index, as: Int.self)
            node.storeBytes(of: number, toByteOffset: 8, as: Int.self)
            return node
          }
          for (index, node) in nodes.enumerated() {
            let isOurs = node.load(as: Int.self) == index && node.load(fromByteOffset: 8, as: Int.self) == number
            if !isOurs { Issue.record("node \(index) of thread \(number) was given out twice") }
            Magazine.give(node)
          }
        }
        ended.add(1, ordering: .relaxed)
      }
    }
    while ended.load(ordering: .relaxed) < 3 { Region.trim() }
    for worker in workers { worker.join() }
  }
}
