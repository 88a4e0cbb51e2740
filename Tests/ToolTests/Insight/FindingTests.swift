// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import gcd

@Suite("Findings")
struct FindingTests {
  private func object(_ number: Int, _ kind: Snapshot.Kind, target: Int = 0, _ state: Snapshot.ObjectState)
    -> Snapshot.Object
  {
    Snapshot.Object(number: number, kind: kind, address: UInt64(number), target: target, state: state)
  }

  private func classed(_ number: Int, _ label: String, _ address: UInt64, _ qos: Int) -> Snapshot.Object {
    var object = queue(number, label, address)
    object.qos = qos
    return object
  }

  @Test("a kind that is silenced is not reported, whatever else is")
  func silenced() {
    let threads = [waiting(1, .semaphore, 0xe), waiting(2, .group, 0xf)]
    #expect(WhyAnalysis.report(sample(threads)).findings.map(\.kind) == [.group, .semaphore])
    let rules = FindingRules(silenced: [.group])
    #expect(WhyAnalysis.report(sample(threads), rules).findings.map(\.kind) == [.semaphore])
    #expect(!WhyAnalysis.report(sample(threads), FindingRules(silenced: [.group, .semaphore])).hasFindings)
    #expect(FindingRules.kinds(["cycle,inversion", "timer-late"]).kinds == [.cycle, .inversion, .timerLate])
    #expect(FindingRules.kinds(["cycle,noise"]).unknown == "noise")
    #expect(FindingRules.kinds([""]).unknown?.isEmpty == true)
  }

