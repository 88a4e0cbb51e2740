// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

@Suite("The engine through the life of a process")
struct LifeTests {
  @Test("E3: an idle process runs no thread at all once surplus workers have retired")
  func idle() {
    let result = Probe.run("idle")
    #expect(result.ended, "\(result)")
    guard result.skipped == nil else { return }
    #expect(result.number("workersInBurst") ?? 0 >= 20, "\(result)")
    #expect(result.number("quiet") == 1, "\(result)")
    #expect(result.number("workersLeft") ?? .max < 20, "\(result)")
  }

  @Test("E3: timers that have fired or were cancelled cause no wake-up afterwards")
  func idleAfterTimers() {
    let result = Probe.run("idle-after-timers")
    #expect(result.ended, "\(result)")
    guard result.skipped == nil else { return }
    #expect(result.number("quiet") == 1, "\(result)")
  }

  @Test("E3: nothing wakes up while all workers block outside, and a timer is far away")
  func idleBesideBlocked() {
    let result = Probe.run("idle-beside-blocked", environment: ["GRANDCENTRAL_THREADS": "2"])
    #expect(result.ended, "\(result)")
    guard result.skipped == nil else { return }
    #expect(result.number("quiet") == 1, "\(result)")
  }

  @Test("E3: the memory of a large backlog goes back to the system once it is worked off")
  func memoryAfterBurst() {
    let result = Probe.run("memory-after-burst")
    #expect(result.ended, "\(result)")
    guard result.skipped == nil else { return }
    #expect(result.number("backlogKilobytes") ?? 0 > 32_768, "\(result)")
    #expect(result.number("leftKilobytes") ?? .max <= 8_192, "\(result)")
  }

