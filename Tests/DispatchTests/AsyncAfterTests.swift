// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("asyncAfter")
struct AsyncAfterTests {
  @Test("Q17: an item never runs before its deadline", arguments: [1, 5, 20, 60, 150])
  func neverEarly(milliseconds: Int) {
    let queue = DispatchQueue(label: "after")
    let (early, done) = (Recorder<UInt64>(), Latch(20))
    for offset in 0..<20 {
      let delay = UInt64(milliseconds) * 1_000_000 + UInt64(offset) * 50_000
      let due = DispatchTime(uptimeNanoseconds: DispatchTime.now().uptimeNanoseconds + delay)
      queue.asyncAfter(deadline: due) {
        let now = DispatchTime.now().uptimeNanoseconds
        if now < due.uptimeNanoseconds { early.note(due.uptimeNanoseconds - now) }
        done.open()
      }
    }
    #expect(done.wait())
    #expect(early.values == [])
  }

  @Test("Q17: an item runs soon after its deadline")
  func notLate() async {
    // Elsewhere the items would be behind those of other tests, which take their time.
    await #expect(processExitsWith: .success) {
      let (lateness, done, machine) = (Recorder<Double>(), Latch(10), Lateness())
      for index in 1...10 {
        let due = monotonicNanoseconds() + UInt64(index) * 10_000_000
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(index * 10)) {
          lateness.note(Double(Int64(monotonicNanoseconds()) - Int64(due)) / 1e9)
          done.open()
        }
      }
      #expect(done.wait())
      let median = lateness.values.sorted()[5]
      let late = Double(machine.end()) / 1e3
      // The duel compares lateness.
      #expect(median < 0.5 + 10 * late, "median lateness \(median) s, of a thread that sleeps at most \(late) s")
    }
  }

  @Test("Q17: a deadline that is now or past submits at once")
  func pastDeadlines() {
    let queue = DispatchQueue(label: "after")
    let done = Latch(4)
    queue.asyncAfter(deadline: .now()) { done.open() }
    queue.asyncAfter(deadline: .now() - .seconds(10)) { done.open() }
    queue.asyncAfter(deadline: DispatchTime(uptimeNanoseconds: 1)) { done.open() }
    queue.asyncAfter(wallDeadline: .now() - 60.0) { done.open() }
    #expect(done.wait())
  }

  @Test("Q17: the distant future never comes")
  func distantFuture() {
    let queue = DispatchQueue(label: "after")
    let (ran, done) = (Counter(), Latch())
    queue.asyncAfter(deadline: .distantFuture) { ran.add() }
    queue.asyncAfter(wallDeadline: .distantFuture) { ran.add() }
    queue.asyncAfter(deadline: .now() + .never) { ran.add() }
    queue.asyncAfter(deadline: .now() + .milliseconds(50)) { done.open() }
    #expect(done.wait())
    #expect(ran.value == 0)
  }

  /// Repeats what the machine has not let be set up before the first deadline.
  private func whenInTime(_ attempt: () -> Bool) {
    #expect((0..<10).contains { _ in attempt() })
  }

  @Test("Q17: items come in the order of their deadlines")
  func orderOfDeadlines() {
    let queue = DispatchQueue(label: "after")
    whenInTime {
      let (recorder, done) = (Recorder<Int>(), Latch(10))
      let start = DispatchTime.now() + .milliseconds(100)
      for index in [7, 2, 9, 0, 4, 1, 8, 3, 6, 5] {
        queue.asyncAfter(deadline: start + .milliseconds(index * 20)) {
          recorder.note(index)
          done.open()
        }
      }
      let wasInTime = DispatchTime.now() < start
      #expect(done.wait())
      if wasInTime { #expect(recorder.values == Array(0..<10)) }
      return wasInTime
    }
  }

  @Test("Q17: a wall clock deadline is kept")
  func wallDeadline() {
    let (due, done) = (DispatchWallTime.now() + .milliseconds(40), Latch())
    DispatchQueue.global().asyncAfter(wallDeadline: due) { done.open() }
    #expect(done.wait())
    #expect(hasCome(due))
  }

  @Test("Q17: a cancelled item does not run, and its closure is released at once")
  func cancelReleasesTheClosure() {
    let buried = Latch()
    func makeItem() -> DispatchWorkItem {
      let tombstone = Tombstone(buried)
      return DispatchWorkItem { tombstone.visit() }
    }
    let item = makeItem()
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(3_600), execute: item)
    #expect(!buried.isOpen)
    item.cancel()
    let isReleased = buried.isOpen
    // The item itself is held up to here.
    withExtendedLifetime(item) { #expect(isReleased) }
  }

  @Test("Q17: ten thousand cancelled timers leave nothing behind")
  func cancelMany() {
    let buried = Latch(10_000)
    var items: [DispatchWorkItem] = []
    for index in 0..<10_000 {
      let tombstone = Tombstone(buried)
      let item = DispatchWorkItem { tombstone.visit() }
      items.append(item)
      DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(600 + index), execute: item)
    }
    for item in items { item.cancel() }
    items = []
    #expect(buried.wait())
  }

  @Test("Q17: a cancelled item does not hold up those behind it")
  func cancelledAmongOthers() {
    let queue = DispatchQueue(label: "after")
    whenInTime {
      let (recorder, done) = (Recorder<Int>(), Latch())
      let start = DispatchTime.now() + .milliseconds(30)
      for index in 0..<20 {
        let item = DispatchWorkItem { recorder.note(index) }
        queue.asyncAfter(deadline: start + .milliseconds(index), execute: item)
        if index % 2 == 0 { item.cancel() }
      }
      queue.asyncAfter(deadline: start + .milliseconds(60)) { done.open() }
      let wasInTime = DispatchTime.now() < start
      #expect(done.wait())
      if wasInTime { #expect(recorder.values == (0..<20).filter { $0 % 2 == 1 }) }
      return wasInTime
    }
  }

  @Test("Q17: a delayed item is submitted, not run: a blocked queue delays it further")
  func submitsAtTheDeadline() {
    let queue = DispatchQueue(label: "after")
    let (gate, ran, due) = (Latch(), Latch(), Latch())
    queue.async { gate.wait() }
    queue.asyncAfter(deadline: .now() + .milliseconds(5)) { ran.open() }
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(40)) { due.open() }
    #expect(due.wait())
    #expect(!ran.isOpen)
    gate.open()
    #expect(ran.wait())
  }

  @Test("Q17: a delayed barrier is a barrier")
  func delayedBarrier() {
    let queue = DispatchQueue(label: "after", attributes: .concurrent)
    let done = Latch()
    queue.asyncAfter(deadline: .now() + .milliseconds(5), flags: .barrier) {
      dispatchPrecondition(condition: .onQueueAsBarrier(queue))
      done.open()
    }
    #expect(done.wait())
  }

  @Test("Q17: a chain of delayed items makes a repeating timer")
  func chain() {
    let queue = DispatchQueue(label: "after")
    let (start, done) = (monotonicNanoseconds(), Latch())
    @Sendable func tick(_ left: Int) {
      if left == 0 { return done.open() }
      queue.asyncAfter(deadline: .now() + .milliseconds(2)) { tick(left - 1) }
    }
    tick(25)
    #expect(done.wait())
    #expect(monotonicNanoseconds() - start >= 50_000_000)
  }

  @Test("Q17: ten thousand timers from many threads all come, none early")
  func manyTimers() {
    let (early, done) = (Counter(), Latch(10_000))
    PlainThread.concurrently(4) { thread in
      var random = SeededRandom(seed: UInt64(thread))
      for _ in 0..<2_500 {
        let due = DispatchTime.now() + .microseconds(random.below(200_000))
        DispatchQueue.global().asyncAfter(deadline: due) {
          if DispatchTime.now() < due { early.add() }
          done.open()
        }
      }
    }
    #expect(done.wait())
    #expect(early.value == 0)
  }
}
