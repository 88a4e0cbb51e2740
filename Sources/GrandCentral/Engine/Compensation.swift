// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// How many workers the monitor adds in place of blocked ones, from tick to tick.
///
/// - Few are blocked: workers for all processors, and a burst beyond them that doubles while added ones block too.
/// - A convoy is blocked and no job has ended since there is one, or for `patience`: they may wait for what is pending; the
///   same.
/// - A convoy is blocked and jobs end all the same. They may wait for something that they hand on, a lock or
///   a semaphore: whoever is added joins them. Or each waits for something of its own: more of them get more done. So
///   it is tried out: how many jobs end in a time, then some workers more, then the same count again. If it has
///   not grown with them, the next attempt comes after eight times as long.
///
/// In the third case a processor may be free beside the convoy: one worker is added for it, and the next one as soon
/// as that one has been seen to work; if it has joined the convoy, after a pause that doubles.
///
/// A standstill that ends while the convoy stays had nothing to do with the workers that were added: the next one has to
/// last twice as long, unless hardly anybody works. All is forgotten with the convoy.
struct Compensation {
  /// Most workers added at one tick beyond the processors.
  static let largestBurst = 64
  /// Whoever holds what the convoy waits for may be without a processor for as long.
  private static let shortestPatience: UInt64 = 16_000_000
  private static let longestPatience: UInt64 = 512_000_000
  /// Ticks between workers for free processors.
  private static let longestPause = 256

  private var burst = 0
  /// How many workers beyond the processors may look for jobs: what was added, and the members of a convoy that are back.
  private(set) var allowance = 0
  /// How long no job has ended, in processor time that a worker has got. On a busy machine the one that holds what the convoy
  /// waits for gets little, and whoever is added would wait as well.
  private var standstill: UInt64 = 0
  /// 0 until one has ended beside the convoy.
  private var patience: UInt64 = 0
  private var hasAddedToConvoy = false
  private var isFirst = true

  private var pause = 1
  private var pausing = 0
  /// What there was when a worker was added for a free processor.
  private var before: (blocked: Int, working: Int, looks: Int)?

  private var attempts = Attempts()

  /// Whether the workers that were added last are being watched closely.
  var isGrowing: Bool { burst > 0 && patience == 0 }

  /// There is nothing to do: what has been noticed is over.
  mutating func rest() { self = Compensation() }

  /// What the monitor has found at a tick, of the time since the last one.
  struct Findings {
    /// Workers that have been found blocked.
    var stalled = 0
    /// Workers that are in jobs, and neither wait nor have been found blocked.
    var working = 0
    /// Jobs that have ended, and are no more urgent than what is pending.
    var ended = 0
    /// Whether a job has been started.
    var hasStarted = false
    /// What one of those that work has had a processor for, at most. Nil if none of them was there all the time.
    var granted: UInt64?
  }

  /// - Parameter elapsed: The time since the last tick.
  /// - Returns: how many workers should be active; nil for as many as there are.
  mutating func wanted(_ pool: PoolState, parallelism: Int, _ findings: Findings, elapsed: UInt64) -> Int? {
    // At the first look it is not known when they have ended.
    let ended = isFirst ? 0 : findings.ended
    isFirst = false
    // Nobody worked all the time, but somebody is active: on the way into a job, or out of a wait that is over.
    let granted = findings.granted ?? (pool.active > 0 ? elapsed / 16 : elapsed)
    standstill = ended > 0 ? 0 : standstill &+ granted
    guard pool.isConvoy(parallelism: parallelism) else {
      forgetConvoy()
      burst = nextBurst(findings.stalled)
      allowance = burst
      return parallelism + burst
    }
    allowance = Self.largestBurst
    if ended > 0 {
      patience = min(max(hasAddedToConvoy ? 2 * patience : patience, Self.shortestPatience), Self.longestPatience)
      hasAddedToConvoy = false
    } else if standstill >= patience {
      hasAddedToConvoy = true
      burst = nextBurst(findings.stalled)
      return parallelism + burst
    }
    burst = attempts.next(size: pool.live - pool.sleeping, ended: ended, elapsed: elapsed)
    if burst > 0 { return max(pool.active, 0) + burst }
    // With a lock that we do not see the one who holds it may be counted as blocked until its job ends: that hardly
    // anybody seems to work is no reason by itself.
    if 2 * pool.active < parallelism, standstill >= Self.shortestPatience { return pool.active + 1 }
    return trial(pool, parallelism, findings.working)
  }

