// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("A semaphore")
struct SemaphoreTests {
  @Test("G3: as many waits succeed at once as the start value says", arguments: [0, 1, 2, 100])
  func startValue(value: Int) {
    let semaphore = DispatchSemaphore(value: value)
    for _ in 0..<value { #expect(semaphore.wait(timeout: .now()) == .success) }
    #expect(semaphore.wait(timeout: .now()) == .timedOut)
    for _ in 0..<value { semaphore.signal() }
  }

  @Test("G3: a start value as large as there is leaves room for signals")
  func largestStartValue() {
    let semaphore = DispatchSemaphore(value: .max)
    #expect(semaphore.signal() == 0)
    for _ in 0..<3 { #expect(semaphore.wait(timeout: .now()) == .success) }
    for _ in 0..<2 { #expect(semaphore.signal() == 0) }
  }

  @Test("G3: signal lets a waiter through, and says whether it woke one")
  func signalWakes() {
    let semaphore = DispatchSemaphore(value: 0)
    #expect(semaphore.signal() == 0)
    semaphore.wait()
    let waiter = BlockedThread { semaphore.wait() }
    #expect(waiter.isAsleep())
    #expect(semaphore.signal() != 0)
    waiter.join()
    #expect(semaphore.signal() == 0)
    semaphore.wait()
  }

  @Test("G3: waiters are woken in the order in which they came")
  func wakesInOrder() {
    let semaphore = DispatchSemaphore(value: 0)
    let recorder = Recorder<Int>()
    let waiters = (0..<6).map { index in
      let waiter = BlockedThread {
        semaphore.wait()
        recorder.note(index)
      }
      #expect(waiter.isAsleep())
      return waiter
    }
    for (index, waiter) in waiters.enumerated() {
      semaphore.signal()
      waiter.join()
      #expect(recorder.values == Array(0...index))
    }
  }

  @Test("G3: a wait times out no earlier than its deadline, and leaves the count as it was")
  func timeout() {
    let semaphore = DispatchSemaphore(value: 0)
    let start = monotonicNanoseconds()
    #expect(semaphore.wait(timeout: .now() + .milliseconds(30)) == .timedOut)
    #expect(monotonicNanoseconds() - start >= 30_000_000)
    // By that clock alone: on some machines it is put right by half a millisecond ten times a second.
    let wall = DispatchWallTime.now() + .milliseconds(30)
    #expect(semaphore.wait(wallTimeout: wall) == .timedOut)
    #expect(hasCome(wall))
    semaphore.signal()
    #expect(semaphore.wait(timeout: .now()) == .success)
    #expect(semaphore.wait(timeout: .now()) == .timedOut)
    semaphore.signal()
    #expect(semaphore.wait(timeout: .distantFuture) == .success)
  }

  @Test("G3: no signal is lost between waits that time out and signals that come then")
  func timeoutsRaceWithSignals() {
    let semaphore = DispatchSemaphore(value: 0)
    let (taken, given) = (Counter(), 4_000)
    let waiters = (0..<3).map { _ in
      PlainThread {
        while taken.value < given {
          if semaphore.wait(timeout: .now() + .microseconds(20)) == .success { taken.add() }
        }
      }
    }
    for _ in 0..<given { semaphore.signal() }
    for waiter in waiters { waiter.join() }
    #expect(taken.value == given)
    #expect(semaphore.wait(timeout: .now()) == .timedOut)
  }

  @Test("G3: a semaphore bounds how many are inside")
  func boundsConcurrency() {
    let (semaphore, occupancy, done) = (DispatchSemaphore(value: 3), Occupancy(), Latch(100))
    let (arrived, full) = (Latch(20), Latch(3))
    for _ in 0..<100 {
      DispatchQueue.global().async {
        arrived.open()
        semaphore.wait()
        occupancy.enter()
        full.open()
        // So many have come meanwhile that the semaphore alone keeps the others out.
        arrived.wait()
        full.wait()
        occupancy.leave()
        semaphore.signal()
        done.open()
      }
    }
    #expect(done.wait())
    #expect(occupancy.peak == 3)
  }

  @Test("G3: what was done before signal is seen after wait")
  func publishes() {
    let (there, back) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let value = Unprotected(0)
    let thread = PlainThread {
      for _ in 0..<5_000 {
        there.wait()
        value.value += 1
        back.signal()
      }
    }
    for round in 1...5_000 {
      there.signal()
      back.wait()
      if value.value != round { Issue.record("round \(round) saw \(value.value)") }
    }
    thread.join()
  }

  @Test("G3: waiting and signalling without contention makes no system call")
  func makesNoSystemCall() {
    let result = Probe.run("semaphore-without-system-calls")
    #expect(result.ended, "\(result)")
  }

  @Test("G1: a group without a waiter makes no system call")
  func groupMakesNoSystemCall() {
    let result = Probe.run("group-without-system-calls")
    #expect(result.ended, "\(result)")
  }

  @Test("Q8: sync on a queue that nobody holds makes no system call", arguments: ["serial", "concurrent"])
  func syncMakesNoSystemCall(kind: String) {
    let result = Probe.run("\(kind)-sync-without-system-calls")
    #expect(result.ended, "\(result)")
  }
}
