// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// How many workers live, block, sleep and search: the word of the sleep protocol (see README.md beside this file).
///
/// | bits  | field     | counts                                                             |
/// |-------|-----------|--------------------------------------------------------------------|
/// | 0–12  | searching | workers looking for a job, those on their way out of sleep included |
/// | 13–25 | sleeping  | workers in the idle list                                            |
/// | 26–38 | blocked   | workers inside a job that waits, seen or guessed; those that end     |
/// | 39–50 | adrift    | workers that have lost their place to others, and go on with a job   |
/// | 51–63 | live      | all workers, those being started included                           |
///
/// PoolState.P1  searching + sleeping + blocked + adrift ≤ live ≤ 4096
/// PoolState.P2  sleeping is the length of the idle list; both change under the list's lock
/// PoolState.P3  a thread that raises `searching` for another thread also starts or unparks that thread
struct PoolState: StateWord, Equatable {
  var rawValue: UInt64

  init(rawValue: UInt64) { self.rawValue = rawValue }
  init() { rawValue = 0 }

  static let searchingOne: UInt64 = 1
  static let sleepingOne: UInt64 = 1 << 13
  static let blockedOne: UInt64 = 1 << 26
  static let adriftOne: UInt64 = 1 << 39
  static let liveOne: UInt64 = 1 << 51

  @inline(__always) var searching: Int { Int(rawValue & 0x1FFF) }
  @inline(__always) var sleeping: Int { Int((rawValue &>> 13) & 0x1FFF) }
  @inline(__always) var blocked: Int { Int((rawValue &>> 26) & 0x1FFF) }
  @inline(__always) var adrift: Int { Int((rawValue &>> 39) & 0xFFF) }
  @inline(__always) var live: Int { Int(rawValue &>> 51) }
  /// Workers that use, or are about to use, a place.
  @inline(__always) var active: Int { live - blocked - adrift - sleeping }
  /// Workers that run jobs, or could: all except those that wait.
  @inline(__always) var able: Int { live - blocked - adrift }

  /// What a submitter owes after it has published a job.
  enum Wake: Equatable {
    /// A worker searches already and will find the job.
    case nothing
    /// Unpark the newest sleeper; it is counted as searching from now on.
    case unpark
    /// Start a thread; it is counted as live and searching from now on.
    case spawn
    /// Every processor has its worker, or there are enough workers beside a convoy: the monitor watches over them.
    case watch
    /// No thread may be added.
    case exhausted
  }

  /// So many workers wait that they may well wait for each other, one at a time, as for a semaphore that lets few
  /// through: one more would most likely join them.
  @inline(__always)
  func isConvoy(parallelism: Int) -> Bool { blocked > max(8, 2 * parallelism + 4) }

  /// A convoy waits, and half of the processors have their workers: these go on, and the monitor decides about others.
  ///
  /// A worker that is adrift counts: it may be the one whose turn the others wait for, and may only lack a processor.
  @inline(__always)
  func holdsBack(parallelism: Int) -> Bool {
    isConvoy(parallelism: parallelism) && 2 * (active + adrift) >= parallelism
  }

  /// What `claimWake` would answer, without claiming.
  @inline(__always)
  func wake(parallelism: Int, budget: Int) -> Wake {
    if searching > 0 { return .nothing }
    if active >= parallelism || holdsBack(parallelism: parallelism) { return .watch }
    if sleeping > 0 { return .unpark }
    return live < budget ? .spawn : .exhausted
  }

  mutating func claimWake(parallelism: Int, budget: Int) -> Wake {
    let wake = wake(parallelism: parallelism, budget: budget)
    switch wake {
    case .unpark: rawValue = rawValue &- Self.sleepingOne &+ Self.searchingOne
    case .spawn: rawValue = rawValue &+ Self.liveOne &+ Self.searchingOne
    case .nothing, .watch, .exhausted: break
    }
    return wake
  }

  /// The monitor adds workers although others search: as `claimWake`, without its first rule.
  mutating func claimReinforcement(parallelism: Int, budget: Int, sparing spared: Int = 0) -> Wake {
    if active >= parallelism { return .watch }
    if sleeping > spared {
      rawValue = rawValue &- Self.sleepingOne &+ Self.searchingOne
      return .unpark
    }
    if live >= budget { return .exhausted }
    rawValue = rawValue &+ Self.liveOne &+ Self.searchingOne
    return .spawn
  }

  /// The engine is being closed: the newest sleeper is woken, so that it ends.
  mutating func claimSleeper() -> Wake {
    if sleeping == 0 { return .nothing }
    rawValue = rawValue &- Self.sleepingOne &+ Self.searchingOne
    return .unpark
  }

  mutating func startSearching() { rawValue &+= Self.searchingOne }

  /// The last one looks whether another one must search.
  mutating func stopSearching() { rawValue &-= Self.searchingOne }

  /// A searcher joins the idle list.
  mutating func fallAsleep() { rawValue = rawValue &- Self.searchingOne &+ Self.sleepingOne }
  /// A sleeper takes itself off the idle list.
  mutating func wakeUp() { rawValue = rawValue &+ Self.searchingOne &- Self.sleepingOne }

  mutating func block() { rawValue &+= Self.blockedOne }
  mutating func unblock() { rawValue &-= Self.blockedOne }

  /// A worker's status changes from running to `status`, or back.
  mutating func setAside(as status: UInt32) { rawValue &+= Self.one(status) }
  mutating func takeBack(from status: UInt32) { rawValue &-= Self.one(status) }

  private static func one(_ status: UInt32) -> UInt64 { status == Worker.Status.adrift ? adriftOne : blockedOne }

  enum Retirement: Equatable {
    /// The worker ends.
    case granted
    /// It sleeps on: no other worker could run anything.
    case refused
  }

  /// A sleeper that has taken itself off the list is about to end, unless it is the last worker that could run anything, or
  /// even then. It runs no jobs any more. Its thread counts until `end`, because what it still does may take long.
  mutating func retire(evenLast: Bool = false) -> Retirement {
    if able <= 1, !evenLast { return .refused }
    rawValue = rawValue &- Self.sleepingOne &+ Self.blockedOne
    return .granted
  }
  /// A worker that has retired is gone.
  mutating func end() { rawValue = rawValue &- Self.liveOne &- Self.blockedOne }

  /// A thread could not be started.
  mutating func spawnFailed() { rawValue = rawValue &- Self.liveOne &- Self.searchingOne }
}
