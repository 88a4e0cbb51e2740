// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Finds what goes wrong though nothing need hang: it shows in the states of threads and objects.
struct WhyStates {
  let snapshot: Snapshot
  let rules: FindingRules
  let graph: WaitGraph
  let words: WhyWords

  var findings: [Finding] { inversions + lateTimers }

  // MARK: Urgent work that waits for less urgent work

  private var inversions: [Finding] {
    let found = snapshot.threads.compactMap { thread -> Finding? in
      let age = graph.age(thread.tid)
      guard age >= rules.after, let blocker = graph.blockers[thread.tid]?.tid, blocker != thread.tid,
        let holder = graph.thread(blocker)
      else { return nil }
      let (urgent, other) = (qos(of: thread), qos(of: holder))
      guard other != 0, urgent > other else { return nil }
      return Finding(
        kind: .inversion, age: age,
        sentence: "Inversion: work of class \(Snapshot.className(urgent)) waits for work of class "
          + "\(Snapshot.className(other)), for \(WhyWords.duration(age)).",
        details: [Clause(words.sentence(thread.tid), [Clause(words.sentence(holder.tid))])],
        remedy:
          "Give both queues one class, or use async. The library hurries the queue that is waited for, and not what its "
          + "item waits for itself.",
        threads: [thread.tid, holder.tid])
    }
    return Array(found.prefix(WhyWords.longestList))
  }

  /// The class of the queue that a thread is inside of, or of its targets; 0 if it is in none, or there is none.
  private func qos(of thread: Snapshot.Thread) -> Int {
    let inside = snapshot.object(at: thread.insideAddress) ?? thread.item.flatMap { snapshot.object($0.queue) }
    guard let inside else { return 0 }
    for queue in snapshot.chain(from: inside) {
      if queue.kind == .main { return 0x21 }
      if queue.qos != 0 { return queue.qos }
    }
    return 0
  }

  // MARK: Timers

  private var lateTimers: [Finding] {
    let late = snapshot.objects.compactMap { timer in lateness(timer).map { (timer: timer, age: $0) } }
      .sorted { $0.age > $1.age }
    guard let first = late.first else { return [] }
    let who = late.count == 1 ? "A timer is" : "\(late.count) timers are"
    let details = late.prefix(WhyWords.longestList).map { timer, age -> Clause in
      let target =
        snapshot.object(timer.target).map { " of " + words.queue(label: $0.label, address: $0.address) } ?? ""
      let leeway = timer.state?.leeway ?? 0
      let allowance = leeway > 0 ? ", or up to \(WhyWords.duration(leeway)) later" : ""
      let delay = WhyWords.duration(age + leeway)
      return Clause("timer \(timer.shownNumber)\(target) was to fire \(delay) ago\(allowance)")
    }
    return [
      Finding(
        kind: .timerLate, age: first.age,
        sentence: "\(who) behind by \(WhyWords.duration(first.age))\(late.count == 1 ? "" : " at most").",
        details: details,
        remedy:
          "A timer fires when its queue can run the handler: look at what the queue runs, or give the timer another one.",
        labels: Array(Set(late.compactMap { snapshot.object($0.timer.target)?.label })).filter { !$0.isEmpty }.sorted())
    ]
  }

  /// How late a timer is that could fire, beyond its leeway. Older libraries tell no leeway: of a timer that repeats it is less than the
  /// interval.
  private func lateness(_ timer: Snapshot.Object) -> UInt64? {
    guard timer.kind == .timer, timer.isLive, let state = timer.state, let remaining = state.remaining, remaining < 0
    else { return nil }
    let late = remaining.magnitude - min(state.leeway, remaining.magnitude)
    return late >= max(rules.after, state.interval) ? late : nil
  }
}

extension Snapshot.Object {
  /// Nothing keeps its handlers from being called but their queue.
  var isLive: Bool { endedAge == nil && suspensions == 0 && !isInactive && state?.isCancelled != true }
}
