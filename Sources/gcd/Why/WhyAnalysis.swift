// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Finds out why a process makes no progress, from what it showed at one moment.
struct WhyAnalysis {
  private let snapshot: Snapshot
  private let rules: FindingRules
  private let graph: WaitGraph
  private let words: WhyWords
  /// Threads that a finding has named.
  private var told: Set<Int32> = []
  private var findings: [Finding] = []

  /// `symbol` names the code at an address.
  static func report(
    _ snapshot: Snapshot, _ rules: FindingRules = FindingRules(), symbol: @escaping (UInt64) -> String? = { _ in nil }
  ) -> WhyReport {
    var analysis = WhyAnalysis(snapshot, rules, symbol)
    analysis.findCycles()
    analysis.findRoots()
    analysis.findBlockedMain()
    analysis.findOutside()
    analysis.findPool()
    analysis.findStates()
    return analysis.report()
  }

  private init(_ snapshot: Snapshot, _ rules: FindingRules, _ symbol: @escaping (UInt64) -> String?) {
    self.snapshot = snapshot
    self.rules = rules
    graph = WaitGraph(snapshot)
    words = WhyWords(snapshot: snapshot, symbol: symbol)
  }

  private func report() -> WhyReport {
    var report = WhyReport(snapshot: snapshot, after: after)
    report.findings = WhyReport.ordered(rules.kept(findings))
    report.remarks = WhyRemarks(snapshot: snapshot, words: words, after: after).all(beside: report.findings)
    return report
  }

  private var after: UInt64 { rules.after }

  private mutating func findStates() {
    findings += WhyStates(snapshot: snapshot, rules: rules, graph: graph, words: words).findings
  }

  // MARK: Circles

  private mutating func findCycles() {
    var circles: [[[Int32]]] = []
    var ofQueues: [UInt64: Int] = [:]
    for circle in graph.cycles() where graph.smallestAge(circle) >= after {
      // Readers that wait for their own queue are one finding.
      let wait = circle.count == 1 ? graph.thread(circle[0])?.wait : nil
      let address = wait?.kind == .queue ? wait?.address ?? 0 : 0
      if address != 0, let same = ofQueues[address] {
        circles[same].append(circle)
      } else {
        if address != 0 { ofQueues[address] = circles.count }
        circles.append([circle])
      }
    }
    for circles in circles { add(circles) }
  }

  private mutating func add(_ circles: [[Int32]]) {
    let members = circles.flatMap { $0 }
    let age = graph.smallestAge(members)
    let isCertain = members.allSatisfy { graph.blockers[$0]?.evidence != .heldThen }
    let waiters = graph.allWaiters(of: members)
    var details = circles.map { cycleClause($0, from: 0) }
    details += WhyWaits(snapshot: snapshot, words: words, after: after).kept(by: members)
    if !waiters.isEmpty {
      let count = waiters.count == 1 ? "1 more thread waits" : "\(waiters.count) more threads wait"
      details.append(
        Clause("\(count) for them", waiters.prefix(WhyWords.longestList).map { Clause(words.sentence($0)) }))
    }
    let who =
      switch (circles[0].count, circles.count) {
      case (1, 1): "a thread waits for what it must end itself"
      case (1, let count): "\(count) threads wait for a queue that they are inside of"
      default: "\(members.count) threads wait for each other"
      }
    let doubt = isCertain ? "Deadlock" : "Deadlock, unless a queue has changed hands since the wait for it began"
    add(
      Finding(
        kind: .cycle, age: age, sentence: "\(doubt): \(who), for \(WhyWords.duration(age)).", details: details,
        remedy: cycleRemedy(members)),
      threads: members + waiters)
  }

  private func cycleClause(_ circle: [Int32], from index: Int) -> Clause {
    let tid = circle[index]
    var text = index == 0 ? words.sentence(tid) : held(by: tid, for: circle[index - 1])
    let isLast = index + 1 == circle.count
    let next = Clause(held(by: circle[0], for: tid) + ": the circle is closed")
    if index > 0, let thread = graph.thread(tid) {
      text += ", which " + words.waiting(thread)
    }
    if isLast { return Clause(text, [next]) }
    if index + 1 < WhyWords.deepest { return Clause(text, [cycleClause(circle, from: index + 1)]) }
    return Clause(text, [Clause("\(circle.count - index - 1) more, up to one that waits for the first")])
  }

