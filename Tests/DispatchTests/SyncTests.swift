// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

private struct Refusal: Error, Equatable { let code: Int }

/// What only `sync` can carry out: neither copyable nor Sendable.
private final class Unshareable { var value = 7 }

@Suite("Sync")
struct SyncTests {
  @Test("Q8: sync returns what the item returns")
  func returnsResults() {
    let queue = DispatchQueue(label: "sync")
    #expect(queue.sync { 42 } == 42)
    #expect(queue.sync { "text" } == "text")
    #expect(queue.sync { [1, 2, 3] } == [1, 2, 3])
    let nothing: Int? = queue.sync { nil }
    #expect(nothing == nil)
    #expect(queue.sync { Unshareable() }.value == 7)
    #expect(queue.sync(flags: .barrier) { (1, "two") } == (1, "two"))
  }

  @Test("Q8: sync throws what the item throws, and leaves the queue working")
  func throwsErrors() {
    let queue = DispatchQueue(label: "sync")
    #expect(throws: Refusal(code: 3)) { try queue.sync { throw Refusal(code: 3) } }
    #expect(throws: Refusal(code: 4)) { try queue.sync(flags: .barrier) { throw Refusal(code: 4) } }
    #expect(throws: Refusal(code: 5)) { try queue.asyncAndWait { throw Refusal(code: 5) } }
    #expect(queue.sync { true })
  }

  @Test("Q8: sync runs on the calling thread, contended or not", arguments: [false, true])
  func runsOnTheCallingThread(concurrent: Bool) {
    let queue = DispatchQueue(label: "sync", attributes: concurrent ? .concurrent : [])
    let strangers = Counter()
    PlainThread.concurrently(4) { _ in
      let caller = Kernel.threadID
      for index in 0..<500 {
        queue.async {}
        let flags: DispatchWorkItemFlags = index % 2 == 0 ? .barrier : []
        if queue.sync(flags: flags, execute: { Kernel.threadID }) != caller { strangers.add() }
      }
    }
    #expect(strangers.value == 0)
  }

  @Test("Q8: sync comes after the items that were enqueued before it", arguments: [false, true])
  func isFIFO(concurrent: Bool) {
    let queue = DispatchQueue(label: "sync", attributes: concurrent ? .concurrent : [])
    let finished = Counter()
    for round in 1...200 {
      for _ in 0..<5 { queue.async(flags: .barrier) { finished.add() } }
      #expect(queue.sync { finished.value } == round * 5)
    }
  }

  @Test("Q8: sync waiters of one queue are served in the order in which they came")
  func waitersAreFIFO() {
    let queue = DispatchQueue(label: "sync")
    let (gate, recorder) = (Latch(), Recorder<Int>())
    queue.async { gate.wait() }
    let threads = (0..<6).map { index in
      let waiter = BlockedThread { queue.sync { recorder.note(index) } }
      #expect(waiter.isAsleep())
      return waiter
    }
    gate.open()
    for thread in threads { thread.join() }
    #expect(recorder.values == Array(0..<6))
  }

  @Test("Q8: sync nests over different queues")
  func nests() {
    let queues = (0..<5).map { DispatchQueue(label: "level-\($0)") }
    let result = queues[0].sync {
      queues[1].sync { queues[2].sync { queues[3].sync { queues[4].sync { "bottom" } } } }
    }
    #expect(result == "bottom")
  }

  @Test("Q8: sync performs a work item")
  func performsWorkItem() {
    let queue = DispatchQueue(label: "sync")
    let ran = Counter()
    let item = DispatchWorkItem { ran.add() }
    queue.sync(execute: item)
    #expect(ran.value == 1)
    #expect(item.wait(timeout: .now()) == .success)
  }

  @Test("Q8: sync through a target chain waits for every queue of the chain")
  func syncThroughTheChain() {
    let bottom = DispatchQueue(label: "bottom")
    let top = DispatchQueue(label: "top", target: DispatchQueue(label: "middle", target: bottom))
    let (isIn, gate, finished) = (Latch(), Latch(), Latch())
    bottom.async {
      isIn.open()
      gate.wait()
      finished.open()
    }
    #expect(isIn.wait())
    let waiter = BlockedThread { top.sync { #expect(finished.isOpen) } }
    #expect(waiter.isAsleep())
    gate.open()
    waiter.join()
    #expect(finished.isOpen)
  }

  @Test("Q8: sync from pool threads onto one queue makes progress though all of them wait")
  func syncFromManyItems() {
    let queue = DispatchQueue(label: "sync")
    let (sum, done) = (Unprotected(0), Latch(200))
    for _ in 0..<200 {
      DispatchQueue.global().async {
        queue.sync { sum.value += 1 }
        done.open()
      }
    }
    #expect(done.wait())
    #expect(queue.sync { sum.value } == 200)
  }

  @Test("Q8: asyncAndWait returns results and comes after earlier items", arguments: [false, true])
  func asyncAndWait(concurrent: Bool) {
    let queue = DispatchQueue(label: "wait", attributes: concurrent ? .concurrent : [])
    let finished = Counter()
    for round in 1...100 {
      queue.async(flags: .barrier) { finished.add() }
      #expect(queue.asyncAndWait { finished.value } == round)
      #expect(queue.asyncAndWait(flags: .barrier) { finished.value } == round)
    }
  }

  @Test("Q8: asyncAndWait excludes every other item of a serial queue")
  func asyncAndWaitIsExclusive() {
    let queue = DispatchQueue(label: "wait")
    let sum = Unprotected(0)
    PlainThread.concurrently(4) { _ in
      for _ in 0..<500 {
        queue.async { sum.value += 1 }
        queue.asyncAndWait { sum.value += 1 }
        queue.sync { sum.value += 1 }
      }
    }
    #expect(queue.sync { sum.value } == 6_000)
  }
}
