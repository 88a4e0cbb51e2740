// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Synchronization
import Testing

@testable import GrandCentral

@Suite("A stealing ring under stress")
struct PrimitivesRingStress {
  private final class Box: Sendable {
    let ring = StealingRing()
    let done = Atomic<Bool>(false)
  }

  @Test("gives each value to one taker, and each taker its values in order")
  func stealing() {
    let total = 20_000
    let seed = Stress.seed("stealing ring")
    rounds {
      let box = Box()
      let counts = Guarded(Array(repeating: 0, count: total))
      PlainThread.concurrently(3) { index in
        var mine: [Int] = []
        if index == 0 {
          var random = SeededRandom(seed: seed)
          var next = 0
          while next < total {
            let node = Numbered.make(0, next)
            if box.ring.push(node) {
              next += 1
            } else {
              Magazine.give(node)
            }
            if random.oneIn(3), let node = box.ring.pop() { Self.note(node, &mine) }
          }
          while let node = box.ring.pop() { Self.note(node, &mine) }
          box.done.store(true, ordering: .releasing)
        } else {
          var backoff = Backoff()
          while !box.done.load(ordering: .acquiring) {
            if let node = box.ring.steal() {
              Self.note(node, &mine)
              backoff = Backoff()
            } else {
              backoff.wait()
            }
          }
        }
        counts.with { counts in for number in mine { counts[number] += 1 } }
      }
      #expect(counts.with { $0.allSatisfy { $0 == 1 } })
      #expect(box.ring.count == 0)
    }
  }

  private static func note(_ node: UnsafeMutableRawPointer, _ mine: inout [Int]) {
    let sequence = Numbered.sequence(node)
    Magazine.give(node)
    if let last = mine.last { #expect(sequence > last) }
    mine.append(sequence)
  }
}