  /// `queue "a" is held by worker …`: what `waiter` waits for, and which thread has it.
  private func held(by tid: Int32, for waiter: Int32) -> String {
    guard let thread = graph.thread(waiter) else { return words.thread(tid) }
    guard let wait = thread.wait, thread.state == .waiting else {
      return thread.kernel?.lock == .threadEnd
        ? "it waits for the end of " + words.thread(tid) : "the lock is held by " + words.thread(tid)
    }
    let evidence = graph.blockers[waiter]?.evidence
    if evidence == .main { return "the main queue is run by \(words.thread(tid)) alone" }
    switch wait.kind {
    case .queue:
      if tid == waiter { return "\(words.object(wait)) goes on only when \(words.thread(tid)) has left it" }
      let verb = evidence == .heldThen ? "was held, when the wait began, by" : "is held by"
      let target = holderTarget(wait, tid)
      return "\(words.object(wait)) \(target)\(verb) \(words.thread(tid))"
    case .itemElsewhere:
      let queue = wait.label.isEmpty ? "" : " to " + words.queue(label: wait.label, address: wait.address)
      return "the item of a sync\(queue) is to be run by \(words.thread(tid))"
    case .once: return "the body of \(words.object(wait)) is run by \(words.thread(tid))"
    case .group: return "\(words.object(wait)) has an item that is run, or kept waiting, by \(words.thread(tid))"
    case .workItem: return "\(words.object(wait)) is run, or kept waiting, by \(words.thread(tid))"
    case .apply: return "the last iterations are run by threads that wait themselves, such as \(words.thread(tid))"
    default: return "\(words.object(wait)) is up to \(words.thread(tid))"
    }
  }

  /// If the thread is inside a target of the queue, or holds one: that target.
  private func holderTarget(_ wait: Snapshot.Wait, _ tid: Int32) -> String {
    let chain = snapshot.chain(of: wait)
    let inside = graph.thread(tid)?.insideAddress ?? 0
    let holder = snapshot.holder(chain)
    let address = inside == 0 && holder?.tid == tid ? holder?.queue.address ?? 0 : inside
    guard address != 0, address != wait.address, let target = chain.first(where: { $0.address == address })
    else { return "" }
    return "has the target \(words.queue(label: target.label, address: target.address)), which "
  }

  private func cycleRemedy(_ circle: [Int32]) -> String {
    let threads = circle.compactMap { graph.thread($0) }
    if threads.contains(where: { $0.kernel?.lock == .threadEnd && $0.state == .active }) {
      return "Do not wait, in an item of a queue, for the end of a thread that waits for the queue."
    }
    if threads.contains(where: { $0.state == .active }) {
      return "Do not hold a lock while you call sync or wait: let go of the lock first, or use async."
    }
    if threads.contains(where: { $0.wait?.kind == .group || $0.wait?.kind == .workItem }) {
      return "Do not wait for a group or an item whose own work needs the thread or the queue that waits: use notify."
    }
    if threads.contains(where: { $0.wait?.kind == .apply }) {
      return "Do not call sync, in an iteration of a concurrentPerform, to what needs the queue that the call holds."
    }
    if circle.count == 1 || threads.allSatisfy({ $0.insideAddress != 0 && $0.insideAddress == $0.wait?.address }) {
      return "Do not call sync from an item of a queue to the same queue: call the code directly, or use async."
    }
    if threads.contains(where: { $0.wait?.kind == .once }) {
      return "Do not wait, in the body of a once, for something that uses the same once."
    }
    if threads.contains(where: { $0.role == .main }) {
      return
        "Do not call sync from the main thread to a queue whose items call sync to the main queue: use async on one of the two ways."
    }
    return "Use async on one of the ways, or call sync to these queues in the same order everywhere."
  }

  // MARK: Roots

  /// The ends of the chains of waits: something that no thread provides, or a thread that does something else.
  private enum Root: Hashable {
    case object(kind: Snapshot.WaitKind, address: UInt64, thread: Int32)
    case thread(Int32)
  }

  private mutating func findRoots() {
    var groups: [Root: [Int32]] = [:]
    for thread in snapshot.threads where graph.age(thread.tid) >= after && !told.contains(thread.tid) {
      // A thread that waits for the end of another one, and that no thread waits for, is as it should be.
      let waits = thread.state == .waiting || graph.blockers[thread.tid] != nil && thread.kernel?.lock != .threadEnd
      guard waits, let tid = graph.root(of: thread.tid) else { continue }
      groups[root(tid), default: []].append(thread.tid)
    }
    for (root, tids) in groups.sorted(by: { $0.value.min() ?? 0 < $1.value.min() ?? 0 }) {
      switch root {
      case .object: addWait(tids)
      case .thread(let tid): addHolder(tid, tids)
      }
    }
  }

  private func root(_ tid: Int32) -> Root {
    guard let thread = graph.thread(tid), thread.state == .waiting, let wait = thread.wait else {
      return .thread(tid)
    }
    // Without an address, each wait is for something of its own.
    return .object(kind: wait.kind, address: wait.address, thread: wait.address == 0 ? tid : 0)
  }

