// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Testing

@testable import GrandCentral

@Suite("A magazine")
struct MagazineTests {
  /// What a fresh thread finds; its magazine is flushed when it ends.
  private func onFreshThread(_ body: @escaping @Sendable () -> Void) { PlainThread(body).join() }

  private static var loaded: UInt32 { gc_thread_self().pointee.loaded_count }
  private static var spare: UInt32 { gc_thread_self().pointee.spare_count }

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

  @Test("never gives a node out twice, keeps its counts, and keeps at most two batches")
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
          node.initializeMemory(as: UInt8.self, repeating: 0xAA, count: Magazine.nodeSize)
          taken.append(node)
        } else if !taken.isEmpty {
          taken.swapAt(random.below(taken.count), taken.count - 1)
          let node = taken.removeLast()
          known.remove(node)
          Magazine.give(node)
        }
        #expect(Self.loaded <= Magazine.batchSize)
        #expect(Self.spare == 0 || Self.spare == Magazine.batchSize)
        #expect(Self.length(gc_thread_self().pointee.loaded) == Self.loaded)
      }
      for node in taken { Magazine.give(node) }
    }
  }

  private static func length(_ list: UnsafeMutableRawPointer?) -> UInt32 {
    var count: UInt32 = 0
    var next = list
    while let node = next {
      count += 1
      next = node.load(as: UnsafeMutableRawPointer?.self)
    }
    return count
  }

  @Test("trades with the depot once in 64 operations, even around the turn of a batch")
  func turn() {
    onFreshThread {
      let nodes = (0..<200).map { _ in Magazine.take() }
      for node in nodes { Magazine.give(node) }
      for _ in 0..<Magazine.batchSize { _ = Self.loaded == 0 ? nil : Optional(Magazine.take()) }
      let (loaded, spare) = (Self.loaded, Self.spare)
      for _ in 0..<1_000 { Magazine.give(Magazine.take()) }
      #expect(Self.loaded + Self.spare == loaded + spare || loaded + spare == 0)
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

  @Test("passes surplus to the allocator when the depot has plenty")
  func surplus() {
    let room = Depot.shardCount * Depot.shardLimit
    onFreshThread {
      let nodes = (0..<(room + 100) * Int(Magazine.batchSize)).map { _ in Magazine.take() }
      for node in nodes { Magazine.give(node) }
    }
    #expect(Depot.batchCount <= room)
  }
}
