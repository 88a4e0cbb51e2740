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
    let behind = rates { $0.queues[2] = .init(depth: 7, oldest: 100 * second) }
    var live = TopFindings(FindingRules())
    #expect(live.findings(snapshot, behind, now: 100 * second + second / 2).isEmpty)
    let found = live.findings(snapshot, behind, now: 103 * second)
    #expect(found.map(\.kind) == [.queueAge, .sourceStarved])
    #expect(found.first?.sentence == "Queue \"store\" falls behind: 7 items have not begun, the oldest for 3.00 s.")
    #expect(
      found.last?.sentence == "Handlers of 1 source wait behind items of queue \"store\", which are up to 3.00 s old.")
    // It gets on: what is the oldest now is younger than what was.
    let better = rates { $0.queues[2] = .init(depth: 7, oldest: 102 * second) }
    #expect(live.findings(snapshot, better, now: 104 * second).isEmpty)
  }

  @Test("where records were lost no item is said to wait: its begin may be among them")
  func losses() {
    var counter = TopRatesCounter()
    counter.add(.submit(queue: 1, job: 7, time: second))
    #expect(counter.take(length: second, lost: 0).depth == 1)
    let rates = counter.take(length: second, lost: 3)
    #expect(rates.depth == 0 && rates.lost == 3)
    counter.add(.submit(queue: 1, job: 8, time: 5 * second))
    #expect(counter.take(length: second, lost: 0).depth == 1)
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
}