  @Test("urgent work that waits for less urgent work")
  func inversion() throws {
    func report(_ urgent: Int, _ other: Int) -> WhyReport {
      WhyAnalysis.report(
        sample(
          [
            waiting(1, .queue, 0xb, "cleanup", owner: 2, inside: ("view", 0xa)),
            waiting(2, .semaphore, 0xe, inside: ("cleanup", 0xb)),
          ], [classed(3, "view", 0xa, urgent), classed(4, "cleanup", 0xb, other)]))
    }
    let finding = try #require(report(0x21, 0x09).findings.first { $0.kind == .inversion })
    #expect(
      finding.sentence == "Inversion: work of class user-interactive waits for work of class background, for 10.0 s.")
    #expect(finding.threads == [1, 2])
    for (urgent, other) in [(0x09, 0x21), (0x15, 0x15), (0x21, 0), (0, 0x09)] {
      #expect(!report(urgent, other).findings.contains { $0.kind == .inversion })
    }
  }

  @Test("the main queue is reported ten times sooner than everything else")
  func mainQueue() {
    var main = active(100, role: .main)
    main.item = Snapshot.Item(age: second / 8)
    #expect(WhyAnalysis.report(sample([main])).findings.map(\.kind) == [.mainBlocked])
    main.item = Snapshot.Item(age: second / 12)
    #expect(!WhyAnalysis.report(sample([main])).hasFindings)
    // It waits, inside of one of its items.
    var waits = waiting(100, .semaphore, 0xe, inside: (Snapshot.mainLabel, 0xa), role: .main)
    waits.age = second / 8
    #expect(WhyAnalysis.report(sample([waits])).findings.map(\.kind) == [.mainBlocked])
    waits.insideAddress = 0
    #expect(!WhyAnalysis.report(sample([waits])).hasFindings)
  }

  @Test("a timer that is behind, by more than its leeway can be")
  func timers() throws {
    let late = Snapshot.ObjectState(remaining: -5 * Int64(second), interval: 2 * second)
    let report = WhyAnalysis.report(sample([], [queue(3, "clock", 0xa), object(4, .timer, target: 3, late)]))
    let finding = try #require(report.findings.first)
    #expect(finding.kind == .timerLate && finding.sentence == "A timer is behind by 5.00 s.")
    #expect(report.words.contains("Timer 4 of queue \"clock\" was to fire 5.00 s ago.") && finding.labels == ["clock"])
    var suspended = object(4, .timer, target: 3, late)
    suspended.suspensions = 1
    for timer in [
      suspended, object(4, .timer, .init(remaining: -5 * Int64(second), interval: 6 * second)),
      object(4, .timer, .init(remaining: 5 * Int64(second))), object(4, .timer, .init()),
      object(4, .timer, .init(remaining: -5 * Int64(second), isCancelled: true)),
    ] { #expect(!WhyAnalysis.report(sample([], [timer])).hasFindings) }
  }

  private func rates(_ change: (inout TopRates) -> Void) -> TopRates {
    var rates = TopRates()
    rates.length = second
    change(&rates)
    return rates
  }

  @Test("a queue whose oldest item grows older, and the sources whose handlers wait behind it")
  func queueAge() throws {
    let snapshot = sample(
      [], [queue(1, "rows", 0xa, target: 2), queue(2, "store", 0xb), object(3, .source, target: 1, .init(handle: 9))])
    func behind(at moment: UInt64) -> TopRates {
      rates {
        $0.queues[2] = .init(depth: 7, oldest: 100 * second)
        $0.moment = moment
      }
    }
    var live = TopFindings(FindingRules())
    // What counts is when the records were read, not how long it has taken to count them.
    #expect(live.findings(snapshot, behind(at: 100 * second + second / 2), now: 109 * second).isEmpty)
    let found = live.findings(snapshot, behind(at: 103 * second), now: 110 * second)
    #expect(found.map(\.kind) == [.queueAge, .sourceStarved])
    #expect(found.first?.sentence == "Queue \"store\" falls behind: 7 items have not begun, the oldest for 3.00 s.")
    #expect(
      found.last?.sentence == "Handlers of 1 source wait behind items of queue \"store\", which are up to 3.00 s old.")
    // It gets on: what is the oldest now is younger than what was.
    let better = rates {
      $0.queues[2] = .init(depth: 7, oldest: 102 * second)
      $0.moment = 104 * second
    }
    #expect(live.findings(snapshot, better, now: 104 * second).isEmpty)
  }

  @Test("where records were lost no item is said to wait: its begin may be among them")
  func losses() {
    var counter = TopRatesCounter()
    counter.add(.submit(queue: 1, job: 7, time: second))
    #expect(counter.take(length: second, lost: 0, moment: 9).depth == 1)
    let rates = counter.take(length: second, lost: 3, moment: 9)
    #expect(rates.depth == 0 && rates.lost == 3)
    counter.add(.submit(queue: 1, job: 8, time: 5 * second))
    #expect(counter.take(length: second, lost: 0, moment: 9).depth == 1)
  }

  @Test("a timer may be as late as its leeway, before it has fired and afterwards")
  func leeway() {
    func timer(_ late: UInt64) -> Snapshot.Object {
      object(4, .timer, target: 3, .init(remaining: -Int64(late), leeway: 60 * second))
    }
    #expect(!WhyAnalysis.report(sample([], [queue(3, "clock", 0xa), timer(60 * second)])).hasFindings)
    let report = WhyAnalysis.report(sample([], [queue(3, "clock", 0xa), timer(62 * second)]))
    #expect(report.findings.first?.sentence == "A timer is behind by 2.00 s.")
    #expect(report.words.contains("Timer 4 of queue \"clock\" was to fire 62.0 s ago, or up to 60.0 s later."))
    var live = TopFindings(FindingRules())
    func fired(_ late: UInt64) -> [Finding] {
      live.findings(sample([], [timer(0)]), rates { $0.queues[4] = .init(late: late) }, now: second)
    }
    #expect(fired(60 * second).isEmpty && fired(61 * second).map(\.kind) == [.timerLate])
  }

  @Test("an item that runs has begun, though its record comes when it ends")
  func running() {
    var counter = TopRatesCounter()
    counter.add(.submit(queue: 1, job: 7, time: 100))
    counter.add(.submit(queue: 1, job: 8, time: 200))
    counter.add(.submit(queue: 2, job: 9, time: 300))
    let running = [TopRatesCounter.Running(queue: 1, begun: 250), .init(queue: 2, begun: 250)]
    let rates = counter.take(length: second, lost: 0, moment: 1_000, running: running)
    #expect(rates.queues[1]?.depth == 1 && rates.queues[1]?.oldest == 200)
    // What began before is another item: one that was submitted before anything was recorded.
    #expect(rates.queues[2]?.depth == 1 && rates.age(300) == 700)
    counter.add(.item(queue: 1, job: 7, begin: 240, end: 2_000))
    #expect(counter.take(length: second, lost: 0, moment: 3_000).queues[1]?.latency.count == 1)
  }

  @Test("an item whose record was read before that of its submission")
  func early() {
    var counter = TopRatesCounter()
    counter.add(.item(queue: 1, job: 7, begin: 500, end: 600))
    counter.add(.item(queue: 1, job: 8, begin: 500, end: 600))
    #expect(counter.take(length: second, lost: 0, moment: 700).depth == 0)
    counter.add(.submit(queue: 1, job: 7, time: 400))
    // The job is used again, and that item waits.
    counter.add(.submit(queue: 1, job: 7, time: 650))
    counter.add(.submit(queue: 1, job: 8, time: 660))
    let rates = counter.take(length: second, lost: 0, moment: 800)
    #expect(rates.queues[1]?.latency.count == 1 && rates.queues[1]?.depth == 2 && rates.queues[1]?.oldest == 650)
    // Only with the next look: later it is the submission of another item.
    counter.add(.item(queue: 1, job: 9, begin: 900, end: 910))
    _ = counter.take(length: second, lost: 0, moment: 950)
    _ = counter.take(length: second, lost: 0, moment: 960)
    counter.add(.submit(queue: 1, job: 9, time: 890))
    #expect(counter.take(length: second, lost: 0, moment: 999).queues[1]?.depth == 3)
  }

  @Test("timers that have fired late, and too many short items")
  func records() {
    let snapshot = sample([], [queue(1, "rows", 0xa), object(2, .timer, target: 1, .init())])
    let found = rates {
      $0.queues[1] = .init(items: 1_000_000, busy: second / 10)
      $0.queues[2] = .init(late: 2 * second)
    }
    var live = TopFindings(FindingRules())
    #expect(
      live.findings(snapshot, found, now: second).map(\.sentence) == [
        "Timer 2 of queue \"rows\" has fired 2.00 s late.",
        "Queue \"rows\" runs 1,000,000 items a second, of 100 ns each: to hand one over costs about as much.",
      ])
    var lossy = found
    lossy.lost = 3
    #expect(
      live.findings(snapshot, lossy, now: second).last?.sentence.hasPrefix(
        "Queue \"rows\" runs at least 1,000,000 items a second, of 100 ns each") == true)
    let fine = rates {
      $0.queues[1] = .init(items: 1_000_000, busy: 2 * second)
      $0.queues[2] = .init(late: second / 2)
    }
    #expect(live.findings(snapshot, fine, now: second).isEmpty)
    #expect(live.findings(snapshot, nil, now: second).isEmpty)
  }

  @Test("a group that is never left, though no thread waits for it")
  func groups() {
    func snapshot(_ members: Int, _ threads: [Snapshot.Thread] = []) -> Snapshot {
      sample(threads, [object(2, .group, .init(count: members))])
    }
    var live = TopFindings(FindingRules())
    #expect(live.findings(snapshot(1), nil, now: second).isEmpty)
    #expect(live.findings(snapshot(1), nil, now: 10 * second).isEmpty)
    #expect(
      live.findings(snapshot(1), nil, now: 11 * second).map(\.sentence) == [
        "Group 2 had 1 member at each look, for 10.0 s."
      ])
    // One that is waited for has a finding of its own.
    #expect(live.findings(snapshot(1, [waiting(1, .group, 2)]), nil, now: 12 * second).isEmpty)
    #expect(live.findings(snapshot(2), nil, now: 13 * second).isEmpty)
    #expect(live.findings(snapshot(0), nil, now: 99 * second).isEmpty)
    #expect(live.findings(snapshot(2), nil, now: 100 * second).isEmpty)
  }

  @Test("a group that is entered and left all the time is no such group, however many members it has at each look")
  func busyGroups() {
    func look(changed: UInt64, now: UInt64, _ live: inout TopFindings) -> [Finding] {
      live.findings(sample([], [object(2, .group, .init(count: 4, changed: changed))]), nil, now: now)
    }
    var live = TopFindings(FindingRules())
    for moment in 1...40 { #expect(look(changed: second / 5, now: UInt64(moment) * second, &live).isEmpty) }
    // One look is enough where the group says since when.
    var other = TopFindings(FindingRules())
    #expect(
      look(changed: 12 * second, now: second, &other).map(\.sentence) == [
        "Group 2 has 4 members; it was last entered or left 12.0 s ago."
      ])
  }

  private func channel(_ state: Snapshot.ObjectState) -> Snapshot.Object {
    var state = state
    state.handle = 7
    state.file = "pipe:[12]"
    return object(5, .channel, state)
  }

  @Test("a channel whose barrier waits behind a read of a silent pipe")
  func barrier() throws {
    let silent = channel(.init(count: 1, reads: 3 * second, barriers: 1))
    let words =
      "A barrier of channel 5 of descriptor 7 (pipe:[12]) waits for a read, which has had nothing to read for 3.00 s."
    // A thread waits for what the barrier is to do, perhaps: that is one finding. Otherwise it may be as it should be.
    let report = WhyAnalysis.report(sample([waiting(1, .group, 0xf)], [silent]))
    #expect(report.findings.count == 1 && report.words.contains("   " + words) && report.remarks.isEmpty == false)
    #expect(report.findings.first?.remedy.contains("close the channel with the flag stop") == true)
    #expect(!report.remarks.contains(words))
    let alone = WhyAnalysis.report(sample([], [silent]))
    #expect(!alone.hasFindings && alone.remarks == [words])
    #expect(WhyAnalysis.report(sample([], [channel(.init(count: 1, reads: second / 2, barriers: 1))])).remarks.isEmpty)
  }

  @Test("other channels that do not get on")
  func channels() {
    func said(_ state: Snapshot.ObjectState) -> String {
      WhyAnalysis.report(sample([waiting(1, .semaphore, 0xf)], [channel(state)])).words
    }
    #expect(
      said(.init(count: 1, bytes: 1_000, writes: 2 * second)).contains(
        "Channel 5 of descriptor 7 (pipe:[12]) waits with a write, which has had no room for 2.00 s; 1,000 bytes are left."
      ))
    #expect(
      said(.init(count: 1, reads: 2 * second, isCancelled: true)).contains(
        "is closed, and its cleanup handler waits for a read, which has had nothing to read for 2.00 s."))
    #expect(
      said(.init(count: 2, barriers: 2)).contains(
        "2 barriers of channel 5 of descriptor 7 (pipe:[12]) wait for 2 operations"))
    #expect(!said(.init(count: 1, reads: second / 2)).contains("Channel 5"))
    let many = (10..<16).map { object($0, .channel, .init(handle: 3, count: 1, reads: 2 * second)) }
    let report = WhyAnalysis.report(sample([waiting(1, .semaphore, 0xf)], many))
    #expect(report.words.contains("6 channels have nothing to read.") && !report.words.contains("descriptor 3"))
  }
}
