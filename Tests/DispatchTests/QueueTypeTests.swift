// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("The types of queues")
struct QueueTypeTests {
  @Test("Q19: a DispatchSerialQueue is a serial queue")
  func serial() {
    let queue: DispatchQueue = DispatchSerialQueue(label: "serial", qos: .utility)
    #expect(queue.label == "serial")
    #expect(queue.qos == .utility)
    let (log, occupancy) = (Unprotected<[Int]>([]), Occupancy())
    for index in 0..<500 {
      queue.async {
        occupancy.enter()
        log.value.append(index)
        occupancy.leave()
      }
    }
    #expect(queue.sync { log.value } == Array(0..<500))
    #expect(occupancy.peak == 1)
  }

  @Test("Q19: a DispatchSerialQueue takes attributes and a target")
  func serialWithEverything() {
    let key = DispatchSpecificKey<String>()
    let target = DispatchSerialQueue(label: "target")
    target.setSpecific(key: key, value: "target")
    let queue = DispatchSerialQueue(
      label: "serial", qos: .userInitiated, attributes: .initiallyInactive, autoreleaseFrequency: .workItem,
      target: target)
    queue.activate()
    #expect(queue.sync { DispatchQueue.getSpecific(key: key) } == "target")
  }

  @Test("Q19: a DispatchConcurrentQueue is a concurrent queue with barriers")
  func concurrent() {
    let queue: DispatchQueue = DispatchConcurrentQueue(label: "concurrent")
    let (everyoneIsIn, met, barrierSaw, done) = (Latch(2), Latch(2), Recorder<Bool>(), Latch())
    for _ in 0..<2 {
      queue.async {
        everyoneIsIn.open()
        if everyoneIsIn.wait() { met.open() }
      }
    }
    queue.async(flags: .barrier) {
      barrierSaw.note(met.isOpen)
      done.open()
    }
    #expect(done.wait())
    #expect(barrierSaw.values == [true])
  }

  @Test("Q19: a workloop runs one item at a time, in submission order within a QoS")
  func workloop() {
    let loop = DispatchWorkloop(label: "workloop")
    #expect(loop.label == "workloop")
    let (log, occupancy, done) = (Unprotected<[Int]>([]), Occupancy(), Latch())
    for index in 0..<1_000 {
      loop.async(qos: .utility, flags: .enforceQoS) {
        occupancy.enter()
        log.value.append(index)
        occupancy.leave()
      }
    }
    loop.async(qos: .utility, flags: .enforceQoS) { done.open() }
    #expect(done.wait())
    #expect(log.value == Array(0..<1_000))
    #expect(occupancy.peak == 1)
  }

  @Test("Q19: a workloop runs items of higher QoS first")
  func workloopOrder() {
    let loop = DispatchWorkloop(label: "workloop")
    let (isIn, gate, done, recorder) = (Latch(), Latch(), Latch(8), Recorder<Int>())
    loop.async {
      isIn.open()
      gate.wait()
    }
    #expect(isIn.wait())
    let order: [(DispatchQoS, Int)] = [
      (.background, 6), (.utility, 4), (.userInitiated, 2), (.userInteractive, 0),
      (.userInteractive, 1), (.userInitiated, 3), (.utility, 5), (.background, 7),
    ]
    for (qos, rank) in order {
      loop.async(qos: qos, flags: .enforceQoS) {
        recorder.note(rank)
        done.open()
      }
    }
    gate.open()
    #expect(done.wait())
    #expect(recorder.values == Array(0..<8))
  }

  @Test("Q19: sync on a workloop returns results, and excludes its items")
  func workloopSync() {
    let loop = DispatchWorkloop(label: "workloop")
    let sum = Unprotected(0)
    PlainThread.concurrently(3) { _ in
      for _ in 0..<300 {
        loop.async { sum.value += 1 }
        loop.sync { sum.value += 1 }
      }
    }
    #expect(loop.sync { sum.value } == 1_800)
  }

  @Test("Q19: a workloop is the target of other queues")
  func workloopAsTarget() {
    let loop = DispatchWorkloop(label: "workloop")
    let queues = (0..<3).map { DispatchQueue(label: "client-\($0)", target: loop) }
    let sum = Unprotected(0)
    for index in 0..<900 { queues[index % 3].async { sum.value += 1 } }
    for queue in queues { queue.sync {} }
    #expect(loop.sync { sum.value } == 900)
  }
}
