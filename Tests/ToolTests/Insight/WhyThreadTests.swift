// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc
import Testing

@testable import gcd

/// Threads of which the library knows little, and how they are told of.
@Suite("gcd why: what threads do outside of the library")
struct WhyThreadTests {
  private func blocked(_ age: UInt64, owner: Int32 = 0, lock: KernelThread.Lock = .unknown) -> KernelThread {
    KernelThread(
      state: "S", channel: "futex_wait_queue", call: SystemCall(number: 202), age: age, lockOwner: owner, lock: lock)
  }

  @Test("a holder that has not run since the wait for its queue began holds it still")
  func motionless() {
    let waiter = waiting(2, .queue, 0xa, "log", owner: 1, role: .program)
    let still = WhyAnalysis.report(sample([active(1, blocked(11 * second)), waiter]))
    #expect(
      still.words.contains("Queue \"log\" is held by worker \"gc-1\" (1); 1 thread has waited for that for 10.0 s."))
    #expect(!still.words.contains("is not known"))
    // It has run since; the kernel was asked so much later; its clock is coarse.
    for (age, lag) in [(9 * second, 0), (11 * second, 2 * second), (10 * second + 1_000_000, 0)] {
      var snapshot = sample([active(1, blocked(age)), waiter])
      snapshot.lag = lag
      #expect(WhyAnalysis.report(snapshot).words.contains("was held, when the wait began, by worker"))
    }
    let circle = sample([active(1, blocked(11 * second, owner: 2, lock: .mutex)), waiter])
    #expect(WhyAnalysis.report(circle).findings.first?.sentence.hasPrefix("Deadlock: 2 threads") == true)
  }

  @Test("a queue's own word says which thread holds it, whichever one held it when the wait began")
  func words() {
    var waiter = waiting(2, .queue, 0xa, "log", owner: 1, role: .program)
    waiter.wait?.placeOfWord = 24
    func said(_ word: QueueWord?, target: QueueWord? = nil) -> String {
      var (log, store) = (queue(7, "log", 0xa, target: 8), queue(8, "store", 0xb))
      (log.word, store.word) = (word, target)
      return WhyAnalysis.report(sample([active(1), active(3), waiter], [log, store])).words
    }
    let owned = said(QueueWord(owner: 3))
    #expect(owned.contains("Queue \"log\" is held by worker \"gc-3\" (3); 1 thread has waited for that for 10.0 s."))
    #expect(!owned.contains("is not known") && !owned.contains("may not be read"))
    let byTarget = said(QueueWord(isOnItsWay: true), target: QueueWord(owner: 3))
    #expect(
      byTarget.contains("Queue \"log\" has the target queue \"store\", which is held by worker \"gc-3\" (3)"))
    #expect(said(QueueWord(isOnItsWay: true)).contains("it waits for a worker that is free"))
    #expect(said(QueueWord(readers: 1)).contains("An item of the queue runs still."))
    #expect(said(QueueWord(readers: 4)).contains("4 items of the queue run still."))
    #expect(said(QueueWord()).contains("No thread holds the queue, and neither it nor its targets are suspended."))
    // It is the waiter's turn at this moment.
    #expect(!said(QueueWord(owner: 2)).contains("Deadlock"))
    let unknown = said(nil)
    #expect(unknown.contains("Queue \"log\" was held, when the wait began, by worker \"gc-1\" (1)"))
    #expect(unknown.contains("The process's memory may not be read"))
  }

  @Test("the fields of a queue's word")
  func wordFields() {
    #expect(QueueWord(0) == QueueWord())
    #expect(QueueWord(.max) == QueueWord(owner: 0x3f_ffff, readers: 0x3f_ffff, isOnItsWay: true))
    #expect(QueueWord(1 << 44 | 5 << 22 | 77) == QueueWord(owner: 77, readers: 5, isOnItsWay: true))
  }

  @Test("a process whose queue has gone to another thread since the wait began", arguments: ["behind", "handed"])
  func changedHands(pattern: String) throws {
    let process = ToolProcess([], shell: "exec \"${0%/*}/traced\" held \(pattern)")
    defer {
      kill(process.identifier, SIGKILL)
      _ = process.wait()
    }
    // The thread that holds the queue says which one it is.
    var text = ""
    #expect(
      process.read { output, _ in
        text = output
        return output.hasSuffix("\n")
      })
    let holder = try #require(Int32(text.dropLast()))
    let blocker = try untilFound {
      WaitGraph(try Snapshot(process: process.identifier)).blockers[process.identifier]
    }
    #expect(blocker == WaitGraph.Blocker(tid: holder, evidence: .owns))
  }

  @Test("a thread whose end is waited for, in an item that it needs; elsewhere that is as it should be")
  func joined() {
    let joiner = active(1, blocked(11 * second, owner: 2, lock: .threadEnd))
    let circle = WhyAnalysis.report(
      sample([joiner, waiting(2, .queue, 0xa, "index", owner: 1, role: .program)]))
    #expect(circle.findings.map(\.kind) == [.cycle])
    #expect(circle.words.contains("waits for a thread to end (pthread_join): thread \"gc-2\" (2), for 11.0 s"))
    #expect(
      circle.words.contains("It waits for the end of thread \"gc-2\" (2), which waits in sync for queue \"index\""))
    #expect(circle.findings.first?.remedy.contains("the end of a thread") == true)
    var main = joiner
    main.role = .main
    #expect(!WhyAnalysis.report(sample([main, active(2, role: .program)])).hasFindings)
    let behind = WhyAnalysis.report(
      sample([main, active(2, role: .program), waiting(3, .queue, 0xa, "index", owner: 1)]))
    #expect(behind.findings.map(\.kind) == [.itemRunsLong])
    #expect(behind.findings.first?.threads.sorted() == [1, 2, 3])
  }

  @Test("an item that blocks the main thread, where that does nothing but run the main queue")
  func mainLoop() {
    var main = active(100, blocked(second / 2), role: .main)
    #expect(!WhyAnalysis.report(sample([main])).hasFindings)
    main.runsMainQueue = true
    let report = WhyAnalysis.report(sample([main]))
    #expect(report.findings.map(\.kind) == [.mainBlocked] && report.findings.first?.age == second / 2)
    // One that is busy may have run a thousand items; one that is asleep has none.
    main.kernel = KernelThread(state: "R")
    #expect(!WhyAnalysis.report(sample([main])).hasFindings)
    main = active(100, blocked(second), role: .main)
    (main.runsMainQueue, main.state) = (true, .asleep)
    #expect(!WhyAnalysis.report(sample([main])).hasFindings)
  }

  @Test("a main thread that runs its queue is in a long item of it, if a thread waits for the queue")
  func mainLoopWaiters() {
    let waiter = waiting(2, .queue, 0xf, Snapshot.mainLabel)
    func said(_ main: Snapshot.Thread) -> String {
      let report = WhyAnalysis.report(
        sample([main, waiter], [Snapshot.Object(number: 7, kind: .main, address: 0xf), queue(8, "log", 0xe)]))
      #expect(report.findings.map(\.kind) == [.mainBlocked] && report.findings.first?.blocksMain == true)
      return report.words
    }
    let inside = "The main thread is inside an item of the main queue; 1 thread has waited for it for 10.0 s."
    for kernel in [blocked(20 * second), KernelThread(state: "R")] {
      var main = active(100, kernel, role: .main)
      main.runsMainQueue = true
      let words = said(main)
      #expect(words.contains(inside) && !words.contains("dispatchMain()") && words.contains("Do on another queue"))
    }
    // Without the loop: an item of another queue is none of the main queue's, and a loop of the program's own drains that.
    var main = active(100, blocked(20 * second), role: .main)
    main.item = Snapshot.Item(age: 20 * second, function: 0, queue: 8)
    #expect(said(main).contains("runs no items of the main queue"))
    main.item = Snapshot.Item(age: 20 * second, function: 0, queue: 7)
    #expect(said(main).contains(inside))
  }

  @Test("a pool whose workers all wait for a moment is not blocked")
  func shortWaits() {
    func report(_ seconds: UInt64) -> WhyReport {
      WhyAnalysis.report(sample((1...8).map { waiting($0, .semaphore, 0x5, seconds: $0 == 8 ? seconds : 10) }))
    }
    #expect(report(10).findings.map(\.kind) == [.semaphore, .workersBlocked])
    #expect(report(0).findings.map(\.kind) == [.semaphore])
  }

  @Test("a process that is stopped is told of as it was then")
  func stopped() {
    let late = Snapshot.ObjectState(remaining: -3 * Int64(second))
    var snapshot = sample(
      [
        active(1, blocked(4 * second)), waiting(2, .semaphore, 0x5, seconds: 5),
        waiting(3, .semaphore, 0x6, seconds: 4),
      ],
      [queue(4, "clock", 0xa), Snapshot.Object(number: 5, kind: .timer, target: 4, state: late)])
    snapshot.program.state = "T"
    for index in 1...2 { snapshot.threads[index].kernel?.age = 4 * second + second / 10 }
    snapshot.standStill()
    let report = WhyAnalysis.report(snapshot)
    // One had waited for a second, the other one had just begun; the third was running; the timer was to fire in a second.
    #expect(report.findings.map(\.kind) == [.semaphore] && report.findings.first?.threads == [2])
    #expect(report.words.contains("for 1.00 s: no signal has come"))
    #expect(report.words.contains("The process is stopped (state T, for 4.00 s)"))
  }

  @Test("a long list of threads is cut, below another thread as well")
  func longLists() {
    let threads = (2...41).map { waiting($0, .queue, 0xa, "crowd", owner: 1, role: .program) }
    let report = WhyAnalysis.report(sample([waiting(1, .semaphore, 0x5, inside: ("crowd", 0xa))] + threads))
    #expect(report.words.contains("24 more.") && report.words.split(separator: "\n").count < 30)
    #expect(report.findings.first?.threads.count == 41)
    let held = WhyAnalysis.report(sample([active(1)] + threads))
    #expect(held.words.contains("24 more.") && held.words.split(separator: "\n").count < 30)
  }

  @Test("threads that wait for several things of one holder")
  func severalQueues() {
    let report = WhyAnalysis.report(
      sample([active(1), waiting(2, .queue, 0xa, "outer", owner: 1), waiting(3, .queue, 0xb, "inner", owner: 1)]))
    #expect(report.words.contains("2 threads wait for what it holds, the longest for 10.0 s."))
  }

  @Test("what stands in a sentence by itself has a name")
  func names() {
    let once = WhyAnalysis.report(sample([active(1), waiting(2, .once, 0x77, owner: 1)]))
    #expect(once.words.contains("The body of once 0x77 is run by worker \"gc-1\" (1); 1 thread has waited"))
    let item = WhyAnalysis.report(sample([active(1), waiting(2, .itemElsewhere, 0x77, "loop", owner: 1)]))
    #expect(item.words.contains("The item of a sync to queue \"loop\" is to be run by worker \"gc-1\" (1)"))
    let unlabelled = WhyAnalysis.report(sample([active(1), waiting(2, .queue, 0x77, owner: 1)]))
    #expect(unlabelled.words.contains("Queue 0x77 (it has no label) was held, when the wait began, by"))
    var timer = Snapshot.Object(number: 5, kind: .timer, label: "timer source", target: 3, state: .init())
    timer.isInactive = true
    let objects = WhyAnalysis.report(sample([], [queue(3, "clock", 0xa), timer]))
    #expect(objects.remarks == ["Timer 5 of queue \"clock\" has not been activated: its handlers do not run."])
  }

  @Test("nothing that a program has named moves the cursor; JSON has the names as they are")
  func oddNames() throws {
    let name = "/tmp/a\u{1B}[31m\nb"
    let number = try #require((0..<512).first { SystemCall(number: $0).name == "read" })
    let call = SystemCall(number: number, arguments: [5])
    let reader = active(1, KernelThread(state: "S", call: call, age: 20 * second, descriptor: name))
    var source = Snapshot.Object(number: 5, kind: .source, label: name, target: 3, state: .init(handle: 5))
    source.isInactive = true
    let snapshot = sample([reader, waiting(2, .queue, 0xa, "log", owner: 1)], [queue(3, "log", 0xa), source])
    let report = WhyAnalysis.report(snapshot)
    let told = [report.words, SnapshotText(snapshot, style: Style(), symbol: { _ in nil }).text]
    for text in told {
      #expect(text.contains("descriptor 5, /tmp/a\\u{1B}[31m\\nb (read)"), "\(text)")
      #expect(!text.unicodeScalars.contains { $0 != "\n" && TextLayout.isControl($0) })
    }
    #expect(report.remarks.contains { $0.contains("[31m") })
    let thread = try JSON.parse(snapshot.json.text)["threads"]?.array?.first
    #expect(thread?["kernel"]?["descriptor"]?.string == name)
  }

  @Test("a place of the C library's, where each thread starts, is no place of the program's")
  func places() {
    var thread = waiting(1, .semaphore, 0x5)
    thread.wait?.caller = 0x1234
    let start = WhyAnalysis.report(sample([thread]), symbol: { _ in "libc.so.6+0x891f4" })
    #expect(!start.words.contains("libc") && !start.words.contains("; at"))
    #expect(WhyAnalysis.report(sample([thread]), symbol: { _ in "work" }).words.contains("; at work"))
  }

  @Test("a group that is listed says what it has now")
  func members() {
    var thread = waiting(1, .group, 0x9)
    thread.wait?.count = 4
    let group = Snapshot.Object(
      number: 2, kind: .group, address: 0x9, state: .init(count: 1, changed: 3 * second))
    let report = WhyAnalysis.report(sample([thread], [group]))
    #expect(
      report.words.contains(
        "it was entered once more than it was left; the last time that it was either is 3.00 s ago."))
    #expect(!report.words.contains("4 times"))
  }

  @Test("a task that blocks its thread")
  func tasks() {
    let report = WhyAnalysis.report(
      sample([waiting(1, .semaphore, 0x9, inside: ("Swift global concurrent queue", 0xa))]))
    #expect(report.words.contains("waits inside a task of Swift Concurrency"))
    #expect(report.words.contains("In a task use await") && !report.words.contains("if that is a serial one"))
  }
}
