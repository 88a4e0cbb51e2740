// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Reports something that threads wait for and that no known thread will provide.
struct WhyWaits {
  let snapshot: Snapshot
  let words: WhyWords
  let after: UInt64

  /// `roots` all wait for the same, the longest first.
  func finding(_ wait: Snapshot.Wait, roots: [Snapshot.Thread], age: UInt64) -> Finding {
    // One thread: all that is known of it. Several: how many, and each of them below.
    let subject =
      roots.count == 1
      ? words.sentence(roots[0].tid)
      : "\(roots.count) threads wait for \(words.object(wait)), the longest for \(WhyWords.duration(age))"
    var finding = Finding(
      kind: .wait, age: age, sentence: WhyWords.whole(subject),
      remedy: "Look at what the thread waits for, with a debugger.")
    switch wait.kind {
    case .queue: tellQueue(wait, &finding)
    case .itemElsewhere:
      finding.remedy =
        "The item is to run on another thread, and has not: look at what that one does. Use async, or do not block that thread."
    case .group:
      finding.kind = .group
      finding.sentence = WhyWords.whole(
        "\(subject): \(members(wait))")
      finding.remedy =
        "Call leave once for each enter, on every way out, errors too; or use async(group:), which does both. "
        + "What leaves the group must not need the thread or the queue that waits: use notify instead of wait."
    case .semaphore:
      finding.kind = .semaphore
      finding.sentence = WhyWords.whole("\(subject): no signal has come for it since")
      finding.remedy =
        "Call signal once for each wait, on every way out, errors too. "
        + "What signals must not need the thread or the queue that waits."
    case .workItem:
      finding.kind = .workItem
      finding.sentence = WhyWords.whole("\(subject): the item has not ended")
      finding.remedy =
        "Submit the item before you wait for it, once, to a queue that can run it while this thread waits; or use notify."
    case .once:
      finding.kind = .once
      finding.remedy = "The body of the once has not ended: look at the thread that runs it."
    case .apply:
      finding.kind = .apply
      finding.sentence = WhyWords.whole(
        "\(subject): other threads run some of them still")
      finding.remedy = "Look at the workers: one of the iterations does not end."
    case .other: break
    }
    finding.details += holds(roots)
    if wait.kind != .queue { addPossibleCauses(&finding) }
    if roots.contains(where: { $0.insideLabel == WhyWords.poolOfTasks }) {
      finding.remedy += " In a task use await: what blocks its thread keeps other tasks and actors from running."
    }
    return finding
  }

  private func members(_ wait: Snapshot.Wait) -> String {
    if let group = snapshot.object(of: wait), group.kind == .group, let state = group.state, state.count > 0 {
      let members = state.count == 1 ? "once" : "\(state.count) times"
      let changed = state.changed.map { "; the last time that it was either is \(WhyWords.duration($0)) ago" } ?? ""
      return "it was entered \(members) more than it was left\(changed)"
    }
    switch wait.count {
    case 0: return "it was entered more often than it was left"
    case 1: return "it was entered once more than it was left, when the wait began"
    default: return "it was entered \(wait.count) times more than it was left, when the wait began"
    }
  }

  // MARK: Queues

  private func tellQueue(_ wait: Snapshot.Wait, _ finding: inout Finding) {
    finding.kind = .queueHeld
    guard snapshot.object(of: wait) != nil else {
      finding.details.append(
        Clause("which thread holds the queue is not known, nor whether it is suspended: it has no entry"))
      finding.remedy = "Look at what was submitted to the queue before: it is suspended, or its items do not end."
      return
    }
    for (index, member) in snapshot.chain(of: wait).enumerated() where member.suspensions > 0 || member.isInactive {
      let name = words.queue(label: member.label, address: member.address)
      let subject = index == 0 ? name : "its target, \(name),"
      if member.suspensions > 0 {
        finding.kind = .queueSuspended
        finding.details.append(Clause("\(subject) is suspended\(times(member.suspensions))"))
        finding.remedy = "Call resume as often as suspend, on every way out."
      } else {
        finding.kind = .queueInactive
        finding.details.append(Clause("\(subject) has not been activated"))
        finding.remedy = "Call activate() before you wait for what the queue is to do."
      }
      return
    }
    tellBusyQueue(snapshot.object(of: wait)?.word, &finding)
  }

