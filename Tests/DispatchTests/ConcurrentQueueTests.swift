// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

/// Returns when items have run that are submitted now. Whatever may start, and was submitted before, has started by then.
///
/// - Parameter queue: A global queue, of the lowest band in question.
func letOthersStart(before queue: DispatchQueue = .global()) {
  let ran = Latch(50)
  for _ in 0..<50 { queue.async { ran.open() } }
  #expect(ran.wait())
}

@Suite("A concurrent queue")
struct ConcurrentQueueTests {
  @Test("Q3: items of a concurrent queue run in parallel")
  func itemsMeet() {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let (everyoneIsIn, met) = (Latch(3), Latch(3))
    for _ in 0..<3 {
      queue.async {
        everyoneIsIn.open()
        if everyoneIsIn.wait() { met.open() }
      }
    }
    #expect(met.wait())
  }

  @Test("Q3: sync readers run in parallel")
  func syncReadersMeet() {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let (everyoneIsIn, met) = (Latch(4), Latch(4))
    PlainThread.concurrently(4) { _ in
      queue.sync {
        everyoneIsIn.open()
        if everyoneIsIn.wait() { met.open() }
      }
    }
    #expect(met.isOpen)
  }

  @Test("Q1: items of a concurrent queue start in submission order")
  func startsInOrder() {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let order = StartOrder(items: 10_000)
    let done = Latch(10_000)
    for index in 0..<10_000 {
      queue.async {
        order.started(index)
        done.open()
      }
    }
    #expect(done.wait())
    #expect(order.isFIFO, "\(order.worst) earlier items were missing, with \(order.threads) threads")
  }

  @Test("Q3: a barrier waits for all earlier items, runs alone, and later items wait for it")
  func barriersSeparate() {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let (readers, writers, faults) = (Occupancy(), Occupancy(), Recorder<String>())
    let (barriersRun, itemsRun) = (Counter(), Counter())
    let done = Latch()
    for index in 0..<3_000 {
      if index % 10 == 9 {
        queue.async(flags: .barrier) {
          writers.enter()
          if readers.inside != 0 { faults.note("barrier \(index) met a reader") }
          if itemsRun.value != index { faults.note("barrier \(index) came after \(itemsRun.value) items") }
          itemsRun.add()
          barriersRun.add()
          writers.leave()
        }
      } else {
        queue.async {
          readers.enter()
          if writers.inside != 0 { faults.note("item \(index) met a barrier") }
          if barriersRun.value != index / 10 { faults.note("item \(index) saw \(barriersRun.value) barriers") }
          itemsRun.add()
          readers.leave()
        }
      }
    }
    queue.async(flags: .barrier) { done.open() }
    #expect(done.wait())
    #expect(faults.values == [])
    #expect(writers.peak == 1)
  }

  @Test("Q3: a sync barrier has the queue to itself")
  func syncBarrierIsAlone() {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let value = Unprotected([0, 0])
    let torn = Counter()
    PlainThread.concurrently(4) { thread in
      for index in 0..<1_000 {
        if index % 4 == thread {
          queue.sync(flags: .barrier) {
            value.value[0] += 1
            value.value[1] += 1
          }
        } else {
          queue.sync { if value.value[0] != value.value[1] { torn.add() } }
        }
      }
    }
    #expect(torn.value == 0)
    #expect(queue.sync { value.value } == [1_000, 1_000])
  }

  @Test("Q3: readers and writers, sync and async, from many threads keep a plain dictionary whole")
  func readersAndWriters() {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let table = Unprotected<[Int: Int]>([:])
    PlainThread.concurrently(4) { thread in
      for index in 0..<500 {
        queue.async(flags: .barrier) { table.value[thread * 1_000 + index] = index }
        _ = queue.sync { table.value.count }
      }
    }
    #expect(queue.sync(flags: .barrier) { table.value.count } == 2_000)
  }

  @Test("Q3: a barrier work item is a barrier")
  func barrierWorkItem() {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let (isIn, gate, barrierRan) = (Latch(), Latch(), Latch())
    queue.async {
      isIn.open()
      gate.wait()
    }
    #expect(isIn.wait())
    queue.async(execute: DispatchWorkItem(flags: .barrier) { barrierRan.open() })
    let reader = Latch()
    queue.async { reader.open() }
    letOthersStart()
    #expect(!barrierRan.isOpen && !reader.isOpen)
    gate.open()
    #expect(reader.wait())
    #expect(barrierRan.isOpen)
  }

  @Test("Q3: asyncAndWait with the barrier flag waits for readers and excludes them")
  func asyncAndWaitBarrier() {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let (readers, met) = (Occupancy(), Counter())
    for _ in 0..<50 {
      for _ in 0..<5 {
        queue.async {
          readers.enter()
          readers.leave()
        }
      }
      queue.asyncAndWait(flags: .barrier) { if readers.inside != 0 { met.add() } }
    }
    #expect(met.value == 0)
  }

  @Test("Q3: on a serial queue a barrier is an ordinary item")
  func barrierOnSerial() {
    let queue = DispatchQueue(label: "serial")
    let recorder = Recorder<Int>()
    for index in 0..<100 { queue.async(flags: index % 3 == 0 ? .barrier : []) { recorder.note(index) } }
    queue.sync(flags: .barrier) { recorder.note(100) }
    #expect(recorder.values == Array(0...100))
  }

  @Test("Q3: a barrier holds back its own queue only, not the others on the same target")
  func barrierIsLocal() {
    let target = DispatchQueue(label: "target", attributes: .concurrent)
    let first = DispatchQueue(label: "first", attributes: .concurrent, target: target)
    let second = DispatchQueue(label: "second", attributes: .concurrent, target: target)
    let (isIn, gate, done) = (Latch(), Latch(), Latch())
    first.async(flags: .barrier) {
      isIn.open()
      gate.wait()
      done.open()
    }
    #expect(isIn.wait())
    let other = Latch()
    second.async { other.open() }
    #expect(other.wait())
    gate.open()
    #expect(done.wait())
  }
}