  /// A thread and those that wait for it, each a clause.
  private func tree(_ tid: Int32, below top: Int32? = nil, depth: Int = 1) -> Clause {
    Clause(words.sentence(tid), branches(tid, below: top ?? tid, depth: depth))
  }

  /// The threads that wait for one. Where the first thread of the tree is in a circle, of which a wait is too short to be told, the tree
  /// ends before that comes again.
  private func branches(_ tid: Int32, below top: Int32, depth: Int) -> [Clause] {
    let waiters = (graph.waiters[tid] ?? []).filter { $0 != top }
    if depth == WhyWords.deepest, !waiters.isEmpty { return [Clause("\(graph.allWaiters(of: [tid]).count) more")] }
    let more = waiters.count - WhyWords.longestList
    return waiters.prefix(WhyWords.longestList).map { tree($0, below: top, depth: depth + 1) }
      + (more > 0 ? [Clause("\(more) more")] : [])
  }

  private mutating func addWait(_ tids: [Int32]) {
    let first = tids.first { graph.blockers[$0] == nil } ?? tids.compactMap { graph.root(of: $0) }.first ?? tids[0]
    guard let wait = graph.thread(first)?.wait else { return }
    // A root that has not waited long can have waiters that have: all roots of that kind are reported.
    let roots = snapshot.threads.filter {
      graph.blockers[$0.tid] == nil && $0.state == .waiting && root($0.tid) == root(first)
    }.sorted { $0.age > $1.age }
    let age = roots.map(\.age).max() ?? 0
    var finding = WhyWaits(snapshot: snapshot, words: words, after: after).finding(wait, roots: roots, age: age)
    let trees = roots.prefix(WhyWords.longestList).map { tree($0.tid) }
    finding.details = (trees.count == 1 ? behind(trees[0].children) : Array(trees)) + finding.details
    if roots.count > WhyWords.longestList {
      finding.details.append(Clause("\(roots.count - WhyWords.longestList) more"))
    }
    add(finding, threads: roots.map(\.tid) + graph.allWaiters(of: roots.map(\.tid)))
  }

  private func behind(_ waiters: [Clause]) -> [Clause] {
    waiters.isEmpty
      ? [] : [Clause(waiters.count == 1 ? "behind it waits another one" : "behind it wait others", waiters)]
  }

  private mutating func addHolder(_ tid: Int32, _ tids: [Int32]) {
    let waiters = graph.waiters[tid] ?? []
    guard let first = waiters.first, let waiter = graph.thread(first) else { return }
    let holder = graph.thread(tid)
    let age = waiters.map { graph.age($0) }.max() ?? 0
    var finding = Finding(kind: .queueHeld, age: age, sentence: "", remedy: "")
    let what =
      waiter.kernel?.lock == .threadEnd && waiter.state == .active
      ? words.thread(tid) + " has not ended" : held(by: tid, for: first)
    // The thread may hold several queues, of which each waiter waits for one.
    let isOne = Set(waiters.map { graph.thread($0)?.wait?.address ?? 0 }).count == 1
    finding.sentence = WhyWords.whole(
      waiters.count == 1
        ? "\(what); 1 thread has waited for that for \(WhyWords.duration(age))"
        : "\(what); \(waiters.count) threads wait for \(isOne ? "that" : "what it holds"), the longest for \(WhyWords.duration(age))"
    )
    let isRunning = holder?.kernel?.isRunning ?? false
    if graph.blockers[first]?.evidence == .main {
      // In the loop it has what it runs from the main queue; elsewhere records tell, if there are any.
      let queue = holder?.item.flatMap { snapshot.object($0.queue) }
      let isInside = holder?.isInMainLoopsItem == true || queue?.kind == .main
      finding.kind = .mainBlocked
      finding.blocksMain = true
      finding.sentence = WhyWords.whole(
        "the main thread \(isInside ? "is inside an item" : "runs no items") of the main queue; "
          + (waiters.count == 1 ? "1 thread has" : "\(waiters.count) threads have, the longest of them,")
          + " waited for it for \(WhyWords.duration(age))"
      )
      finding.remedy =
        isInside
        ? Self.mainRemedy
        : "Let the main thread run its queue: by dispatchMain(), or by draining it in a loop of the program's own; "
          + "its items must not block."
    } else if waiter.state == .active, waiter.kernel?.lock != .threadEnd {
      finding.kind = .lockHeld
      finding.remedy = "Look at what the holder of the lock does; do not hold a lock over what may take long."
    } else if isRunning {
      finding.kind = .itemRunsLong
      finding.remedy =
        "Split the item that runs so long, or move it to a queue of its own and use async for what needs its result."
    } else {
      finding.remedy = holderRemedy(holder)
    }
    finding.details = [tree(tid)]
    if let holder, holder.state == .asleep || graph.blockers[first]?.evidence == .heldThen, waiter.wait?.kind == .queue
    {
      finding.details.append(Clause("it held the queue when the wait began; whether it still does is not known"))
    }
    add(finding, threads: [tid] + graph.allWaiters(of: [tid]))
  }

