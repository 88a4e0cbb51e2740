// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Findings that one look cannot have: they come from records, or from the looks before.
struct TopFindings {
  private let rules: FindingRules
  /// By the queue's number: the age of its oldest item at the last look.
  private var ages: [Int: UInt64] = [:]
  /// By the group's number: its members, and since when it has had so many.
  private var groups: [Int: (members: Int, since: UInt64)] = [:]

  init(_ rules: FindingRules) { self.rules = rules }

  /// - Parameter now: CLOCK_MONOTONIC at the look.
  mutating func findings(_ snapshot: Snapshot, _ rates: TopRates?, now: UInt64) -> [Finding] {
    let words = WhyWords(snapshot: snapshot, symbol: { _ in nil })
    var found = openGroups(snapshot, words, now)
    guard let rates else { return found }
    let old = oldQueues(snapshot, rates)
    found += old.map { queueAge(snapshot, words, rates, $0.number, $0.age) }
    found += starvedSources(snapshot, words, old)
    found += lateTimers(snapshot, words, rates) + shortItems(snapshot, words, rates)
    return found
  }

  // MARK: Queues

  /// Those whose oldest item waits longer and longer, the longest first.
  private mutating func oldQueues(_ snapshot: Snapshot, _ rates: TopRates) -> [(number: Int, age: UInt64)] {
    let before = ages
    ages = rates.queues.compactMapValues { rates.age($0.oldest) }
    return ages.filter { $1 >= rules.after && $1 > before[$0] ?? 0 }.map { (number: $0, age: $1) }
      .sorted { ($1.age, $0.number) < ($0.age, $1.number) }
  }

  private func name(_ snapshot: Snapshot, _ words: WhyWords, _ number: Int) -> String {
    guard let queue = snapshot.object(number) else { return "queue \(Snapshot.shown(number))" }
    return words.queue(label: queue.label, address: queue.address)
  }

  private func queueAge(
    _ snapshot: Snapshot, _ words: WhyWords, _ rates: TopRates, _ number: Int, _ age: UInt64
  ) -> Finding {
    let pending = rates.queues[number]?.depth ?? 0
    let items = pending == 1 ? "1 item has" : "\(pending) items have"
    let stopped = snapshot.object(number).map { snapshot.chain(from: $0) }?.first {
      $0.suspensions > 0 || $0.isInactive
    }
    var finding = Finding(
      kind: .queueAge, age: age,
      sentence: WhyWords.whole(
        "\(name(snapshot, words, number)) falls behind: \(items) not begun, the oldest for \(WhyWords.duration(age))"),
      remedy: "Look at what the queue runs: its items take longer than they come, or one of them does not end.")
    if let stopped {
      let state = stopped.suspensions > 0 ? "suspended" : "inactive"
      finding.details = [Clause("\(words.queue(label: stopped.label, address: stopped.address)) is \(state)")]
      finding.remedy = "Call resume as often as suspend, and activate once."
    }
    finding.labels = snapshot.object(number).map { [$0.label] } ?? []
    return finding
  }

  /// Many items that do less than it costs to hand them over.
  private func shortItems(_ snapshot: Snapshot, _ words: WhyWords, _ rates: TopRates) -> [Finding] {
    rates.queues.filter { _, queue in
      rates.perSecond(queue.items) >= FindingRules.manyItems && queue.busy / queue.items < FindingRules.shortItem
    }.sorted { $0.value.items > $1.value.items }.map { number, queue in
      Finding(
        kind: .shortItems,
        sentence: WhyWords.whole(
          "\(name(snapshot, words, number)) runs \(rates.isIncomplete ? "at least " : "")"
            + "\(TopModel.rate(rates.perSecond(queue.items))) items a second, of "
            + "\(TopModel.length(queue.busy / queue.items)) each: to hand one over costs about as much"),
        remedy: "Do more in one item: gather what is small, and hand it over together.",
        labels: snapshot.object(number).map { [$0.label] } ?? [])
    }
  }

  // MARK: Sources, timers, groups

