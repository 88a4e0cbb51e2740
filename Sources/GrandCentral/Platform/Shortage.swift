// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// What happens when the kernel refuses something: one policy, for every kind of thing that it may refuse.
//
//   refused ─► one report a spell ─► a pause of 1 ms, 2 ms, 4 ms … 1 s ─► asked again ─► granted: the pause is over
//
// Shortage.A  The kernel is asked at most once a pause, by whatever number of threads. So no thread spins.
// Shortage.B  Refusals less than ten seconds apart are one spell. A spell has one line on standard error.
// Shortage.C  A refusal ends nothing for good: the party that was refused waits, or does with less meanwhile.
// Shortage.D  What has a patience is reported only once it has been refused for that long without a grant in between. Threads
//             have one: Linux starts no thread while another thread of the process replaces the program (`execve`), which is
//             over within milliseconds, for one reason or the other; but that thread may be without a processor meanwhile,
//             and be at it again each time that the kernel is asked.
//
// Which thread asks again: for threads, the monitor, every worker and every submitter that finds work pending
// (ThreadPool.swift), and threads that wait meanwhile (Blocking.swift); for registrations, `Retries`; for what the poller
// does without, the poller at its next wait; for memory, the thread that needs it (Memory.swift).
// Documentation/Exhaustion.md has the table.
struct Shortage: ~Copyable, Sendable {
  private static let shortestPause: UInt64 = 1_000_000
  private static let longestPause: UInt64 = 1_000_000_000
  private static let spell: UInt64 = 10_000_000_000

  /// What is delayed, for the report.
  private let consequence: StaticString
  /// How long it may be refused without a report (Shortage.D).
  private let patience: UInt64
  /// Uptime until which no thread asks; 0 while nothing is short.
  private let closedUntil = Atomic<UInt64>(0)
  /// The length of the last pause; 0 while nothing is short.
  private let pause = Atomic<UInt64>(0)
  /// Uptime of the last refusal; 0 before the first.
  private let lastRefusal = Atomic<UInt64>(0)
  /// Uptime of the first refusal since the last grant; 0 while nothing is short.
  private let shortSince = Atomic<UInt64>(0)
  /// Whether this spell has its line.
  private let isReported = Atomic<Bool>(false)
  /// Whether the last refusal was none for want of something: asking again will not help.
  private let isForGood = Atomic<Bool>(false)
  /// How many threads ask the kernel just now.
  private let asking = Atomic<UInt32>(0)

  init(_ consequence: StaticString, patience: UInt64 = 0) {
    (self.consequence, self.patience) = (consequence, patience)
  }

  /// Whether the kernel has refused it, and has not granted it since. A simulation has a kernel of its own, and another clock.
  @inline(__always)
  var isShort: Bool {
    // relaxed: a hint; the kernel decides.
    closedUntil.load(ordering: .relaxed) != 0 && Self.isReal
  }

  @inline(never)
  private static var isReal: Bool { !World.isSimulated }

  /// Whether the kernel may be asked now. One load while nothing is short.
  @inline(__always)
  var mayAsk: Bool { !isShort || isPauseOver }

  @inline(never)
  private var isPauseOver: Bool {
    // relaxed: a hint; the kernel decides.
    Clock.uptime.now() >= closedUntil.load(ordering: .relaxed)
  }

  /// Whether what the kernel has refused may come back.
  var mayEnd: Bool {
    // relaxed: a hint; the kernel decides.
    !isForGood.load(ordering: .relaxed)
  }

  // MARK: While it is asked for

  /// A thread of the caller is about to ask the kernel, and may be refused. Threads have this.
  func beginAsking() {
    // relaxed: the callers' next step orders it: they unlock, or release.
    asking.wrappingAdd(1, ordering: .relaxed)
  }

  /// It has been refused, and has said so; or it has been granted.
  func endAsking() {
    // pairs with: mayBeShort – publishes the refusal
    asking.wrappingSubtract(1, ordering: .releasing)
  }

  /// As `isShort`, or the kernel is being asked.
  @inline(__always)
  var mayBeShort: Bool {
    // pairs with: endAsking – publishes the refusal
    asking.load(ordering: .acquiring) != 0 && Self.isReal || isShort
  }

  /// After how long a thread that waits meanwhile looks again; nil if it need not, because all has been granted, or nobody has been refused
  /// for a while.
  @inline(never)
  @_optimize(size)
  var timeToLook: UInt64? {
    // pairs with: endAsking – publishes the refusal
    if asking.load(ordering: .acquiring) != 0 { return 10 * Self.shortestPause }
    // relaxed: a hint; the kernel decides.
    let (closed, now) = (closedUntil.load(ordering: .relaxed), Clock.uptime.now())
    if closed == 0 { return nil }
    if closed > now { return min(closed - now, Self.longestPause) }
    return now - closed < Self.spell ? Self.longestPause : nil
  }

