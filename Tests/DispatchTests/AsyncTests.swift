// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("Async")
struct AsyncTests {
  private static let queues: [DispatchQueue] = [
    DispatchQueue(label: "serial"), DispatchQueue(label: "concurrent", attributes: .concurrent),
    DispatchQueue.global(), DispatchQueue(label: "targeting", target: DispatchQueue(label: "target")),
  ]

  @Test("Q7: async never runs the item on the caller's stack", arguments: queues)
  func neverInline(queue: DispatchQueue) {
    let (caller, recorder, done) = (Kernel.threadID, Recorder<Int32>(), Latch(100))
    for _ in 0..<100 {
      queue.async {
        recorder.note(Kernel.threadID)
        done.open()
      }
    }
    #expect(done.wait())
    #expect(!recorder.values.contains(caller))
  }

  @Test("Q7: async from an item returns before the new item of the same serial queue starts")
  func returnsBeforeTheItemStarts() {
    let queue = DispatchQueue(label: "serial")
    let (recorder, done) = (Recorder<String>(), Latch())
    queue.async {
      recorder.note("submit")
      queue.async {
        recorder.note("run")
        done.open()
      }
      recorder.note("returned")
    }
    #expect(done.wait())
    #expect(recorder.values == ["submit", "returned", "run"])
  }

  @Test("Q7: async returns though the queue is blocked")
  func doesNotWait() {
    let queue = DispatchQueue(label: "blocked")
    let (gate, done) = (Latch(), Latch())
    queue.async { gate.wait() }
    for _ in 0..<1_000 { queue.async {} }
    queue.async { done.open() }
    #expect(!done.isOpen)
    gate.open()
    #expect(done.wait())
  }

  @Test("Q7: an item's closure is released before the next item starts")
  func releasesBeforeTheNext() {
    let queue = DispatchQueue(label: "serial")
    let (recorder, gate, done) = (Recorder<String>(), Latch(), Latch())
    queue.async { gate.wait() }
    for index in 0..<50 {
      let tombstone = Tombstone { recorder.note("released \(index)") }
      queue.async {
        tombstone.visit()
        recorder.note("ran \(index)")
      }
    }
    queue.async { done.open() }
    gate.open()
    #expect(done.wait())
    #expect(recorder.values == (0..<50).flatMap { ["ran \($0)", "released \($0)"] })
  }

  @Test("Q7: an item is kept until it has run")
  func retainsUntilRun() {
    let queue = DispatchQueue(label: "serial")
    let (gate, buried, ran) = (Latch(), Latch(), Counter())
    queue.async { gate.wait() }
    do {
      let tombstone = Tombstone(buried)
      queue.async {
        tombstone.visit()
        ran.add()
      }
    }
    #expect(!buried.isOpen)
    gate.open()
    #expect(buried.wait())
    #expect(ran.value == 1)
  }

  @Test("Q7: every item runs exactly once, whichever thread submits it", arguments: queues)
  func exactlyOnce(queue: DispatchQueue) {
    let (runs, done) = (Guarded([Int](repeating: 0, count: 8_000)), Latch(8_000))
    PlainThread.concurrently(4) { thread in
      for index in 0..<2_000 {
        queue.async {
          runs.with { $0[thread * 2_000 + index] += 1 }
          done.open()
        }
      }
    }
    #expect(done.wait())
    #expect(runs.with { $0.allSatisfy { $0 == 1 } })
  }

  @Test("Q7: a million items pass through a queue")
  func aMillionItems() {
    let queue = DispatchQueue(label: "serial")
    let sum = Unprotected(0)
    for _ in 0..<1_000_000 { queue.async { sum.value += 1 } }
    #expect(queue.sync { sum.value } == 1_000_000)
  }
}