  /// No thread is known to hold the queue, and nothing keeps it from running.
  private func tellBusyQueue(_ word: QueueWord?, _ finding: inout Finding) {
    finding.remedy =
      "Look at what was submitted to the queue before: its items have not ended, or its targets are busy."
    let state: String
    if let word, word.readers > 0 {
      state = word.readers == 1 ? "an item of the queue runs still" : "\(word.readers) items of the queue run still"
    } else if let word, word.isOnItsWay {
      state = "no thread holds the queue: it waits for a worker that is free"
      finding.remedy = "Look at what the workers do: let fewer items block, or run long, at once."
    } else {
      let known = word == nil ? " is known to hold" : " holds"
      state = "no thread\(known) the queue, and neither it nor its targets are suspended"
    }
    finding.details.append(Clause(state))
  }

  private func times(_ count: Int) -> String { count == 1 ? "" : ", \(count) times" }

  // MARK: What the waiting makes worse

  /// A thread that waits inside an item keeps the item's queue meanwhile.
  private func holds(_ roots: [Snapshot.Thread]) -> [Clause] {
    var seen: Set<UInt64> = []
    return roots.compactMap { thread in
      guard thread.insideAddress != 0, seen.insert(thread.insideAddress).inserted else { return nil }
      let queue = snapshot.object(at: thread.insideAddress)
      guard queue.map({ $0.kind == .serial || $0.kind == .main || $0.kind == .workloop }) ?? true else { return nil }
      if thread.insideLabel == WhyWords.poolOfTasks {
        return Clause(
          "\(words.thread(thread.tid)) waits inside a task of Swift Concurrency: that has as few threads as there are processors, "
            + "and while all of them wait no task and no actor runs")
      }
      let name = words.queue(label: thread.insideLabel, address: thread.insideAddress)
      let known = queue == nil && !words.isMain(thread.insideLabel) ? "if that is a serial one, " : ""
      return Clause(
        "\(words.thread(thread.tid)) waits inside an item of \(name); \(known)nothing else of it runs meanwhile"
          + "\(children(of: queue)): what is to end this wait must not be submitted there")
    }
  }

  /// What does not run because of a circle of these threads. If one of them waits for a group or a work item, what it
  /// waits for may be in a queue that it holds.
  func kept(by tids: [Int32]) -> [Clause] {
    let waiters = tids.compactMap { snapshot.thread($0) }
    return targets(tids) + holds(waiters.filter { $0.wait?.kind == .group || $0.wait?.kind == .workItem })
  }

  /// Queues that threads wait for, and whose items they run by the way: a thread may hold one of these as well.
  private func targets(_ tids: [Int32]) -> [Clause] {
    var seen: Set<Int> = []
    return tids.compactMap { tid in
      guard let wait = snapshot.thread(tid)?.wait, let queue = snapshot.object(of: wait), queue.kind.isQueue,
        seen.insert(queue.number).inserted
      else { return nil }
      let others = children(of: queue)
      return others.isEmpty ? nil : Clause("nothing of \(words.object(wait)) runs meanwhile\(others)")
    }
  }

  /// Queues whose items run by way of this one.
  private func children(of queue: Snapshot.Object?) -> String {
    guard let queue else { return "" }
    let labels = snapshot.objects.filter { $0.target == queue.number && $0.kind.isQueue && $0.endedAge == nil }
      .map { words.queue(label: $0.label, address: $0.address) }
    let shown = labels.prefix(WhyWords.longestList).joined(separator: ", ")
    let more = labels.count > WhyWords.longestList ? " and \(labels.count - WhyWords.longestList) more" : ""
    return labels.isEmpty ? "" : ", nor of \(shown)\(more), whose target it is"
  }

