// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import gcd

@Suite("gcd why")
struct WhyTests {
  @Test("two threads that hold what the other one waits for")
  func crosswise() throws {
    let report = WhyAnalysis.report(
      sample([
        waiting(1, .queue, 0xb, "ledger", owner: 2, inside: ("accounts", 0xa), seconds: 5),
        waiting(2, .queue, 0xa, "accounts", owner: 1, inside: ("ledger", 0xb), seconds: 7),
        waiting(3, .queue, 0xa, "accounts", owner: 1, role: .main, seconds: 4),
        Snapshot.Thread(tid: 4, role: .worker, state: .asleep, age: 100 * second),
      ]))
    let finding = try #require(report.findings.first)
    #expect(report.findings.count == 1)
    #expect(finding.kind == .cycle && finding.age == 5 * second)
    #expect(finding.sentence == "Deadlock: 2 threads wait for each other, for 5.00 s.")
    #expect(finding.threads == [2, 1, 3] && finding.labels == ["accounts", "ledger"])
    // The main thread waits behind them.
    #expect(finding.blocksMain)
    #expect(
      report.words.contains(
        "Worker \"gc-2\" (2), inside an item of queue \"ledger\", waits in sync for queue \"accounts\", for 7.00 s."))
    #expect(
      report.words.contains(
        "Queue \"accounts\" is held by worker \"gc-1\" (1), which waits in sync for queue \"ledger\""))
    #expect(report.words.contains("the circle is closed."))
    #expect(report.words.contains("The main queue is blocked meanwhile"))
  }

  @Test("a circle and a chain of very many threads are told, and not to their ends")
  func deep() throws {
    let count: Int32 = 1_000
    // A file says what it likes: each thread waits for a group that the next one keeps waiting.
    let chain = (1..<count).map { waiting($0, .group, UInt64($0), owner: $0 + 1) }
    func look(_ threads: [Snapshot.Thread]) throws -> (finding: Finding, rows: Int) {
      let snapshot = sample(threads)
      let report = WhyAnalysis.report(snapshot)
      let finding = try #require(report.findings.first { $0.threads.count == Int(count) })
      #expect(finding.details.flatMap(\.all).count < 100 && report.words.utf8.count < 1 << 20)
      let model = TopModel(snapshot: snapshot, report: report, rates: nil, uptime: second, clock: "12:34:56")
      return (finding, TopPages(model).table(.waits).rows.count)
    }
    let circle = try look(chain + [waiting(count, .group, UInt64(count), owner: 1)])
    #expect(circle.finding.kind == .cycle && circle.rows == Int(count))
    #expect(circle.finding.details[0].all.last == "936 more, up to one that waits for the first")
    let line = try look(chain + [waiting(count, .semaphore, 0xe)])
    #expect(line.finding.kind == .semaphore && line.rows == Int(count))
    #expect(line.finding.details[0].all.last == "936 more")
    // Of a circle that has closed just now one wait is old enough to be told.
    let kernel = KernelThread(state: "S", age: 20 * second, lockOwner: 2)
    let young = waiting(2, .group, 0xb, owner: 1, seconds: 0)
    let outside = WhyAnalysis.report(sample([active(1, kernel), young])).findings.filter { $0.kind == .outside }
    #expect(outside.map { $0.details.flatMap(\.all).count } == [2])
  }

  @Test("a holder that may have gone on is no certain circle; another one that is inside breaks it")
  func staleOwner() {
    let first = waiting(1, .queue, 0xb, "b", owner: 2, inside: ("a", 0xa))
    let moved = waiting(2, .queue, 0xa, "a", owner: 1, inside: ("c", 0xc), seconds: 9)
    let doubtful = WhyAnalysis.report(sample([first, moved]))
    #expect(doubtful.findings.first?.sentence.hasPrefix("Deadlock, unless a queue has changed hands") == true)
    let third = waiting(3, .semaphore, 0xe, inside: ("b", 0xb))
    let broken = WhyAnalysis.report(sample([first, moved, third]))
    #expect(broken.findings.map(\.kind) == [.semaphore])
    #expect(broken.findings.first?.threads.sorted() == [1, 2, 3])
  }

  @Test("a reader that waits behind a barrier for its own queue")
  func ownQueue() {
    let reader = waiting(1, .queue, 0xa, "cache", inside: ("cache", 0xa))
    let report = WhyAnalysis.report(sample([reader]))
    #expect(report.findings.map(\.kind) == [.cycle])
    #expect(report.words.contains("a thread waits for what it must end itself"))
    let readers = WhyAnalysis.report(sample([reader, waiting(2, .queue, 0xa, "cache", inside: ("cache", 0xa))]))
    #expect(readers.findings.count == 1)
    #expect(readers.words.contains("2 threads wait for a queue that they are inside of"))
    // A queue that is suspended waits for nobody.
    let suspended = WhyAnalysis.report(sample([reader], [queue(3, "cache", 0xa, suspensions: 2)]))
    #expect(suspended.findings.map(\.kind) == [.queueSuspended])
  }

  @Test("threads that wait and have no entry are told as left out")
  func leftOut() {
    var snapshot = sample([])
    #expect(!WhyAnalysis.report(snapshot).words.contains("more thread"))
    (snapshot.leftOut, snapshot.room) = (1_200, 1_024)
    #expect(
      WhyAnalysis.report(snapshot).words.contains(
        "Note: 1,200 more threads wait in the library's calls; there is room for 1,024 threads."))
    snapshot.torn = 1
    #expect(WhyAnalysis.report(snapshot).words.contains("Note: 1 entry changed at each look, and is left out.\n"))
    snapshot.torn = 1_200
    #expect(WhyAnalysis.report(snapshot).words.contains("Note: 1,200 entries changed at each look, and are left out."))
  }

  @Test("a circle by way of a target queue")
  func target() {
    let report = WhyAnalysis.report(
      sample(
        [
          waiting(1, .queue, 0xd, "index.words", inside: ("store", 0xa)),
          waiting(2, .queue, 0xa, "store", owner: 1, inside: ("index", 0xc)),
        ], [queue(5, "index.words", 0xd, target: 6), queue(6, "index", 0xc)]))
    #expect(report.findings.map(\.kind) == [.cycle])
    #expect(
      report.words.contains(
        "Queue \"index.words\" has the target queue \"index\", which is held by worker \"gc-2\" (2)"))
  }

  @Test("a circle by way of the main queue, which nobody else runs")
  func main() {
    let report = WhyAnalysis.report(
      sample([
        waiting(100, .queue, 0xa, "database", owner: 2, role: .main),
        waiting(2, .queue, 0xf, Snapshot.mainLabel, inside: ("database", 0xa)),
      ]))
    #expect(report.findings.map(\.kind) == [.cycle])
    #expect(report.words.contains("The main queue is run by the main thread (100) alone"))
    let idle = KernelThread(state: "S", channel: "do_sigsuspend", call: SystemCall(number: 34), age: 20 * second)
    let never = WhyAnalysis.report(
      sample([active(100, idle, role: .main), waiting(2, .queue, 0xf, Snapshot.mainLabel)]))
    #expect(never.findings.map(\.kind) == [.mainBlocked])
    #expect(
      never.words.contains("The main thread runs no items of the main queue; 1 thread has waited for it for 10.0 s."))
    #expect(never.words.contains("dispatchMain()"))
  }

  @Test("a mutex of the program's own is part of a circle")
  func mutex() {
    let blocked = KernelThread(
      state: "S", channel: "futex_wait_queue", call: SystemCall(number: 202), age: 10 * second, lockOwner: 2,
      lock: .mutex)
    let report = WhyAnalysis.report(
      sample([active(1, blocked), waiting(2, .queue, 0xa, "log", owner: 1, role: .program)]))
    #expect(report.findings.map(\.kind) == [.cycle])
    #expect(report.words.contains("waits for a mutex of the program's own, which thread \"gc-2\" (2) holds"))
    #expect(report.words.contains("Do not hold a lock"))
  }

  @Test("a semaphore without a signal: all that wait for it are one finding, and it says which queue they keep")
  func semaphore() throws {
    let report = WhyAnalysis.report(
      sample([
        waiting(1, .semaphore, 0x5, inside: ("render", 0xa), seconds: 3), waiting(2, .semaphore, 0x5, seconds: 8),
        waiting(3, .semaphore, 0x6, seconds: 2), waiting(4, .queue, 0xa, "render", owner: 1, seconds: 2),
      ]))
    #expect(report.findings.map(\.kind) == [.semaphore, .semaphore])
    let first = try #require(report.findings.first)
    #expect(
      first.sentence == "2 threads wait for semaphore 0x5, the longest for 8.00 s: no signal has come for it since.")
    #expect(first.threads.sorted() == [1, 2, 4])
    #expect(report.words.contains("what is to end this wait must not be submitted there"))
    #expect(report.words.contains("└─ Worker \"gc-4\" (4) waits in sync for queue \"render\", for 2.00 s."))
  }

  @Test("a group says how often it was entered; a suspended queue is told beside it")
  func group() {
    var thread = waiting(1, .group, 0x9)
    thread.wait?.count = 3
    let report = WhyAnalysis.report(sample([thread], [queue(4, "clock", 0xc, suspensions: 1)]))
    #expect(report.findings.map(\.kind) == [.group])
    #expect(report.words.contains("it was entered 3 times more than it was left"))
    #expect(report.words.contains("Queue \"clock\" is suspended: what was submitted to it does not run."))
  }

  @Test("a circle by way of a group or an item, whose next thread the library has told")
  func groupCircle() {
    let alone = WhyAnalysis.report(sample([waiting(1, .group, 0x9, owner: 1, inside: ("export", 0xa))]))
    #expect(alone.findings.map(\.kind) == [.cycle])
    #expect(
      alone.words.contains("Group 0x9 has an item that is run, or kept waiting, by worker \"gc-1\" (1): the circle is"))
    #expect(alone.words.contains("use notify."))
    // Two threads that wait for one group: not what is said of readers of one queue.
    let both = WhyAnalysis.report(sample([1, 2].map { waiting($0, .group, 0x9, owner: $0) }))
    #expect(both.findings.map(\.kind) == [.cycle, .cycle])
    // The member waits for less long than the group's waiter.
    let pair = WhyAnalysis.report(
      sample([
        waiting(1, .workItem, 0x9, owner: 2, inside: ("measure", 0xa), seconds: 9),
        waiting(2, .queue, 0xa, "measure", owner: 1, inside: ("draw", 0xb), seconds: 3),
      ]))
    #expect(pair.findings.first?.sentence == "Deadlock: 2 threads wait for each other, for 3.00 s.")
    #expect(pair.words.contains("Work item 0x9 is run, or kept waiting, by worker \"gc-2\" (2), which waits in sync"))
  }

  @Test("a circle by way of iterations: all threads that may run them wait for their caller")
  func iterations() {
    let caller = waiting(1, .apply, 0, inside: ("tiles", 0xa))
    let helper = waiting(2, .queue, 0xb, "disk", owner: 3)
    let third = waiting(3, .queue, 0xa, "tiles", owner: 1, inside: ("disk", 0xb))
    let asleep = Snapshot.Thread(tid: 4, role: .worker, state: .asleep, age: second)
    let report = WhyAnalysis.report(sample([caller, helper, third, asleep]))
    #expect(report.findings.map(\.kind) == [.cycle])
    #expect(report.findings.first?.sentence == "Deadlock: 3 threads wait for each other, for 10.0 s.")
    #expect(report.words.contains("The last iterations are run by threads that wait themselves, such as worker"))
    // Another thread that is awake may run the last iteration, and end it.
    for other in [active(4), waiting(4, .semaphore, 0x5)] {
      let kinds = WhyAnalysis.report(sample([caller, helper, third, other])).findings.map(\.kind)
      #expect(kinds.contains(.apply) && !kinds.contains(.cycle))
    }
    var snapshot = sample([caller, helper, third])
    snapshot.workersWithoutEntry = [5]
    #expect(!WhyAnalysis.report(snapshot).findings.map(\.kind).contains(.cycle))
    // So it is with a worker whose entry could not be read.
    (snapshot.workersWithoutEntry, snapshot.torn) = ([], 1)
    #expect(!WhyAnalysis.report(snapshot).findings.map(\.kind).contains(.cycle))
    // Two calls, each of which may have the other one's caller as its helper.
    let nested = [caller, waiting(2, .apply, 0, inside: ("disk", 0xb)), waiting(3, .queue, 0xa, "tiles", owner: 1)]
    #expect(WhyAnalysis.report(sample(nested)).findings.map(\.kind).contains(.cycle))
  }

  @Test("what waits inside a queue keeps the queues that target it, too")
  func children() {
    let thread = waiting(1, .group, 0x9, inside: ("parser", 0xa))
    let report = WhyAnalysis.report(
      sample([thread], [queue(1, "parser", 0xa), queue(2, "parser.tokens", 0xb, target: 1)]))
    #expect(
      report.words.contains("nothing else of it runs meanwhile, nor of queue \"parser.tokens\", whose target it is"))
  }

  @Test("a queue whose target is suspended, or that was not activated")
  func halted() {
    let waiter = waiting(1, .queue, 0xa, "mail")
    let suspended = WhyAnalysis.report(
      sample([waiter], [queue(1, "mail", 0xa, target: 2), queue(2, "post", 0xb, suspensions: 1)]))
    #expect(suspended.findings.map(\.kind) == [.queueSuspended])
    #expect(suspended.words.contains("Its target, queue \"post\", is suspended."))
    var object = queue(1, "mail", 0xa)
    object.isInactive = true
    let inactive = WhyAnalysis.report(sample([waiter], [object]))
    #expect(inactive.findings.map(\.kind) == [.queueInactive])
    #expect(inactive.words.contains("activate()"))
    let unknown = WhyAnalysis.report(sample([waiter]))
    #expect(unknown.findings.map(\.kind) == [.queueHeld])
    #expect(unknown.words.contains("is not known"))
  }

  @Test("the holder of a queue reads, or runs")
  func holder() {
    let reads = KernelThread(
      state: "S", channel: "pipe_read", call: SystemCall(number: 0, arguments: [7]), age: 9 * second,
      descriptor: "pipe:[55]")
    let waiter = waiting(2, .queue, 0xa, "db", owner: 1)
    let report = WhyAnalysis.report(sample([active(1, reads), waiter]))
    #expect(report.findings.map(\.kind) == [.queueHeld])
    #expect(report.words.contains("reads from descriptor 7, pipe:[55] (read), for 9.00 s"))
    let runs = WhyAnalysis.report(sample([active(1), waiter]))
    #expect(runs.findings.map(\.kind) == [.itemRunsLong])
    let alone = WhyAnalysis.report(sample([active(1, reads)]))
    #expect(alone.findings.map(\.kind) == [.outside])
  }

  @Test("what has not waited long is not told; nothing at all is no finding")
  func short() {
    let threads = [waiting(1, .semaphore, 0x5, seconds: 3)]
    #expect(!WhyAnalysis.report(sample(threads), FindingRules(after: 4 * second)).hasFindings)
    #expect(WhyAnalysis.report(sample(threads), FindingRules(after: 3 * second)).hasFindings)
    #expect(WhyAnalysis.report(sample([])).words.contains("nothing has waited for 1.00 s or longer"))
  }

  @Test("a pool whose workers are all blocked, and one near its budget")
  func pool() {
    let workers = (1...8).map { waiting($0, .semaphore, 0x5) }
    let blocked = WhyAnalysis.report(sample(workers))
    #expect(blocked.findings.map(\.kind) == [.semaphore, .workersBlocked])
    #expect(blocked.words.contains("thread budget"))
    var near = sample(workers)
    near.threadBudget = 10
    #expect(WhyAnalysis.report(near).findings.map(\.kind) == [.semaphore, .threadBudget])
  }

  @Test("the text keeps to the width of the terminal, the JSON is JSON")
  func forms() throws {
    var snapshot = sample([waiting(1, .semaphore, 0x5, inside: ("a \u{1B}[2J \"label\"", 0xa))])
    snapshot.program.name = "na\nme"
    let report = WhyAnalysis.report(snapshot)
    let text = WhyText(style: Style(columns: 60)).text(report)
    #expect(text.split(separator: "\n").allSatisfy { TextLayout.width(String($0)) <= 60 })
    #expect(!text.unicodeScalars.contains("\u{1B}"))
    let json = try JSON.parse(WhyJSON.value(report).text)
    #expect(json["pid"]?.number == 100 && json["findings"]?.array?.count == 1)
    #expect(json["findings"]?.array?.first?["kind"]?.string == "semaphore-without-signal")
    #expect(json["findings"]?.array?.first?["forSeconds"]?.number == 10)
    _ = try JSON.parse(snapshot.json.text)
  }

  @Test("a chain of targets may be as long as the list of queues, and closed", .timeLimit(.minutes(5)))
  func longChain() {
    let count = 200_000
    let snapshot = sample([], (1...count).map { queue($0, "", UInt64($0), target: $0 % count + 1) })
    let chain = snapshot.chain(from: snapshot.objects[0])
    #expect(chain.count == count && chain.last?.number == count)
  }

  @Test("any graph of waits is explained, and every thread that waits is in one finding")
  func random() {
    var numbers = SeededGenerator(seed: 4711)
    for _ in 0..<2_000 {
      let count = Int32(numbers.next() % 9 + 1)
      let threads = (1...count).map { tid -> Snapshot.Thread in
        let address = UInt64(numbers.next() % 4)
        let kind = Snapshot.WaitKind.allCases[Int(numbers.next() % 8)]
        let owner = Int32(numbers.next() % 12)
        guard numbers.next() % 4 > 0 else { return active(tid) }
        return waiting(tid, kind, address, "q\(address)", owner: owner, inside: ("", UInt64(numbers.next() % 4)))
      }
      let report = WhyAnalysis.report(sample(threads))
      let named = Set(report.findings.flatMap(\.threads))
      #expect(Set(threads.filter { $0.state == .waiting }.map(\.tid)).isSubset(of: named))
      #expect(!report.words.isEmpty)
    }
  }
}
