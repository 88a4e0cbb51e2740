// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

@Suite("An MPSC list")
struct MPSCListTests {
  private let nodes = UnsafeMutableRawPointer.allocate(byteCount: 64 * 16, alignment: 16)
  private func node(_ index: Int) -> UnsafeMutableRawPointer { nodes + index * 16 }

  @Test("tells the pusher of the first node, and only that one, that it was empty")
  func firstPush() {
    defer { nodes.deallocate() }
    let list = MPSCList()
    #expect(list.tailIsNil == true)
    #expect(list.head() == nil)
    #expect(list.push(node(0)) == true)
    #expect(list.push(node(1)) == false)
    #expect(list.tailIsNil == false)
    #expect(list.head() == node(0))
    #expect(list.pop(node(0)) == node(1))
    #expect(list.pop(node(1)) == nil)
    #expect(list.tailIsNil == true)
    #expect(list.head() == nil)
    #expect(list.push(node(0)) == true)
  }

  @Test("does what an array does")
  func model() {
    defer { nodes.deallocate() }
    var random = SeededRandom(seed: Stress.seed("MPSC list"))
    let list = MPSCList()
    var model: [Int] = []
    var free = Array(0..<64)
    // What the consumer has to itself (M5), at times.
    var kept: UnsafeMutableRawPointer?
    for _ in 0..<50_000 {
      if random.oneIn(2), let index = free.popLast() {
        #expect(list.push(node(index)) == model.isEmpty)
        model.append(index)
      } else if let head = kept ?? list.head() {
        let index = model.removeFirst()
        #expect(head == node(index))
        if random.oneIn(2) {
          kept = list.popKept(head)
          #expect(kept == model.first.map { node($0) })
        } else {
          #expect(list.pop(head) == model.first.map { node($0) })
          kept = nil
        }
        free.append(index)
      }
      if random.oneIn(4), let oldest = kept {
        list.settle(oldest)
        kept = nil
      }
      #expect(list.tailIsNil == model.isEmpty)
      #expect((kept ?? list.head()) == model.first.map { node($0) })
    }
  }
}
