// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

@Suite("The turns of operations at a file")
struct TurnTests {
  private func operation(on queue: DispatchQueue = .global()) -> IOOperation {
    IOOperation(.read, offset: nil, length: 1, limits: IOLimits(), file: nil, channel: nil, queue: queue) { _, _, _ in }
  }

  @Test("one that leaves while it waits is let go, wherever it stands, and the others keep their order")
  func leaving() {
    for leaver in 1..<5 {
      var turns = IOTurns(width: 1)
      var all = (0..<5).map { _ in operation() }
      var joined: [Bool] = []
      for one in all { joined.append(turns.join(one)) }
      #expect(joined == [true, false, false, false, false])
      weak let gone = all[leaver]
      let none = turns.leave(all.remove(at: leaver))
      #expect(none == nil)
      #expect(gone == nil)
      for (index, one) in all.enumerated() {
        let next = turns.leave(one)
        #expect(next === (index + 1 < all.count ? all[index + 1] : nil))
      }
      let isFree = turns.join(operation())
      #expect(isFree)
    }
  }

  @Test("one that was stopped before it joins never waits")
  func stoppedBefore() {
    var turns = IOTurns(width: 1)
    let (first, second) = (operation(), operation())
    let had = turns.join(first)
    let none = turns.leave(second)
    let waits = turns.join(second)
    let next = turns.leave(first)
    #expect(had && none == nil && !waits && next == nil)
    #expect(second.place == .left)
  }

  @Test("many that trail cost as much each as few do, and each is behind the one before it", arguments: [1, 40])
  func trailing(queueCount: Int) {
    let queues = (0..<queueCount).map { DispatchQueue(label: "queue \($0)") }
    let all = (0..<20_000).map { operation(on: queues[$0 % queueCount]) }
    var wrong = 0
    /// So many trail at a time; then their last calls come, in their order.
    func run(_ portion: Int) -> UInt64 {
      var turns = IOTurns(width: 1)
      for one in all { one.place = .none }
      return processorTime {
        for begin in stride(from: 0, to: all.count, by: portion) {
          let end = begin + portion
          for index in begin..<end {
            if !turns.join(all[index]) { wrong += 1 }
            turns.trail(all[index])
            if turns.leave(all[index]) != nil { wrong += 1 }
          }
          for index in begin..<end {
            let behind = turns.trailNoMore(all[index])
            if behind !== (index + queueCount < end ? all[index + queueCount] : nil) { wrong += 1 }
          }
        }
      }
    }
    let few = run(80)
    let many = run(all.count)
    #expect(many < 10 * few, "\(many) ns, and \(few) ns by few")
    #expect(wrong == 0)
  }

  @Test("the newest operation of each order is found, whatever was noted and forgotten before", arguments: [1, 2, 200])
  func newest(queueCount: Int) {
    var random = SeededRandom(seed: Stress.seed("orders of \(queueCount)"))
    let queues = (0..<queueCount).map { DispatchQueue(label: "queue \($0)") }
    let all = queues.map { queue in (0..<3).map { _ in operation(on: queue) } }
    var (orders, model) = (IOOrders(), [IOOperation?](repeating: nil, count: queueCount))
    var wrong = 0
    for _ in 0..<20_000 {
      let index = random.below(queueCount)
      if random.oneIn(2) {
        let one = all[index][random.below(3)]
        orders.note(one)
        model[index] = one
      } else {
        orders.forget(all[index][0].order)
        model[index] = nil
      }
      if random.oneIn(2_000) {
        for index in 0..<queueCount { orders.forget(all[index][0].order) }
        model = Array(repeating: nil, count: queueCount)
      }
      let other = random.below(queueCount)
      if orders.newest(of: all[other][0].order) !== model[other] { wrong += 1 }
    }
    #expect(wrong == 0)
    #expect(orders.count == model.compactMap { $0 }.count)
  }

  @Test("I6: many barriers that wait cost as much each as few do")
  func waitingBarriers() {
    let count = 200_000
    /// So many wait at a time.
    func run(_ portion: Int) -> UInt64 {
      var barriers = IOBarriers()
      return processorTime {
        for _ in 0..<count / portion {
          for _ in 0..<portion { _ = barriers.submit() }
          for _ in 0..<portion { _ = barriers.barrierHasEnded() }
        }
      }
    }
    let few = run(100)
    let many = run(count)
    #expect(many < 6 * few, "\(many) ns, and \(few) ns by few")
  }
}
