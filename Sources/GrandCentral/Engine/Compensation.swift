// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// How many workers the monitor adds in place of blocked ones, from tick to tick. There are three cases.
///
/// - Few workers are blocked. There is one worker for each processor, and a burst beyond them, which doubles while the added
///   workers block too.
/// - A convoy is blocked, and no job has ended since it began, or for `patience`. Its members may wait for pending work.
///   Workers are added as in the first case.
/// - A convoy is blocked, and jobs end all the same. Its members may wait for something that they hand on, a lock or a
///   semaphore: then an added worker joins them. Or each of them waits for something of its own: then more workers get more
///   done. So the monitor tries it out: it counts how many jobs end in a time, adds some workers, and counts again. If the
///   count has not grown with the workers, the next attempt comes after eight times as long.
///
/// In the third case a processor may be free beside the convoy. One worker is added for it. If that worker is seen to work,
/// the next one is added at once. If it has joined the convoy, the next one is added after a pause that doubles.
///
/// If a standstill ends while the convoy stays, the workers that were added have not ended it: the next standstill has to last
/// twice as long, unless hardly any worker is active. When the convoy ends, all of this is reset.
struct Compensation {
  /// Most workers added at one tick beyond the processors.
  static let largestBurst = 64
  /// The worker that holds what the convoy waits for may be without a processor for this long.
  private static let shortestPatience: UInt64 = 16_000_000
  private static let longestPatience: UInt64 = 512_000_000
  /// Ticks between workers for free processors.
  private static let longestPause = 256

  private var burst = 0
  /// How many workers beyond the processors may look for jobs: the added ones, and the members of a convoy that are back.
  private(set) var allowance = 0
  /// How long no job has ended, in processor time that a worker has got. On a loaded machine the worker that holds what the
  /// convoy waits for gets little processor time, and an added worker would wait as well.
  private var standstill: UInt64 = 0
  /// How long a standstill has to last before workers are added; 0 until a job has ended beside the convoy.
  private var patience: UInt64 = 0
  private var hasAddedToConvoy = false
  private var isFirst = true

  private var pause = 1
  private var pausing = 0
  /// What was counted when a worker was added for a free processor, and how many looks are left until it is judged.
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
    /// Workers that were in their jobs at the last tick too, and compute, or wait for a processor.
    var computing = 0
    /// Jobs that have ended, and are no more urgent than what is pending.
    var ended = 0
    /// Whether a job has been started.
    var hasStarted = false
    /// The most processor time that any one of the working workers has had. Nil if none of them was there all the time.
    var granted: UInt64?
  }

  /// - Parameter elapsed: The time since the last tick.
  /// - Returns: how many workers should be active; nil for as many as there are.
  @_optimize(size)
  mutating func wanted(_ pool: PoolState, parallelism: Int, _ findings: Findings, elapsed: UInt64) -> Int? {
    // At the first look it is not known when these jobs have ended.
    let ended = isFirst ? 0 : findings.ended
    isFirst = false
    // No worker was in its job all the time, but one is active: on the way into a job, or out of a wait that is over.
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
    // If the convoy waits for a lock that we do not see, the lock's holder may be counted as blocked until its job ends. So it
    // is no reason by itself that hardly any worker is active.
    if 2 * pool.active < parallelism, standstill >= Self.shortestPatience { return pool.active + 1 }
    return trial(pool, parallelism, findings.working)
  }

  /// No more than `most` workers are added at this tick, and the burst does not double beyond them.
  mutating func hold(to most: Int) { burst = min(burst, most) }

  @_optimize(size)
  private mutating func forgetConvoy() {
    (patience, hasAddedToConvoy, pause, pausing, before) = (0, false, 1, 0, nil)
    attempts = Attempts()
  }

  /// Adds a worker for a free processor. Some looks later it is known whether it has joined the convoy: a stall takes two to
  /// show.
  @_optimize(size)
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

  @_optimize(size)
  private mutating func judge(_ pool: PoolState, _ working: Int, _ then: (blocked: Int, working: Int, looks: Int)) {
    before = nil
    let works = pool.blocked <= then.blocked && working > then.working
    pause = works ? max(1, pause / 2) : min(2 * pause, Self.longestPause)
    pausing = works ? 0 : pause
  }

  /// At first two for each blocked worker. Doubles as long as added workers block too; halves at every other tick without a
  /// stall, because it takes two ticks to see one.
  @_optimize(size)
  private func nextBurst(_ stalled: Int) -> Int {
    if stalled > 0 { return min(2 * max(stalled, burst), Self.largestBurst) }
    return burst & 1 == 0 ? (burst == 0 ? 0 : burst - 1) : burst / 2
  }
}

/// Finds out whether a larger convoy gets more done: counts, grows, lets the new workers settle, and counts again.
///
/// On a loaded machine counts differ by chance. There three counts before a step are compared with three after it: the step
/// pays if the least of the later ones exceeds the greatest of the earlier ones.
private struct Attempts {
  /// A count is complete after so many ends and so much time.
  private static let enough = (ends: 64, time: 8_000_000 as UInt64)
  /// Counts between attempts that fail.
  private static let longestPause = 4096
  /// A tick that comes this late shows that the machine is loaded.
  private static let late: UInt64 = 3_000_000
  private static let countsIfBusy = 3

  private var ends = 0
  private var time: UInt64 = 0
  /// The least and the greatest count since the last step or pause, in ends per nanosecond.
  private var rates: (least: Double, greatest: Double)?
  private var counts = 0
  private var isBusy = false
  /// Before the last step: the size, and the ends per nanosecond.
  private var before: (size: Int, rate: Double)?
  private var settles = false
  private var pause = 0
  private var pausing = 0

  /// How many workers to add now.
  @_optimize(size)
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
      // Half of the growth that there would be if the new workers got as much done as the others.
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