  /// Sources whose handlers cannot be called, because their queue falls behind.
  private func starvedSources(
    _ snapshot: Snapshot, _ words: WhyWords, _ old: [(number: Int, age: UInt64)]
  ) -> [Finding] {
    if old.isEmpty { return [] }
    let ages = Dictionary(uniqueKeysWithValues: old.map { ($0.number, $0.age) })
    var starved: [Int: [Snapshot.Object]] = [:]
    for object in snapshot.objects where !object.kind.isQueue && object.kind != .group && object.isLive {
      guard let target = snapshot.object(object.target) else { continue }
      if let late = snapshot.chain(from: target).first(where: { ages[$0.number] != nil }) {
        starved[late.number, default: []].append(object)
      }
    }
    return starved.sorted { $0.key < $1.key }.map { number, objects in
      let age = ages[number] ?? 0
      let who = objects.count == 1 ? "1 source" : "\(objects.count) sources"
      return Finding(
        kind: .sourceStarved, age: age,
        sentence: WhyWords.whole(
          "handlers of \(who) wait behind items of \(name(snapshot, words, number)), which are up to \(WhyWords.duration(age)) old"
        ),
        details: objects.prefix(WhyWords.longestList).map {
          Clause(([$0.kindWords, "\($0.shownNumber)"] + [$0.watches].filter { !$0.isEmpty }).joined(separator: " "))
        }, remedy: "Give the sources a queue of their own, or the queue less to do.",
        labels: snapshot.object(number).map { [$0.label] } ?? [])
    }
  }

  private static func sum(_ one: UInt64, _ other: UInt64) -> UInt64 {
    let (sum, overflow) = one.addingReportingOverflow(other)
    return overflow ? .max : sum
  }

  /// Timers that have fired, late: beyond their leeway.
  private func lateTimers(_ snapshot: Snapshot, _ words: WhyWords, _ rates: TopRates) -> [Finding] {
    rates.queues.filter { number, queue in
      queue.late >= Self.sum(rules.after, snapshot.object(number)?.state?.leeway ?? 0)
    }.sorted { $0.key < $1.key }.map { number, queue in
      let target = snapshot.object(snapshot.object(number)?.target ?? 0)
      let place = target.map { " of " + words.queue(label: $0.label, address: $0.address) } ?? ""
      return Finding(
        kind: .timerLate, age: queue.late,
        sentence: "Timer \(Snapshot.shown(number))\(place) has fired \(WhyWords.duration(queue.late)) late.",
        remedy: "Look at what its queue and the processors are busy with.",
        labels: (target.map { [$0.label] } ?? []).filter { !$0.isEmpty })
    }
  }

  /// Groups that have had as many members for long, and that no thread waits for.
  private mutating func openGroups(_ snapshot: Snapshot, _ words: WhyWords, _ now: UInt64) -> [Finding] {
    let before = groups
    groups = [:]
    var found: [Finding] = []
    for group in snapshot.objects where group.kind == .group && group.endedAge == nil {
      guard let members = group.state?.count, members > 0 else { continue }
      // Others may have come and gone between two looks: the group says when that was last, unless its library is an older one.
      let known = before[group.number].flatMap { $0.members == members ? $0.since : nil } ?? now
      groups[group.number] = (members, known)
      let age = group.state?.changed ?? (now - min(known, now))
      guard age >= rules.groupAfter, !snapshot.threads.contains(where: { $0.wait?.address == group.address }) else {
        continue
      }
      found.append(
        Finding(
          kind: .groupOpen, age: age,
          sentence: group.state?.changed == nil
            ? "Group \(group.shownNumber) had \(group.watches) at each look, for \(WhyWords.duration(age))."
            : "Group \(group.shownNumber) has \(group.watches); it was last entered or left \(WhyWords.duration(age)) ago.",
          remedy: "Call leave once for each enter, on every way out, errors too; or use async(group:), which does both."
        ))
    }
    return Array(found.prefix(WhyWords.longestList))
  }
}