  /// Queues that run nothing, and channels that do not get on. What is waited for may be in one of them; that is not known.
  private func addPossibleCauses(_ finding: inout Finding) {
    let channels = WhyChannels(snapshot: snapshot, after: after)
    let heldUp = channels.heldUp
    finding.details += WhyRemarks(snapshot: snapshot, words: words, after: after).stoppedQueues().map { Clause($0) }
    finding.details += (heldUp + channels.waiting).map { Clause($0) }
    if !heldUp.isEmpty { finding.remedy += WhyChannels.remedy }
  }
}

/// The notes beside the findings.
struct WhyRemarks {
  let snapshot: Snapshot
  let words: WhyWords
  let after: UInt64

  func all(beside findings: [Finding]) -> [String] {
    var remarks: [String] = []
    if !snapshot.core.isEmpty {
      remarks.append("This is what the core file shows; what threads did outside of the library is not in it.")
    }
    if snapshot.program.isStopped {
      let since = snapshot.stoppedFor > 0 ? ", for \(WhyWords.duration(snapshot.stoppedFor))" : ""
      remarks.append(
        "The process is stopped (state \(snapshot.program.state)\(since)): nothing of it runs until it is continued, by kill -CONT. "
          + "All times are as they were then."
      )
    }
    if snapshot.leftOut > 0 { remarks.append(WhyWords.whole(snapshot.leftOutWords)) }
    if snapshot.torn > 0 { remarks.append(WhyWords.whole(snapshot.tornWords)) }
    let said = Set(findings.flatMap(\.details).flatMap(\.all))
    remarks += stoppedQueues().filter { !said.contains($0) && !said.contains { $0.contains("suspended") } }
      .map { WhyWords.whole($0) }
    remarks += WhyChannels(snapshot: snapshot, after: after).heldUp.filter { !said.contains($0) }.map {
      WhyWords.whole($0)
    }
    if !snapshot.listsObjects, findings.contains(where: { Self.mayHang(on: $0.kind) }) {
      remarks.append(
        "Sources have no entry, and with older libraries some queues: one that is suspended, or was never activated, may "
          + "be missing here. Start the program with GRANDCENTRAL_INSPECT=1 to have all.")
    }
    if snapshot.core.isEmpty, snapshot.threads.contains(where: { hidesWord($0) }) {
      remarks.append(
        "The process's memory may not be read: which thread holds a queue is known only as it was when the wait for it began. "
          + "With root's rights gcd knows it as it is.")
    }
    return remarks
  }

  /// A thread has waited long for a queue whose word would say which thread holds it.
  private func hidesWord(_ thread: Snapshot.Thread) -> Bool {
    guard thread.state == .waiting, thread.age >= after, let wait = thread.wait, wait.placeOfWord != 0,
      let queue = snapshot.object(of: wait)
    else { return false }
    return queue.word == nil
  }

  /// What is waited for may be in a queue that is not listed.
  private static func mayHang(on kind: Finding.Kind) -> Bool {
    switch kind {
    case .group, .semaphore, .workItem, .wait: true
    default: false
    }
  }

  func stoppedQueues() -> [String] {
    snapshot.objects.filter { $0.endedAge == nil && ($0.suspensions > 0 || $0.isInactive) }
      .prefix(WhyWords.longestList).map { object in
        let state = object.suspensions > 0 ? "is suspended" : "has not been activated"
        if object.kind.isQueue {
          return
            "\(words.queue(label: object.label, address: object.address)) \(state): what was submitted to it does not run"
        }
        // For instance: timer 5 of queue "events" is suspended.
        let queue =
          snapshot.object(object.target).map { " of " + words.queue(label: $0.label, address: $0.address) } ?? ""
        let what = object.kind == .channel ? "operations" : "handlers"
        return "\(object.kindWords) \(object.shownNumber)\(queue) \(state): its \(what) do not run"
      }
  }
}