  private mutating func forgetConvoy() {
    (patience, hasAddedToConvoy, pause, pausing, before) = (0, false, 1, 0, nil)
    attempts = Attempts()
  }

  /// A worker for a free processor. Whether it has joined the convoy is known after some looks: two show a stall.
  private mutating func trial(_ pool: PoolState, _ parallelism: Int, _ working: Int) -> Int? {
    if let then = before {
      then.looks > 1 ? before?.looks -= 1 : judge(pool, working, then)
      if before != nil { return nil }
    }
    pausing = max(0, pausing - 1)
    if pool.active >= parallelism || pausing > 0 { return nil }
    before = (pool.blocked, working, 3)
    return pool.active + 1
  }

  private mutating func judge(_ pool: PoolState, _ working: Int, _ then: (blocked: Int, working: Int, looks: Int)) {
    before = nil
    let works = pool.blocked <= then.blocked && working > then.working
    pause = works ? max(1, pause / 2) : min(2 * pause, Self.longestPause)
    pausing = works ? 0 : pause
  }

  /// Two for each that is blocked at first. Doubles as long as added workers block too; halves at every other tick without
  /// a stall, as it takes two ticks to see one.
  private func nextBurst(_ stalled: Int) -> Int {
    if stalled > 0 { return min(2 * max(stalled, burst), Self.largestBurst) }
    return burst & 1 == 0 ? (burst == 0 ? 0 : burst - 1) : burst / 2
  }
}

/// Whether a convoy gets more done if it is larger: counts, grows, lets the new ones settle, and counts again.
///
/// On a busy machine counts differ by chance. There a step is judged by three counts before it and three after it: it pays if the
/// least of these exceeds the greatest of those.
private struct Attempts {
  /// What makes a count: so many ends, and so much time.
  private static let enough = (ends: 64, time: 8_000_000 as UInt64)
  /// Counts between attempts that fail.
  private static let longestPause = 4096
  /// A tick that comes so late says that the machine is busy.
  private static let late: UInt64 = 3_000_000
  private static let countsIfBusy = 3

  private var ends = 0
  private var time: UInt64 = 0
  /// The counts since the last step, or pause: ends in a nanosecond.
  private var rates: (least: Double, greatest: Double)?
  private var counts = 0
  private var isBusy = false
  /// Before the last step: the size, and the ends in a nanosecond.
  private var before: (size: Int, rate: Double)?
  private var settles = false
  private var pause = 0
  private var pausing = 0

  /// How many workers to add now.
  mutating func next(size: Int, ended: Int, elapsed: UInt64) -> Int {
    ends += ended
    time &+= elapsed
    isBusy = isBusy || elapsed >= Self.late
    if ends < Self.enough.ends || time < Self.enough.time { return 0 }
    let rate = Double(ends) / Double(time)
    (ends, time) = (0, 0)
    if settles {
      settles = false
      return 0
    }
    let (least, greatest) = (min(rates?.least ?? rate, rate), max(rates?.greatest ?? rate, rate))
    rates = (least, greatest)
    counts += 1
    if isBusy, counts < Self.countsIfBusy { return 0 }
    (rates, counts, isBusy) = (nil, 0, false)
    if let before {
      let expected = Double(size) / Double(before.size) - 1
      // Half of what it would be if the new ones got as much done as the others.
      let pays = expected > 0 && least >= before.rate * (1 + expected / 2)
      self.before = nil
      pause = pays ? 0 : min(max(8, 8 * pause), Self.longestPause)
      pausing = pause
    }
    if pausing > 0 {
      pausing -= 1
      return 0
    }
    before = (size, greatest)
    settles = true
    return min(max(4, size / 4), Compensation.largestBurst)
  }
}