  private func holderRemedy(_ holder: Snapshot.Thread?) -> String {
    guard let name = holder?.kernel?.call?.name else {
      return
        "Look at what the holder does, with a debugger: its item must end before anything else of the queue can begin."
    }
    return name.hasPrefix("futex")
      ? "Look at which lock or condition the holder waits for, with a debugger: its item must end before others can begin."
      : "Do not block in \(name) in an item of a queue that others wait for: use a dispatch source or a channel, or a queue of its own."
  }

  // MARK: The main queue, and what blocks outside of us

  private static let mainRemedy = "Do on another queue what takes long, and come back to the main queue with async."

  private mutating func findBlockedMain() {
    guard let main = snapshot.threads.first(where: { $0.role == .main }), !told.contains(main.tid) else { return }
    let isInside = main.item != nil || main.insideAddress != 0 || main.isInMainLoopsItem
    let age = max(graph.age(main.tid), main.item?.age ?? 0)
    guard isInside, age >= rules.mainAfter else { return }
    let finding = Finding(
      kind: .mainBlocked, age: age,
      sentence: WhyWords.whole("the main queue is blocked by one of its items, for \(WhyWords.duration(age))"),
      details: [Clause(words.sentence(main.tid))],
      remedy: Self.mainRemedy)
    add(finding, threads: [main.tid])
  }

  private mutating func findOutside() {
    var groups: [String: [Snapshot.Thread]] = [:]
    for thread in snapshot.threads where thread.state == .active && !told.contains(thread.tid) {
      guard thread.role == .worker || thread.item != nil, graph.age(thread.tid) >= after else { continue }
      groups[thread.kernel?.words ?? "", default: []].append(thread)
    }
    for (_, threads) in groups.sorted(by: { $0.value[0].tid < $1.value[0].tid }) {
      let age = threads.map { graph.age($0.tid) }.max() ?? 0
      let who = threads.count == 1 ? words.thread(threads[0].tid) + " is" : "\(threads.count) threads are"
      let finding = Finding(
        kind: .outside, age: age,
        sentence: WhyWords.whole("\(who) blocked in the kernel, outside of the library, for \(WhyWords.duration(age))"),
        details: threads.prefix(WhyWords.longestList).map { tree($0.tid) },
        remedy:
          "Items should not block: use a dispatch source, a channel or a timer. A debugger shows which code it is.")
      add(finding, threads: threads.map(\.tid))
    }
  }

  private mutating func findPool() {
    let workers = snapshot.workers
    let blocked = workers.filter { $0.state == .waiting || ($0.state == .active && graph.age($0.tid) >= after) }
    if snapshot.threadBudget > 0, workers.count * 4 >= snapshot.threadBudget * 3 {
      let finding = Finding(
        kind: .threadBudget,
        sentence:
          "The pool has \(workers.count) threads of \(snapshot.threadBudget) at most; \(blocked.count) of them are blocked.",
        remedy:
          "Let fewer items block at once: use async and notify instead of sync and wait, or a queue with maximumConcurrency. "
          + "Work that is submitted when the last thread blocks does not start.")
      add(finding, threads: [])
    } else if workers.count >= max(1, snapshot.parallelism), workers.allSatisfy({ graph.age($0.tid) >= after }) {
      let finding = Finding(
        kind: .workersBlocked, age: blocked.map { graph.age($0.tid) }.min(),
        sentence:
          "All \(workers.count) workers of the pool are blocked: other items begin only if the thread budget allows more.",
        remedy: "Let fewer items block at once: use async and notify instead of sync and wait.")
      add(finding, threads: [])
    }
  }

  // MARK: -

  private mutating func add(_ finding: Finding, threads: [Int32]) {
    var finding = finding
    var seen: Set<Int32> = []
    finding.threads = threads.filter { seen.insert($0).inserted }
    told.formUnion(threads)
    var labels: Set<String> = []
    for thread in finding.threads.compactMap({ graph.thread($0) }) {
      labels.formUnion([
        thread.insideLabel, thread.wait?.label ?? "", thread.wait.flatMap { snapshot.object(of: $0)?.label } ?? "",
      ])
    }
    finding.labels = labels.filter { !$0.isEmpty }.sorted()
    if let main = snapshot.threads.first(where: { $0.role == .main }), finding.threads.contains(main.tid),
      main.state == .waiting || finding.kind == .mainBlocked || graph.blockers[main.tid] != nil
    {
      finding.blocksMain = true
      finding.details.append(Clause("the main queue is blocked meanwhile: nothing that is submitted to it runs"))
    }
    findings.append(finding)
  }
}
