// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

func pointer(_ number: Int) -> UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: 16 * (number + 1))! }

@Suite("A FIFO queue")
struct FIFOQueueTests {
  @Test("does what an array does, within a segment and across many", arguments: [3, 62, 63, 64, 1_000])
  func model(limit: Int) {
    var random = SeededRandom(seed: Stress.seed("FIFO queue of at most \(limit)"))
    let queue = FIFOQueue()
    var model: ArraySlice<Int> = []
    var next = 0
    for _ in 0..<20_000 {
      if model.count < limit, random.below(100) < 52 {
        queue.enqueue(pointer(next))
        model.append(next)
        next += 1
      } else {
        #expect(queue.dequeue() == model.popFirst().map { pointer($0) })
      }
      #expect(queue.isEmpty == model.isEmpty)
      #expect(queue.count == model.count)
    }
  }

  @Test("is empty at every place that it can be empty at")
  func emptyEverywhere() {
    let queue = FIFOQueue()
    for number in 0..<200 {
      #expect(queue.isEmpty == true)
      #expect(queue.dequeue() == nil)
      queue.enqueue(pointer(number))
      #expect(queue.isEmpty == false)
      #expect(queue.dequeue() == pointer(number))
    }
    #expect(queue.isEmpty == true)
  }

  @Test("uses emptied segments again")
  func recycles() {
    #expect(FIFOQueue.Segment.position(63) == FIFOQueue.Segment.position(64))
    let segment = FIFOQueue.Segment.make()
    defer { FIFOQueue.Segment.freeChain(segment.raw) }
    #expect(segment.isConsumed == false)
    for place in 0..<FIFOQueue.Segment.places {
      segment.write(pointer(place), at: place)
      #expect(segment.read(at: place) == pointer(place))
    }
    #expect(segment.isConsumed == true)
    segment.clear()
    #expect(segment.isConsumed == false)
  }
}