  @Test("E5: after a fork the engine works in the child and in the parent")
  func fork() {
    let result = Probe.run("fork")
    #expect(result.ended, "\(result)")
    guard result.skipped == nil else { return }
    for key in ["parentBefore", "parentAfter"] { #expect(result[key] == "works", "\(result)") }
    for key in ["child", "secondChild"] { #expect(result.number(key) == 1, "\(result)") }
  }

  @Test("E5: a fork while workers are busy gives a child that works")
  func forkWhileBusy() {
    let result = Probe.run("fork-while-busy")
    #expect(result.ended, "\(result)")
    guard result.skipped == nil else { return }
    #expect(result.number("children") == 10, "\(result)")
    #expect(result["parentAfter"] == "works", "\(result)")
  }

  @Test("E5: a fork while other threads hold locks of ours gives a child that works")
  func forkWhileLocked() {
    let result = Probe.run("fork-while-locked")
    #expect(result.ended, "\(result)")
    guard result.skipped == nil else { return }
    #expect(result.number("children") == 20, "\(result)")
    #expect(result["parentAfter"] == "works", "\(result)")
  }

  @Test("E5: a fork while other threads read and change a queue's values gives a child that reads them")
  func forkWhileLookingUp() {
    let result = Probe.run("fork-while-looking-up")
    #expect(result.ended, "\(result)")
    guard result.skipped == nil else { return }
    #expect(result.number("children") == 100, "\(result)")
  }

  @Test("E5: a fork from inside an item gives a child that works")
  func forkFromItem() {
    let result = Probe.run("fork-from-item")
    #expect(result.ended, "\(result)")
    guard result.skipped == nil else { return }
    #expect(result.number("child") == 1, "\(result)")
    #expect(result["parentAfter"] == "works", "\(result)")
  }

  @Test("E5: the item that forks returns in the child: the child's next item runs, the parent's does not")
  func forkFromItemReturns() {
    let result = Probe.run("fork-from-item-returns")
    #expect(result.ended, "\(result)")
    guard result.skipped == nil else { return }
    #expect(result.number("child") == 0, "\(result)")
    #expect(result["parentAfter"] == "works", "\(result)")
  }

  @Test("E5: a child forked in a barrier is alone on its queue, as its parent is, and a wait for the queue is a fault")
  func forkInBarrier() {
    let result = Probe.run("fork-in-barrier")
    #expect(result.ended, "\(result)")
    guard result.skipped == nil else { return }
    #expect(result.number("alone") == 0, "\(result)")
    #expect(result.number("broad") == 6, "\(result)")
    #expect(result.number("narrow") == 6, "\(result)")
    #expect(result.errors.split(separator: "\n").count { $0.contains("misuse [GC0007]") } == 2, "\(result)")
    #expect(result.number("afterwards") == 0, "\(result)")
  }

  @Test("E5: a child that cancels its parent's sources and timers has some of its own, which work")
  func forkWithSources() {
    let sources = Probe.run("fork-with-sources")
    #expect(sources.ended, "\(sources)")
    let timers = Probe.run("fork-with-timers")
    #expect(timers.ended, "\(timers)")
    guard sources.skipped == nil else { return }
    #expect(sources.number("before") == 0, "\(sources)")
    #expect(sources.number("after") == 0, "\(sources)")
    #expect(timers.number("child") == 0, "\(timers)")
  }

  @Test("E5: threads of the parent's that wait get nothing of what its child signals, leaves and finishes")
  func forkBesideWaits() {
    let result = Probe.run("fork-beside-waits")
    #expect(result.ended, "\(result)")
    guard result.skipped == nil else { return }
    for key in ["signal", "semaphore", "group", "item"] { #expect(result.number(key) == 0, "\(result)") }
  }

  @Test("E5: a child forked before the engine is used has a main thread and an engine of its own")
  func forkBeforeUse() {
    expect("fork-before-use", "child", 1)
  }

  @Test("E5: a daemon runs what was submitted to the main queue before it was forked")
  func forkLikeADaemon() {
    expect("fork-like-a-daemon", "child", 7)
  }

  @Test("E5: a child of a synchronous item that another thread runs leaves the thread that waits alone")
  func forkInRemoteCall() {
    #expect(wakesCaller(of: {}))
    #expect(!wakesCaller(of: { RemoteCall.forgetCallers() }))
  }

  private func wakesCaller(of work: () -> Void) -> Bool {
    var call = RemoteCall(work: BorrowedClosure(work))
    return withUnsafeMutablePointer(to: &call) { call in
      let job = Job(invoke: RemoteCall.invoke, band: .normal)
      job.extra = UnsafeMutableRawPointer(call)
      job.run()
      return call.pointee.parker.hasToken
    }
  }

  @Test("E5: two threads of a child may want the same value that is made at its first use")
  func forkThenBegin() {
    expect("fork-then-begin", "status", 0)
  }

  /// The scenario ends, and reports the number, unless it cannot run here.
  private func expect(_ scenario: String, _ key: String, _ number: Int) {
    let result = Probe.run(scenario)
    #expect(result.ended, "\(result)")
    guard result.skipped == nil else { return }
    #expect(result.number(key) == number, "\(result)")
  }

  @Test("E5: a child works if another thread first uses the library meanwhile, or handlers of the program do")
  func forkWhileEngineBegins() {
    for scenario in ["fork-while-engine-begins", "fork-with-handlers"] {
      let result = Probe.run(scenario)
      #expect(result.ended, "\(result)")
      guard result.skipped == nil else { return }
      #expect(result.number("child") == 1, "\(result)")
      #expect(result["parentAfter"] == "works", "\(result)")
    }
  }

  @Test("E6: running out of descriptors kills nothing: work is done, timers come when they can")
  func noDescriptors() {
    let result = Probe.run("no-descriptors")
    #expect(result.ended, "\(result)")
    #expect(result.number("syncs") == 1, "\(result)")
    let reports = result.errors.split(separator: "\n").filter { $0.hasPrefix("GrandCentral:") }
    #expect(reports.count <= 1, "\(result)")
  }

  @Test("E6: running out of threads kills nothing: the threads there are do the work, after one report")
  func fewThreads() {
    // The leak checker needs a thread of its own, which there is none left for.
    let result = Probe.run("few-threads", environment: ["ASAN_OPTIONS": "detect_leaks=0"])
    #expect(result.ended, "\(result)")
    guard result.skipped == nil else { return }
    #expect(result.number("sum") == 200, "\(result)")
    #expect(result.number("threads") ?? .max <= 4, "\(result)")
    let reports = result.errors.split(separator: "\n").filter { $0.hasPrefix("GrandCentral:") }
    #expect(reports.count <= 1, "\(result)")
  }

  @Test(
    "E7: exit with everything busy neither hangs nor crashes, from any thread",
    arguments: ["exit-main", "exit-item", "exit-timer", "exit-main-queue"])
  func exit(scenario: String) {
    for _ in 0..<5 {
      let result = Probe.run(scenario)
      #expect(result.end == .exited(7), "\(result)")
      #expect(result.errors == "", "\(result)")
    }
  }

  @Test("E7: returning from main with everything busy ends the process")
  func returnFromMain() {
    for _ in 0..<5 {
      let result = Probe.run("return-from-main")
      #expect(result.ended, "\(result)")
      #expect(result.errors == "", "\(result)")
    }
  }
}
