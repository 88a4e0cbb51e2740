// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

/// The main thread of the test process belongs to the test runner, so each test runs a program of its own.
@Suite("The main queue")
struct MainQueueTests {
  @Test("Q15: under dispatchMain every item of the main queue runs on the main thread")
  func drainsOnTheMainThread() {
    let result = Probe.run("main-drains")
    #expect(result.ended, "\(result)")
    #expect(result.number("async") == 1, "\(result)")
    #expect(result.number("after") == 1, "\(result)")
    #expect(result.number("group") == 1, "\(result)")
  }

  @Test("Q8: sync and asyncAndWait onto the main queue run the item on the main thread")
  func syncRunsOnTheMainThread() {
    let result = Probe.run("main-sync")
    #expect(result.ended, "\(result)")
    for key in ["sync", "asyncAndWait", "targetingSync", "targetingAsync", "targetingAsyncAndWait"] {
      #expect(result.number(key) == 1, "\(key): \(result)")
    }
  }

  @Test("Q13: an item that a thread waits for on the main queue is on that thread's queues too")
  func syncCaller() {
    let result = Probe.run("main-sync-caller")
    #expect(result.ended, "\(result)")
    #expect(result.number("inItem") == 1, "\(result)")
  }

  @Test("Q15: the main queue is serial and keeps the order of each submitter")
  func isSerial() {
    let result = Probe.run("main-serial")
    #expect(result.ended, "\(result)")
    #expect(result.number("items") == 3_000, "\(result)")
    #expect(result.number("peak") == 1, "\(result)")
    #expect(result.number("ordered") == 1, "\(result)")
  }

  @Test("Q14: before dispatchMain the current queue on the main thread is the main queue")
  func currentQueue() {
    let result = Probe.run("main-current")
    #expect(result.ended, "\(result)")
    #expect(result.number("current") == 1, "\(result)")
    #expect(result.number("inItem") == 1, "\(result)")
  }

  @Test("Q15: another loop drives the main queue with a descriptor and a drain call")
  func foreignLoop() {
    let result = Probe.run("main-loop")
    #expect(result.ended, "\(result)")
    #expect(result.number("idleAtFirst") == 1, "\(result)")
    #expect(result.number("items") == 100, "\(result)")
    #expect(result.number("onMain") == 100, "\(result)")
    #expect(result.number("idleAtLast") == 1, "\(result)")
  }

  @Test("Q15: drain returns though an item submits itself again for ever: what its items add waits for the next turn")
  func drainEnds() {
    let result = Probe.run("main-loop-endless")
    #expect(result.ended, "\(result)")
    #expect(result.numbers("turns") == [1, 1, 1, 1, 1], "\(result)")
    #expect(result.number("many") == 201, "\(result)")
  }

  @Test("Q15: drain runs what was pending, and what its items add is never lost")
  func drainKeepsNewWork() {
    let result = Probe.run("main-loop-nested")
    #expect(result.ended, "\(result)")
    #expect(result.numbers("order") == [0, 1, 2], "\(result)")
  }

  @Test("O5: the main queue takes no notice of a suspend, nor of a resume too many")
  func suspension() {
    let result = Probe.run("main-suspend")
    #expect(result.ended, "\(result)")
    #expect(result.number("ran") == 1, "\(result)")
  }

  @Test("E5: a worker's child, forked beside an item of the main queue, has a main queue without its parent's items")
  func forkBesideItem() {
    let result = Probe.run("main-fork-beside-item")
    #expect(result.ended, "\(result)")
    guard result.skipped == nil else { return }
    #expect(result.number("child") == 7, "\(result)")
    #expect(result.number("parent") == 1, "\(result)")
  }

  @Test("E5: a loop in a forked child that watches the main queue's descriptor takes none of its parent's wake-ups")
  func forkLoop() {
    let result = Probe.run("main-loop-fork")
    #expect(result.ended, "\(result)")
    #expect(result.number("child") == 0, "\(result)")
    #expect(result.number("told") == 1, "\(result)")
    #expect(result.number("ran") == 1, "\(result)")
    #expect(result.number("idle") == 1, "\(result)")
  }
}
