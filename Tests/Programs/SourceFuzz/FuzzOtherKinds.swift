// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

/// What the program adds, sets or replaces.
final class FuzzUserData: FuzzLoad {
  enum Kind: Int, Sendable { case add, or, replace }

  let subjects: [FuzzSubject]
  private let kind: Kind
  private let source: any DispatchSourceUserDataAdd & DispatchSourceUserDataOr & DispatchSourceUserDataReplace
  private let (given, seen): (Guarded<UInt>, Guarded<UInt>)

  init(_ random: inout SeededRandom, _ name: String, _ report: FuzzReport, _ queues: FuzzQueues) {
    let kind = Kind(rawValue: random.below(3))!
    let made = DispatchSource.makeUserDataAddSource(queue: queues.any(&random))
    // One class serves all three.
    source = made as! any DispatchSourceUserDataAdd & DispatchSourceUserDataOr & DispatchSourceUserDataReplace
    let seen = Guarded<UInt>(0)
    self.kind = kind
    self.seen = seen
    given = Guarded(0)
    subjects = [
      FuzzSubject(
        "\(name) user data \(kind)", report, made,
        onEvent: { subject, source in
          let data = source.data
          if data == 0 { subject.fail("called for nothing") }
          if data != source.data { subject.fail("data changes under the handler") }
          seen.with {
            switch kind {
            case .add: $0 &+= data
            case .or: $0 |= data
            case .replace: $0 = data
            }
          }
        })
    ]
  }

  func step(_ random: inout SeededRandom) {
    let value = UInt(random.below(100)) + 1
    // One thread gives: so the order is known, and the newest value too.
    given.with {
      switch kind {
      case .add: $0 &+= value
      case .or: $0 |= value
      case .replace: $0 = value
      }
    }
    switch kind {
    case .add: source.add(data: value)
    case .or: source.or(data: value)
    case .replace: source.replace(data: value)
    }
  }

  func isSettled() -> Bool { given.with { $0 } == seen.with { $0 } }

  var account: String { "\(seen.with { $0 }) of \(given.with { $0 })" }

  func tidyUp() {}
}

/// A timer on a queue of its own, which nobody retargets, scheduled anew inside that queue: so it is known when it may fire.
final class FuzzTimer: FuzzLoad {
  let subjects: [FuzzSubject]
  private let queue = DispatchQueue(label: "fuzz.timer")
  /// The first instant at which the next call may come; `max` for never.
  private let due: Guarded<UInt64>
  private let (scheduled, fired): (Guarded<UInt64>, Guarded<UInt64>)

  init(_ random: inout SeededRandom, _ name: String, _ report: FuzzReport) {
    let (due, scheduled, fired) = (Guarded<UInt64>(.max), Guarded<UInt64>(0), Guarded<UInt64>(0))
    (self.due, self.scheduled, self.fired) = (due, scheduled, fired)
    subjects = [
      FuzzSubject(
        "\(name) timer", report, DispatchSource.makeTimerSource(queue: queue),
        onEvent: { subject, source in
          let (now, due) = (monotonicNanoseconds(), due.with { $0 })
          if source.data == 0 { subject.fail("fired for nothing") }
          if now < due { subject.fail("\(due == .max ? 0 : due - now) ns early") }
          fired.with { $0 = scheduled.with { $0 } }
        })
    ]
  }

  func step(_ random: inout SeededRandom) {
    let delay = UInt64(random.below(300_000))
    let leeway = DispatchTimeInterval.microseconds(random.below(100))
    let interval: DispatchTimeInterval = random.oneIn(3) ? .microseconds(50 + random.below(500)) : .never
    let isNever = random.oneIn(10)
    subjects[0].use { source in
      queue.sync {
        let start = isNever ? UInt64.max : monotonicNanoseconds() + delay
        let deadline: DispatchTime = isNever ? .distantFuture : DispatchTime(uptimeNanoseconds: start)
        due.with { $0 = start }
        scheduled.with { $0 += 1 }
        (source as! any DispatchSourceTimer).schedule(
          deadline: deadline, repeating: interval, leeway: leeway)
      }
    }
  }

  var account: String { "schedule \(fired.with { $0 }) of \(scheduled.with { $0 }), due \(due.with { $0 })" }

  func isSettled() -> Bool { due.with { $0 } == .max || fired.with { $0 } == scheduled.with { $0 } }

  func tidyUp() {}
}

/// Signals of which each delivery is queued, so that each source counts all.
final class FuzzSignals: FuzzLoad {
  let subjects: [FuzzSubject]
  private let signal: Int32
  private let counts: [Counter]
  private let sent = Counter()

  /// Loads that run at once have a signal each.
  static func number(_ lane: Int) -> Int32 { 40 + Int32(lane) }

  init(_ random: inout SeededRandom, _ name: String, _ report: FuzzReport, _ queues: FuzzQueues, lane: Int) {
    let number = Self.number(lane)
    signal = number
    // The driver's thread has the mask of a thread of the test runner's, which may block everything.
    var own = sigset_t()
    sigemptyset(&own)
    sigaddset(&own, number)
    pthread_sigmask(SIG_UNBLOCK, &own, nil)
    let counts = (0..<1 + random.below(3)).map { _ in Counter() }
    self.counts = counts
    subjects = counts.indices.map { index in
      FuzzSubject(
        "\(name) signal \(number) \(index)", report,
        DispatchSource.makeSignalSource(signal: number, queue: queues.any(&random)),
        onEvent: { _, source in counts[index].add(Int(source.data)) })
    }
  }

