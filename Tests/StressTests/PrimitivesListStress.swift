// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Testing

@testable import GrandCentral

@Suite("MPSC list and magazine under stress")
struct PrimitivesListStress {
  private final class List: @unchecked Sendable {  // why: the thread that drains owns `seen`, `drains` and `inside`
    let list = MPSCList()
    var seen: [Int]
    var inside = false
    init(_ producers: Int) { seen = Array(repeating: 0, count: producers) }

    /// Drains until the list is empty: only one thread at a time is told that it was.
    func drain() {
      #expect(!inside)
      inside = true
      var node = list.head()
      while let next = node {
        let producer = Numbered.producer(next)
        #expect(Numbered.sequence(next) == seen[producer])
        seen[producer] += 1
        if list.tailIsNil { Issue.record("the tail says empty while a node is there") }
        // Once the last node is off the list, the list may be another thread's.
        inside = false
        node = list.pop(next)
        if node != nil { inside = true }
        Magazine.give(next)
      }
    }
  }

  @Test("keeps each producer's order, loses nothing, and names one drainer at a time")
  func combining() {
    let perProducer = 3_000
    rounds {
      let shared = List(3)
      PlainThread.concurrently(3) { producer in
        for sequence in 0..<perProducer {
          if shared.list.push(Numbered.make(producer, sequence)) { shared.drain() }
        }
      }
      #expect(shared.seen == [perProducer, perProducer, perProducer])
      #expect(shared.list.tailIsNil == true)
    }
  }

  private final class Tight: @unchecked Sendable {  // why: the thread that drains owns `popped`
    let list = MPSCList()
    var popped = 0
  }

  @Test("a list that is emptied as it is pushed to keeps every node")
  func turnOfEmpty() {
    let perThread = 20_000
    rounds {
      let shared = Tight()
      PlainThread.concurrently(2) { _ in
        for turn in 0..<perThread where shared.list.push(Magazine.take()) {
          // Gives the previous drainer some time; it should have finished with the list.
          for _ in 0..<turn % 8 { gc_pause() }
          var isLast = false
          while !isLast {
            guard let node = shared.list.head() else {
              Issue.record("a drainer finds no head")
              return
            }
            shared.popped += 1
            isLast = shared.list.pop(node) == nil
            Magazine.give(node)
          }
        }
      }
      #expect(shared.popped == 2 * perThread)
    }
  }

  @Test("a consumer that polls sees every node once, in each producer's order")
  func polling() {
    let perProducer = 4_000
    rounds {
      let shared = List(2)
      let producers = (0..<2).map { producer in
        PlainThread {
          for sequence in 0..<perProducer { _ = shared.list.push(Numbered.make(producer, sequence)) }
        }
      }
      var left = 2 * perProducer
      var backoff = Backoff()
      while left > 0 {
        guard let node = shared.list.head() else {
          backoff.wait()
          continue
        }
        backoff = Backoff()
        let producer = Numbered.producer(node)
        #expect(Numbered.sequence(node) == shared.seen[producer])
        shared.seen[producer] += 1
        _ = shared.list.pop(node)
        Magazine.give(node)
        left -= 1
      }
      for thread in producers { thread.join() }
      #expect(shared.list.head() == nil)
    }
  }

  /// In a process of its own: other tests would take from and give to the same depot meanwhile.
  @Test("nodes that one thread takes and another gives back go in a circle")
  func circle() async {
    await #expect(processExitsWith: .success) {
      let rounds = 60
      let batch = 500
      let queue = FIFOBox()
      let known = ContractSupport.Guarded<Set<Int>>([])
      let free = Latches(rounds)
      let consumer = PlainThread {
        for round in 0..<rounds {
          for _ in 0..<batch { Magazine.give(queue.wait()) }
          free.latches[round].open()
        }
      }
      for round in 0..<rounds {
        for _ in 0..<batch {
          let node = Magazine.take()
          known.with { _ = $0.insert(Int(bitPattern: node)) }
          queue.queue.enqueue(node)
        }
        #expect(free.latches[round].wait())
      }
      consumer.join()
      // A few batches are enough.
      #expect(known.with { $0.count } < 4 * batch)
    }
  }

  private final class Latches: Sendable {
    let latches: [Latch]
    init(_ count: Int) { latches = (0..<count).map { _ in Latch() } }
  }

  private final class FIFOBox: Sendable {
    let queue = FIFOQueue()
    func wait() -> UnsafeMutableRawPointer {
      var backoff = Backoff()
      while true {
        if let value = queue.dequeue() { return value }
        backoff.wait()
      }
    }
  }

  @Test("threads that come and go hand their nodes on, and no node is in two hands")
  func comeAndGo() {
    rounds {
      PlainThread.concurrently(4) { index in
        var mine: [UnsafeMutableRawPointer] = []
        for turn in 0..<400 {
          let node = Magazine.take()
          node.storeBytes(of: index, toByteOffset: 48, as: Int.self)
          mine.append(node)
          if turn % 200 == 199 {
            for node in mine {
              #expect(node.load(fromByteOffset: 48, as: Int.self) == index)
              Magazine.give(node)
            }
            mine.removeAll()
          }
        }
      }
    }
  }
}
