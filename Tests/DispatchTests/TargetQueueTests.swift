// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("Target queues")
struct TargetQueueTests {
  @Test("Q10: queues of one serial target exclude each other")
  func serialTargetSerialises() {
    let target = DispatchQueue(label: "target")
    let queues = (0..<6).map { index in
      DispatchQueue(label: "client-\(index)", attributes: index % 2 == 0 ? .concurrent : [], target: target)
    }
    let sum = Unprotected(0)
    PlainThread.concurrently(3) { thread in
      for index in 0..<600 {
        let queue = queues[(index + thread) % queues.count]
        switch index % 5 {
        case 0: queue.sync { sum.value += 1 }
        case 1: queue.async(flags: .barrier) { sum.value += 1 }
        default: queue.async { sum.value += 1 }
        }
      }
    }
    for queue in queues { queue.sync(flags: .barrier) {} }
    #expect(target.sync { sum.value } == 1_800)
  }

  @Test("Q10: a queue keeps its own order on a concurrent target")
  func orderOnConcurrentTarget() {
    let target = DispatchQueue(label: "target", attributes: .concurrent)
    let queue = DispatchQueue(label: "client", target: target)
    let log = Unprotected<[Int]>([])
    for index in 0..<2_000 {
      queue.async { log.value.append(index) }
      if index % 10 == 0 { target.async {} }
    }
    #expect(queue.sync { log.value } == Array(0..<2_000))
  }

  @Test("Q10: two serial queues on a concurrent target run concurrently")
  func independentOnConcurrentTarget() {
    let target = DispatchQueue(label: "target", attributes: .concurrent)
    let queues = (0..<2).map { DispatchQueue(label: "client-\($0)", target: target) }
    let (everyoneIsIn, met) = (Latch(2), Latch(2))
    for queue in queues {
      queue.async {
        everyoneIsIn.open()
        if everyoneIsIn.wait() { met.open() }
      }
    }
    #expect(met.wait())
  }

  @Test("Q10: a chain of twenty queues works from top to bottom")
  func longChain() {
    var chain = [DispatchQueue(label: "bottom")]
    for level in 1...20 { chain.append(DispatchQueue(label: "level-\(level)", target: chain.last!)) }
    let sum = Unprotected(0)
    for index in 0..<2_100 { chain[index % chain.count].async { sum.value += 1 } }
    for queue in chain.reversed() { queue.sync {} }
    #expect(chain[20].sync { sum.value } == 2_100)
  }

  @Test("Q10: a target given at creation may be a global queue")
  func globalTarget() {
    let queue = DispatchQueue(label: "client", target: .global(qos: .utility))
    #expect(queue.sync { 1 } == 1)
    let ran = Latch()
    queue.async { ran.open() }
    #expect(ran.wait())
  }
}