  func step(_ random: inout SeededRandom) {
    if random.oneIn(2) { kill(getpid(), signal) } else { pthread_kill(pthread_self(), signal) }
    sent.add()
  }

  var account: String { "\(counts.map(\.value)) of \(sent.value)" }

  // More, if one of an earlier load was under way in a thread that did not run just then. ThreadSanitizer keeps one delivery of
  // each signal back until the thread makes a system call, and drops the others.
  func isSettled() -> Bool {
    let least = Kernel.isSanitized ? min(1, sent.value) : sent.value
    return counts.allSatisfy { $0.value >= least }
  }

  func tidyUp() {}
}

/// A child that ends by itself, or is killed.
final class FuzzProcess: FuzzLoad {
  let subjects: [FuzzSubject]
  private let child: pid_t
  private let (told, isKilled): (Counter, Counter)
  private let sources: Int

  init(_ random: inout SeededRandom, _ name: String, _ report: FuzzReport, _ queues: FuzzQueues) {
    let ends = random.oneIn(2)
    let words = ["sh", "-c", ends ? "exit 7" : "exec sleep 1000"]
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    var child: pid_t = 0
    precondition(posix_spawn(&child, "/bin/sh", nil, nil, &arguments, nil) == 0)
    for argument in arguments { free(argument) }
    self.child = child
    let (told, isKilled) = (Counter(), Counter(ends ? 1 : 0))
    (self.told, self.isKilled) = (told, isKilled)
    let sources = 1 + random.below(3)
    self.sources = sources
    subjects = (0..<sources).map { index in
      FuzzSubject(
        "\(name) process \(index)", report,
        DispatchSource.makeProcessSource(identifier: child, eventMask: .exit, queue: queues.any(&random)),
        onEvent: { subject, source in
          let status = (source as! any DispatchSourceProcess).exitStatus
          if isKilled.value == 0 { subject.fail("ended, though nobody has killed it") }
          let wanted: DispatchSource.ProcessExitStatus =
            ends ? .exited(code: 7) : .killed(signal: SIGKILL, dumpedCore: false)
          if status != wanted { subject.fail("ended with \(String(describing: status))") }
          if subject.events.value > 1 { subject.fail("ended twice") }
          told.add()
        })
    }
  }

  func step(_ random: inout SeededRandom) {
    if isKilled.value == 0, random.oneIn(8) { end() }
  }

  private func end() {
    isKilled.add()
    kill(child, SIGKILL)
  }

  var account: String { "told \(told.value) of \(sources)" }

  func isSettled() -> Bool {
    if isKilled.value == 0 { end() }
    return told.value == sources
  }

  func tidyUp() {
    kill(child, SIGKILL)
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
  }
}

/// A file that is written to, changed, renamed and removed.
final class FuzzFile: FuzzLoad {
  typealias Event = DispatchSource.FileSystemEvent

  let subjects: [FuzzSubject]
  private let (file, path): (Int32, String)
  private let isWatched: @Sendable () -> Bool
  private let happened: Guarded<Event>
  private let seen: [Guarded<Event>]

  init(_ random: inout SeededRandom, _ name: String, _ report: FuzzReport, _ queues: FuzzQueues) {
    var template = Array("/tmp/gc-fuzz-XXXXXX".utf8CString)
    let file = mkstemp(&template)
    precondition(file >= 0)
    _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    self.file = file
    happened = Guarded([])
    let sources = 1 + random.below(2)
    let (seen, open) = ((0..<sources).map { _ in Guarded<Event>([]) }, Counter(sources))
    self.seen = seen
    let subjects = (0..<sources).map { index in
      FuzzSubject(
        "\(name) file \(index)", report,
        DispatchSource.makeFileSystemObjectSource(
          fileDescriptor: file, eventMask: [.write, .extend, .attrib, .rename, .delete], queue: queues.any(&random)),
        onEvent: { subject, source in
          let data: Event = (source as! any DispatchSourceFileSystemObject).data
          if data.isEmpty { subject.fail("called for nothing") }
          seen[index].with { $0.formUnion(data) }
        },
        onEnd: { if open.add(-1) == 0 { close(file) } })
    }
    self.subjects = subjects
    isWatched = { open.value == sources }
  }

  func step(_ random: inout SeededRandom) {
    // A closed number may be another file's.
    guard isWatched(), subjects.allSatisfy({ !$0.ended.isOpen }) else { return }
    switch random.below(3) {
    case 0:
      guard write(file, "x", 1) == 1 else { return }
      happened.with { $0.formUnion([.write, .extend]) }
    case 1:
      guard fchmod(file, mode_t(0o600 + random.below(8))) == 0 else { return }
      happened.with { $0.formUnion(.attrib) }
    default:
      guard rename(path, path + "-moved") == 0, rename(path + "-moved", path) == 0 else { return }
      happened.with { $0.formUnion(.rename) }
    }
  }

  var account: String { "\(seen.map { $0.with { $0 } }) of \(happened.with { $0 })" }

  func isSettled() -> Bool {
    let happened = happened.with { $0 }
    return seen.allSatisfy { $0.with { $0 }.isSuperset(of: happened) }
  }

  func tidyUp() { unlink(path) }
}
