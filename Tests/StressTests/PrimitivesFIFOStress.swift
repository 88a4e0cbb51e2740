// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Synchronization
import Testing

@testable import GrandCentral

@Suite("A FIFO queue under stress")
struct PrimitivesFIFOStress {
  private final class Box: Sendable {
    let queue = FIFOQueue()
    let clock = Atomic<Int>(0)
    let left: Atomic<Int>
    init(_ count: Int) { left = Atomic(count) }

    /// A reading that is later than all earlier ones, of whatever thread.
    func tick() -> Int { clock.add(1, ordering: .sequentiallyConsistent).newValue }

    /// Dequeues until all values of all consumers are out.
    func consume(_ body: (UnsafeMutableRawPointer?) -> Void) {
      var backoff = Backoff()
      while left.load(ordering: .relaxed) > 0 {
        let value = queue.dequeue()
        body(value)
        if value == nil {
          backoff.wait()
        } else {
          left.subtract(1, ordering: .relaxed)
          backoff = Backoff()
        }
      }
    }
  }

  @Test(
    "keeps each producer's order at each consumer, loses nothing, doubles nothing",
    arguments: [(1, 1), (2, 2), (3, 1), (1, 3)])
  func order(producers: Int, consumers: Int) {
    let perProducer = 6_000
    rounds {
      let box = Box(producers * perProducer)
      let counts = Guarded<[Int]>(Array(repeating: 0, count: producers * perProducer))
      PlainThread.concurrently(producers + consumers) { index in
        if index < producers {
          for sequence in 0..<perProducer { box.queue.enqueue(Numbered.make(index, sequence)) }
          return
        }
        var last = Array(repeating: -1, count: producers)
        var mine: [Int] = []
        box.consume { node in
          guard let node else { return }
          let (producer, sequence) = (Numbered.producer(node), Numbered.sequence(node))
          Magazine.give(node)
          #expect(sequence > last[producer])
          last[producer] = sequence
          mine.append(producer * perProducer + sequence)
        }
        counts.with { counts in for number in mine { counts[number] += 1 } }
      }
      #expect(counts.with { $0.allSatisfy { $0 == 1 } })
      #expect(box.queue.isEmpty == true)
      #expect(box.queue.dequeue() == nil)
    }
  }

  /// When calls began and ended, on the box's clock.
  private struct History {
    var enqueues: [ClosedRange<Int>]
    var dequeues: [ClosedRange<Int>]
    var empties: [ClosedRange<Int>] = []

    /// If two calls did not overlap, the later one may not come first in the queue's order.
    func check() {
      // In the order in which the enqueues began: of all values that were in the queue before, which one was taken out last?
      let byBegin = enqueues.indices.sorted { enqueues[$0].lowerBound < enqueues[$1].lowerBound }
      let byEnd = enqueues.indices.sorted { enqueues[$0].upperBound < enqueues[$1].upperBound }
      var latestDequeue = 0
      var done = 0
      for later in byBegin {
        while done < byEnd.count, enqueues[byEnd[done]].upperBound < enqueues[later].lowerBound {
          latestDequeue = max(latestDequeue, dequeues[byEnd[done]].lowerBound)
          done += 1
        }
        if latestDequeue > dequeues[later].upperBound { Issue.record("an item overtook one that was in before it") }
      }
      (latestDequeue, done) = (0, 0)
      for empty in empties.sorted(by: { $0.lowerBound < $1.lowerBound }) {
        while done < byEnd.count, enqueues[byEnd[done]].upperBound < empty.lowerBound {
          latestDequeue = max(latestDequeue, dequeues[byEnd[done]].lowerBound)
          done += 1
        }
        if latestDequeue > empty.upperBound { Issue.record("found empty while an item was in it") }
      }
    }
  }

  @Test("is linearizable in real time: what was in before comes out no later, and empty means empty")
  func realTime() {
    let perProducer = 2_000
    let total = 2 * perProducer
    rounds {
      let box = Box(total)
      let history = Guarded(
        History(
          enqueues: Array(repeating: 0...0, count: total), dequeues: Array(repeating: 0...0, count: total)))
      PlainThread.concurrently(4) { index in
        if index < 2 {
          let spans = (0..<perProducer).map { sequence in
            let begin = box.tick()
            box.queue.enqueue(pointer(index * perProducer + sequence))
            return begin...box.tick()
          }
          history.with { history in
            for (sequence, span) in spans.enumerated() { history.enqueues[index * perProducer + sequence] = span }
          }
          return
        }
        var taken: [(Int, ClosedRange<Int>)] = []
        var empties: [ClosedRange<Int>] = []
        var begin = box.tick()
        box.consume { value in
          let span = begin...box.tick()
          if let value { taken.append((number(value), span)) } else { empties.append(span) }
          begin = box.tick()
        }
        history.with { history in
          for (number, span) in taken { history.dequeues[number] = span }
          history.empties += empties
        }
      }
      history.with { $0.check() }
    }
  }

  @Test("never looks empty to a thread that has put something in which nobody takes out")
  func emptiness() {
    rounds {
      let box = Box(0)
      // Each thread takes out at most as many as it has put in. So the queue is not empty while a thread has put in one more.
      PlainThread.concurrently(3) { index in
        for turn in 0..<2_000 {
          box.queue.enqueue(pointer(turn))
          if box.queue.isEmpty { Issue.record("looks empty") }
          if box.queue.dequeue() == nil { Issue.record("found empty") }
        }
      }
      #expect(box.queue.isEmpty == true)
    }
  }
}
