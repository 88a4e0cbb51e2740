// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

/// That something does *not* run is shown through a serial target queue: what the suspended queue would wrongly submit
/// there precedes the `sync` that the test makes on the target afterwards.
@Suite("Suspension and activation")
struct SuspensionTests {
  private let target = DispatchQueue(label: "target")

  @Test("O4: suspensions nest, and only as many resumptions let the queue run")
  func suspensionsCount() {
    let queue = DispatchQueue(label: "suspended", target: target)
    let ran = Latch()
    for _ in 0..<3 { queue.suspend() }
    queue.async { ran.open() }
    for _ in 0..<2 {
      queue.resume()
      target.sync {}
      #expect(!ran.isOpen)
    }
    queue.resume()
    #expect(ran.wait())
  }

  @Test("O4: a hundred thousand suspensions are counted")
  func manySuspensions() {
    let queue = DispatchQueue(label: "suspended", target: target)
    let ran = Latch()
    for _ in 0..<100_000 { queue.suspend() }
    queue.async { ran.open() }
    for _ in 0..<99_999 { queue.resume() }
    target.sync {}
    #expect(!ran.isOpen)
    queue.resume()
    #expect(ran.wait())
  }

  @Test("O4: an initially inactive queue runs nothing until it is activated", arguments: [false, true])
  func inactiveRunsNothing(concurrent: Bool) {
    let attributes: DispatchQueue.Attributes = concurrent ? [.concurrent, .initiallyInactive] : .initiallyInactive
    let queue = DispatchQueue(label: "inactive", attributes: attributes, target: target)
    let (ran, recorder) = (Latch(10), Recorder<Int>())
    for index in 0..<10 {
      queue.async {
        recorder.note(index)
        ran.open()
      }
    }
    target.sync {}
    #expect(recorder.count == 0)
    queue.activate()
    #expect(ran.wait())
    #expect(recorder.values == Array(0..<10))
  }

  @Test("O4: an inactive queue may be retargeted until it is activated")
  func inactiveIsRetargeted() {
    let key = DispatchSpecificKey<String>()
    let (first, second) = (DispatchQueue(label: "first"), DispatchQueue(label: "second"))
    first.setSpecific(key: key, value: "first")
    second.setSpecific(key: key, value: "second")
    let queue = DispatchQueue(label: "inactive", attributes: .initiallyInactive, target: first)
    let seen = Recorder<String?>()
    let ran = Latch()
    queue.async {
      seen.note(DispatchQueue.getSpecific(key: key))
      ran.open()
    }
    queue.setTarget(queue: second)
    queue.activate()
    #expect(ran.wait())
    #expect(seen.values == ["second"])
  }

  @Test("O4: activating twice, or what is active already, does nothing more")
  func activationIsIdempotent() {
    let queue = DispatchQueue(label: "inactive", attributes: .initiallyInactive, target: target)
    let ran = Latch()
    queue.activate()
    queue.activate()
    queue.suspend()
    queue.activate()
    queue.async { ran.open() }
    target.sync {}
    #expect(!ran.isOpen)
    queue.resume()
    #expect(ran.wait())
  }

  @Test("O4: a queue that is inactive and suspended needs both activation and resumption")
  func inactiveAndSuspended() {
    let queue = DispatchQueue(label: "inactive", attributes: .initiallyInactive, target: target)
    let ran = Latch()
    queue.suspend()
    queue.async { ran.open() }
    queue.activate()
    target.sync {}
    #expect(!ran.isOpen)
    queue.resume()
    #expect(ran.wait())
  }

  @Test("O5: suspension takes effect between items, not within one")
  func suspensionIsNotPreemptive() {
    let queue = DispatchQueue(label: "suspended", target: target)
    let (isIn, gate, finished, second) = (Latch(), Latch(), Latch(), Latch())
    queue.async {
      isIn.open()
      gate.wait()
      finished.open()
    }
    queue.async { second.open() }
    #expect(isIn.wait())
    queue.suspend()
    gate.open()
    #expect(finished.wait())
    target.sync {}
    #expect(!second.isOpen)
    queue.resume()
    #expect(second.wait())
  }

  @Test("O5: an item that suspends its own queue is the last to run", arguments: [false, true])
  func itemSuspendsItsOwnQueue(concurrent: Bool) {
    let queue = DispatchQueue(label: "suspended", attributes: concurrent ? .concurrent : [], target: target)
    let (first, second) = (Latch(), Latch())
    queue.async(flags: .barrier) {
      queue.suspend()
      first.open()
    }
    queue.async { second.open() }
    #expect(first.wait())
    target.sync {}
    #expect(!second.isOpen)
    queue.resume()
    #expect(second.wait())
  }

  @Test("O5: sync onto a suspended queue waits for resumption")
  func syncWaitsForResumption() {
    let queue = DispatchQueue(label: "suspended")
    let ran = Latch()
    queue.suspend()
    let thread = BlockedThread { queue.sync { ran.open() } }
    #expect(thread.isAsleep())
    #expect(!ran.isOpen)
    queue.resume()
    thread.join()
    #expect(ran.isOpen)
  }

  @Test("O5: suspending a global queue does nothing")
  func suspendingGlobalIsHarmless() {
    let queue = DispatchQueue.global(qos: .utility)
    let ran = Latch()
    queue.suspend()
    queue.async { ran.open() }
    #expect(ran.wait())
    queue.resume()
  }

  @Test("O5: suspending a target holds back the queues above it")
  func suspendingTheTarget() {
    let (middle, ran) = (DispatchQueue(label: "middle", target: target), Latch())
    let queue = DispatchQueue(label: "top", target: middle)
    middle.suspend()
    queue.async { ran.open() }
    target.sync {}
    #expect(!ran.isOpen)
    middle.resume()
    #expect(ran.wait())
  }

  @Test("O4: suspend and resume from many threads leave the queue running")
  func concurrentSuspension() {
    let queue = DispatchQueue(label: "contended")
    let sum = Unprotected(0)
    PlainThread.concurrently(4) { _ in
      for _ in 0..<500 {
        queue.suspend()
        queue.async { sum.value += 1 }
        queue.resume()
      }
    }
    #expect(queue.sync { sum.value } == 2_000)
  }
}
