// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

// Random programs: `program random:SEED`. The seed alone decides what is done; after each step everything that can run has
// run, so that both libraries must print the same. Steps that Dispatch traps on are not drawn: Traps.swift has those.

/// Numbers from a seed, the same everywhere.
private struct Dice {
  private var state: UInt64
  init(seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

  mutating func below(_ bound: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state >> 33) % bound
  }

  mutating func oneIn(_ number: Int) -> Bool { below(number) == 0 }
}

/// A queue, and what the program has done to it.
private final class Subject {
  let name: String
  let queue: DispatchQueue
  let isConcurrent: Bool
  var target: Subject?
  var suspensions = 0
  var isInactive: Bool

  init(_ name: String, _ attributes: DispatchQueue.Attributes, target: Subject?) {
    self.name = name
    isConcurrent = attributes.contains(.concurrent)
    isInactive = attributes.contains(.initiallyInactive)
    self.target = target
    queue = DispatchQueue(label: name, attributes: attributes, target: target?.queue)
    queue.setSpecific(key: key, value: name)
  }

  var runs: Bool { suspensions == 0 && !isInactive && target?.runs ?? true }

  /// Waits for all that has been submitted.
  func flush() { if runs { queue.sync(flags: .barrier) {} } }
}

private let key = DispatchSpecificKey<String>()

/// A source of user data, and what the program has done to it.
private final class Feed {
  let name: String
  let source: any DispatchSourceProtocol
  let add: (UInt) -> Void
  var subject: Subject
  let log: Log
  var suspensions = 0
  var isActive = false
  var isCancelled = false
  /// Lines that are to come.
  var expected = 0
  var hasData = false
  var handlers: Set<String> = []

  init(_ name: String, kind: Int, on subject: Subject, _ log: Log) {
    (self.name, self.subject, self.log) = (name, subject, log)
    switch kind {
    case 0:
      let made = DispatchSource.makeUserDataAddSource(queue: subject.queue)
      (source, add) = (made, { made.add(data: $0) })
    case 1:
      let made = DispatchSource.makeUserDataOrSource(queue: subject.queue)
      (source, add) = (made, { made.or(data: $0) })
    default:
      let made = DispatchSource.makeUserDataReplaceSource(queue: subject.queue)
      (source, add) = (made, { made.replace(data: $0) })
    }
  }

  func note(_ role: String) -> () -> Void {
    { [self] in
      let data = role.hasPrefix("event") ? " " + String((source as! DispatchSource).data) : ""
      log.add("\(name) \(role)\(data) on \(DispatchQueue.getSpecific(key: key) ?? "-")")
    }
  }

  /// Waits for the lines that must come now. If one does not come, it is missing in the output.
  func settle() {
    guard isActive, suspensions == 0, subject.runs else { return }
    for role in isCancelled ? ["cancel"] : ["registration", "event"] where handlers.contains(role) {
      if role == "event", !hasData { continue }
      if role != "event" { handlers.remove(role) }
      expected += 1
    }
    hasData = false
    for _ in 0..<20_000 where log.count < expected { usleep(1_000) }
    expected = log.count
  }
}

private final class Program {
  private var dice: Dice
  private var subjects: [Subject] = []
  private var logs: [String: Log] = [:]
  private var feeds: [Feed] = []
  private let groups = [DispatchGroup(), DispatchGroup()]
  private var entered = [0, 0]
  private let semaphore: DispatchSemaphore
  private var items: [(item: DispatchWorkItem, isWaitedFor: Bool, uses: Int, isOver: Bool)] = []
  private var serial = 0
  private let step = Count()
  private let isTraced = getenv("GC_TRACE") != nil

  init(seed: UInt64) {
    var dice = Dice(seed: seed)
    semaphore = DispatchSemaphore(value: dice.below(3))
    self.dice = dice
    for index in 0..<2 + self.dice.below(4) {
      let kinds: [DispatchQueue.Attributes] = [
        [], [], .concurrent, .initiallyInactive, [.concurrent, .initiallyInactive],
      ]
      let target = !subjects.isEmpty && self.dice.oneIn(2) ? subjects[self.dice.below(subjects.count)] : nil
      // The target of an active queue is active in a sane program.
      var kind = kinds[self.dice.below(kinds.count)]
      if target?.isInactive == true { kind.insert(.initiallyInactive) }
      trace("q\(index) \(kind.rawValue) targets \(target?.name ?? "-")")
      subjects.append(Subject("q\(index)", kind, target: target))
    }
    for index in 0..<4 {
      let name = "item \(index)"
      let log = log(name)
      let kinds: [DispatchWorkItemFlags] = [[], [], .barrier, .detached]
      let item = DispatchWorkItem(flags: kinds[self.dice.below(kinds.count)]) { [step] in
        log.add("\(step.value): runs on \(DispatchQueue.getSpecific(key: key) ?? "-")")
      }
      items.append((item, self.dice.oneIn(2), 0, false))
    }
    for index in 0..<2 {
      let subject = subjects[self.dice.below(subjects.count)]
      feeds.append(Feed("source \(index)", kind: self.dice.below(3), on: subject, log("source \(index)")))
    }
  }

