// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("A serial queue")
struct SerialQueueTests {
  @Test("Q1: items of a serial queue start in submission order")
  func startsInSubmissionOrder() {
    let queue = DispatchQueue(label: "serial")
    let recorder = Recorder<Int>()
    let done = Latch()
    for index in 0..<10_000 { queue.async { recorder.note(index) } }
    queue.async { done.open() }
    #expect(done.wait())
    #expect(recorder.values == Array(0..<10_000))
  }

  @Test("Q1: items of one submitter keep their order among those of others")
  func keepsOrderOfEachSubmitter() {
    let queue = DispatchQueue(label: "serial")
    let recorder = Recorder<(submitter: Int, index: Int)>()
    PlainThread.concurrently(4) { submitter in
      for index in 0..<2_000 { queue.async { recorder.note((submitter, index)) } }
    }
    queue.sync {}
    let values = recorder.values
    #expect(values.count == 8_000)
    for submitter in 0..<4 {
      #expect(values.filter { $0.submitter == submitter }.map(\.index) == Array(0..<2_000))
    }
  }

  @Test("Q1: order that another synchronisation establishes is kept")
  func keepsOrderAcrossThreads() {
    let queue = DispatchQueue(label: "serial")
    let recorder = Recorder<Int>()
    let turns = (0...100).map { _ in Latch() }
    turns[0].open()
    PlainThread.concurrently(2) { thread in
      for index in 0..<100 where index % 2 == thread {
        turns[index].wait()
        queue.async { recorder.note(index) }
        turns[index + 1].open()
      }
    }
    queue.sync {}
    #expect(recorder.values == Array(0..<100))
  }

  @Test("Q2: a serial queue runs one item at a time")
  func runsOneItemAtATime() {
    let queue = DispatchQueue(label: "serial")
    let occupancy = Occupancy()
    PlainThread.concurrently(4) { thread in
      for index in 0..<1_000 {
        let item: @Sendable () -> Void = {
          occupancy.enter()
          occupancy.leave()
        }
        if (index + thread) % 3 == 0 { queue.sync(execute: item) } else { queue.async(execute: item) }
      }
    }
    queue.sync {}
    #expect(occupancy.peak == 1)
  }

  @Test("Q2: item n happens before item n + 1, so its plain writes are seen")
  func publishesPlainWrites() {
    let queue = DispatchQueue(label: "serial")
    let sum = Unprotected(0)
    PlainThread.concurrently(4) { thread in
      for index in 0..<5_000 {
        if index % 50 == thread { queue.sync { sum.value += 1 } } else { queue.async { sum.value += 1 } }
      }
    }
    #expect(queue.sync { sum.value } == 20_000)
  }

  @Test("Q2: independent serial queues run concurrently")
  func independentQueuesMeet() {
    let (first, second) = (DispatchQueue(label: "first"), DispatchQueue(label: "second"))
    let (firstIsIn, secondIsIn, met) = (Latch(), Latch(), Latch(2))
    first.async {
      firstIsIn.open()
      if secondIsIn.wait() { met.open() }
    }
    second.async {
      secondIsIn.open()
      if firstIsIn.wait() { met.open() }
    }
    #expect(met.wait())
  }

  @Test("Q2: many serial queues each keep their order while all are busy")
  func manyQueuesKeepTheirOrder() {
    let queues = (0..<50).map { DispatchQueue(label: "serial-\($0)") }
    let logs = queues.map { _ in Unprotected<[Int]>([]) }
    let done = Latch(queues.count)
    for index in 0..<200 {
      for (queue, log) in zip(queues, logs) { queue.async { log.value.append(index) } }
    }
    for queue in queues { queue.async { done.open() } }
    #expect(done.wait())
    for log in logs { #expect(log.value == Array(0..<200)) }
  }

  @Test("Q2: an item may submit to its own queue")
  func itemSubmitsToItsOwnQueue() {
    let queue = DispatchQueue(label: "serial")
    let recorder = Recorder<Int>()
    let done = Latch()
    @Sendable func step(_ number: Int) {
      recorder.note(number)
      if number < 1_000 { queue.async { step(number + 1) } } else { done.open() }
    }
    queue.async { step(0) }
    #expect(done.wait())
    #expect(recorder.values == Array(0...1_000))
  }

  @Test("Q2: items ping-pong between two serial queues")
  func pingPong() {
    let queues = [DispatchQueue(label: "ping"), DispatchQueue(label: "pong")]
    let done = Latch()
    @Sendable func hop(_ left: Int) {
      if left == 0 { done.open() } else { queues[left % 2].async { hop(left - 1) } }
    }
    hop(20_000)
    #expect(done.wait())
  }
}