  /// A child of a fork has none of the threads that ask, and asks anew.
  func forget() {
    // relaxed: there is one thread.
    asking.store(0, ordering: .relaxed)
    end()
  }

  /// The kernel has refused: begins the next pause, and reports a spell once.
  ///
  /// - Returns: how long to wait before the kernel is asked again, in nanoseconds.
  @inline(never)
  @discardableResult
  func refused(_ error: Errno, isReported mayReport: Bool = true) -> UInt64 {
    if World.isSimulated { return Self.longestPause }
    let now = Clock.uptime.now()
    // relaxed: a hint, and numbers for pacing; threads that are refused together agree on nothing else.
    isForGood.store(!error.isShortage, ordering: .relaxed)
    let last = lastRefusal.exchange(now, ordering: .relaxed)
    let isNewSpell = last == 0 || now > last && now - last > Self.spell
    if isNewSpell {
      isReported.store(false, ordering: .relaxed)
      shortSince.store(0, ordering: .relaxed)
    }
    if mayReport, isWorthALine(error, at: now), !isReported.exchange(true, ordering: .relaxed) { report(error) }
    let closed = closedUntil.load(ordering: .relaxed)
    // Another thread has begun this pause.
    if !isNewSpell, closed > now { return closed - now }
    // relaxed: as above.
    let before = isNewSpell ? 0 : pause.load(ordering: .relaxed)
    let next = min(max(2 * before, Self.shortestPause), Self.longestPause)
    pause.store(next, ordering: .relaxed)
    closedUntil.store(now + next, ordering: .relaxed)
    return next
  }

  private func isWorthALine(_ error: Errno, at now: UInt64) -> Bool {
    // relaxed: numbers for pacing; of several first refusals any one begins.
    let (_, since) = shortSince.compareExchange(expected: 0, desired: now, ordering: .relaxed)
    return patience == 0 || !error.isShortage || since != 0 && now > since && now - since >= patience
  }

  private func report(_ error: Errno) {
    PlainLine.write { line in
      line.add("GrandCentral: the kernel refuses ")
      line.add(consequence)
      line.add(". It says: ")
      line.add(error)
    }
  }

  /// The kernel has granted it. One load while nothing is short.
  @inline(__always)
  func granted() { if isShort { end() } }

  @inline(never)
  private func end() {
    // relaxed: a hint, and numbers for pacing.
    isForGood.store(false, ordering: .relaxed)
    pause.store(0, ordering: .relaxed)
    shortSince.store(0, ordering: .relaxed)
    closedUntil.store(0, ordering: .relaxed)
  }
}

/// What may be short, each with its own pace.
enum Shortages {
  static let threads = Shortage(
    "a worker thread; work is delayed until threads can be had again", patience: 1_000_000_000)
  static let descriptors = Shortage(
    """
    a descriptor, or memory for one; sources and channels that need it start later, and timers on the wall clock may be \
    a second late. Raise the limit: ulimit -n, or fs.inotify.max_user_instances
    """)
  static let watches = Shortage(
    """
    one more watch; sources that need it start later. Raise fs.inotify.max_user_watches, or fs.epoll.max_user_watches
    """)
  static let processes = Shortage(
    "a descriptor for a process; process sources look once a second whether their process has ended")
  static let memory = Shortage("memory; threads that need some wait for it, a second at most")
  /// Not reported: helper threads do the same work meanwhile.
  static let rings = Shortage("io_uring")
  /// The pace of parties that have to look by themselves for what the kernel does not tell them.
  static let looks = Shortage("")
  static let waits = Shortage("to wait for events; it is asked again every few milliseconds")

  /// What a failed registration is short of. `.again` stands for a registration that is served by looks: each attempt looks for
  /// the event that the kernel would have told.
  static func ofRegistration(_ error: Errno) -> Kind {
    error == .noSpace ? .watches : error == .again ? .looks : .descriptors
  }

  /// What registrations wait for.
  enum Kind: UInt8 {
    case descriptors, watches, looks

    func refused(_ error: Errno) -> UInt64 {
      switch self {
      case .descriptors: Shortages.descriptors.refused(error)
      case .watches: Shortages.watches.refused(error)
      case .looks: Shortages.looks.refused(error, isReported: false)
      }
    }

    func granted() {
      switch self {
      case .descriptors: Shortages.descriptors.granted()
      case .watches: Shortages.watches.granted()
      case .looks: Shortages.looks.granted()
      }
    }
  }
}