  private func log(_ name: String) -> Log {
    if let log = logs[name] { return log }
    let log = Log()
    logs[name] = log
    return log
  }

  private func any() -> Subject { subjects[dice.below(subjects.count)] }

  /// A line of its own, in the log of the queue; concurrent queues have no order.
  private func work(_ subject: Subject, _ what: String) -> () -> Void {
    serial += 1
    let (log, line) = (log(subject.name), "\(what) \(serial)")
    return { log.add("\(line) on \(DispatchQueue.getSpecific(key: key) ?? "-")") }
  }

  /// As above, for what two threads may submit at once: it is known in which step it comes, and no more.
  private func notification(_ subject: Subject, _ what: String) -> () -> Void {
    serial += 1
    let (log, line, step) = (log(subject.name + " notified"), "\(what) \(serial)", step)
    return { log.add("\(step.value): \(line) on \(DispatchQueue.getSpecific(key: key) ?? "-")") }
  }

  private func settle() {
    // A notification may lead to another.
    for _ in 0..<3 { for subject in subjects { subject.flush() } }
    for feed in feeds { feed.settle() }
    for subject in subjects { subject.flush() }
  }

  // MARK: Steps

  /// `GC_TRACE=1` tells what is done, on standard error.
  private func trace(_ what: String) { if isTraced { fputs("\(step.value): \(what)\n", stderr) } }

  private func stepOnQueue() {
    let (subject, what) = (any(), dice.below(14))
    trace("queue \(subject.name): \(what)")
    switch what {
    case 0, 1: subject.queue.async(execute: work(subject, "async"))
    case 2: subject.queue.async(flags: .barrier, execute: work(subject, "barrier"))
    case 3: if subject.runs { subject.queue.sync(execute: work(subject, "sync")) }
    case 4: if subject.runs { subject.queue.sync(flags: .barrier, execute: work(subject, "sync barrier")) }
    case 5:
      // Dispatch starts items of a concurrent queue that is suspended, if they were submitted while its target was, first.
      if !subject.isInactive, subject.runs || !subject.isConcurrent {
        subject.queue.suspend()
        subject.suspensions += 1
      }
    case 6, 7:
      if subject.suspensions > 0 {
        subject.suspensions -= 1
        subject.queue.resume()
      }
    case 8, 9:
      if subject.target?.isInactive != true {
        subject.queue.activate()
        subject.isInactive = false
      }
    case 10:
      let group = dice.below(groups.count)
      subject.queue.async(group: groups[group], execute: work(subject, "in group \(group)"))
    case 11, 12:
      // A target comes before the queues that target it, so that there is no cycle.
      let target = subjects[dice.below(subjects.firstIndex { $0 === subject }! + 1)]
      if target === subject || !subject.isInactive || subject.suspensions > 0 { return }
      trace("\(subject.name) targets \(target.name)")
      subject.queue.setTarget(queue: target.queue)
      subject.target = target
    default:
      log(subject.name).add("width: \(subject.queue.label) \(DispatchQueue.getSpecific(key: key) ?? "-")")
    }
  }

  private func stepOnGroup() {
    let (number, subject, what) = (dice.below(groups.count), any(), dice.below(4))
    trace("group \(number), \(subject.name): \(what)")
    switch what {
    case 0:
      groups[number].enter()
      entered[number] += 1
    case 1:
      if entered[number] > 0 {
        entered[number] -= 1
        groups[number].leave()
      }
    case 2: groups[number].notify(queue: subject.queue, execute: notification(subject, "by \(number)"))
    default: log("group \(number)").add("\(step.value): \(groups[number].wait(timeout: .now()))")
    }
  }

  private func stepOnItem() {
    let (number, subject, what) = (dice.below(items.count), any(), dice.below(7))
    trace("item \(number), \(subject.name): \(what)")
    let entry = items[number]
    switch what {
    case 0, 1:
      // One that is waited for runs once.
      if entry.isWaitedFor, entry.uses > 0 { return }
      items[number].uses += 1
      if dice.oneIn(3), subject.runs {
        subject.queue.sync(execute: entry.item)
      } else {
        subject.queue.async(execute: entry.item)
      }
    case 2:
      if entry.isWaitedFor, entry.uses > 0 { return }
      items[number].uses += 1
      entry.item.perform()
    case 3: if dice.oneIn(2) { entry.item.cancel() }
    case 4:
      // Dispatch traps once an item has run twice.
      if entry.uses <= 1, !entry.isWaitedFor {
        entry.item.notify(queue: subject.queue, execute: notification(subject, "after item \(number)"))
      }
    case 5:
      if entry.isWaitedFor, entry.uses == 1, !entry.isOver {
        let result = entry.item.wait(timeout: .now())
        items[number].isOver = result == .success
        log("item \(number)").add("\(step.value): \(result)")
      }
    default: log("item \(number)").add("\(step.value): cancelled \(entry.item.isCancelled)")
    }
  }

  private func stepOnFeed() {
    let (feed, what) = (feeds[dice.below(feeds.count)], dice.below(12))
    trace("\(feed.name): \(what)")
    switch what {
    case 0, 1:
      feed.add(UInt(1 + dice.below(9)))
      if !feed.isCancelled { feed.hasData = true }
    case 2, 3:
      feed.source.setEventHandler(handler: feed.note("event"))
      feed.handlers.insert("event")
    case 4:
      feed.source.setRegistrationHandler(handler: feed.note("registration \(serial)"))
      if !feed.isCancelled { feed.handlers.insert("registration") }
    case 5:
      if feed.isCancelled { return }
      feed.source.setCancelHandler(handler: feed.note("cancel"))
      feed.handlers.insert("cancel")
    case 6:
      feed.source.suspend()
      feed.suspensions += 1
    case 7:
      if feed.suspensions > 0 {
        feed.suspensions -= 1
        feed.source.resume()
      }
    case 8, 9:
      feed.source.activate()
      feed.isActive = true
    case 10:
      // An event that is on its way may run on the old target or on the new one.
      if feed.isActive { return }
      feed.subject = any()
      (feed.source as! DispatchSource).setTarget(queue: feed.subject.queue)
    default:
      if dice.oneIn(4) {
        feed.source.cancel()
        feed.isCancelled = true
      }
      log("end of " + feed.name).add("\(step.value): \(feed.source.isCancelled)")
    }
  }

  func run() {
    for _ in 0..<40 + dice.below(60) {
      switch dice.below(9) {
      case 0, 1, 2, 3: stepOnQueue()
      case 4, 5: stepOnGroup()
      case 6: stepOnItem()
      case 7:
        if dice.oneIn(2) {
          semaphore.signal()
        } else {
          log("semaphore").add("\(step.value): \(semaphore.wait(timeout: .now()))")
        }
      default: stepOnFeed()
      }
      settle()
      step.add()
    }
    end()
  }

  /// Brings everything to its end: nothing may be released while it is suspended, inactive or entered.
  private func end() {
    for subject in subjects {
      subject.queue.activate()
      subject.isInactive = false
      while subject.suspensions > 0 {
        subject.suspensions -= 1
        subject.queue.resume()
      }
    }
    settle()
    for number in groups.indices {
      for _ in 0..<entered[number] { groups[number].leave() }
      settle()
    }
    for feed in feeds {
      feed.source.activate()
      feed.isActive = true
      settle()
      while feed.suspensions > 0 {
        feed.suspensions -= 1
        feed.source.resume()
      }
    }
    settle()
    for feed in feeds where !feed.isCancelled {
      feed.source.cancel()
      feed.isCancelled = true
    }
    settle()
    for _ in 0..<4 { semaphore.signal() }
    let ordered = Set(subjects.filter { !$0.isConcurrent }.map(\.name) + feeds.map(\.name))
    for name in logs.keys.sorted() {
      if !ordered.contains(name) { logs[name]?.showSorted(name + ":") } else { logs[name]?.show(name + ":") }
    }
  }
}

func runRandomProgram(seed: UInt64) { Program(seed: seed).run() }
