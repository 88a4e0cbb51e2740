// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// How many workers the monitor adds in place of blocked ones, from tick to tick.
///
/// - Few are blocked: workers for all processors, and a burst beyond them that doubles while added ones block too.
/// - A crowd is blocked and no job has ended since there is one, or for `patience`: the jobs may wait for what is
///   pending; the same.
/// - A crowd is blocked and jobs end all the same: it waits for something that its members hand on, a lock or a
///   semaphore, and whoever is added joins it. One worker is tried when a processor is free, the next one after twice
///   the time; each look at which no processor is free makes that time a tick shorter.
///
/// A standstill that ends while the crowd stays had nothing to do with the workers that were added: the next one has to
/// last twice as long. Both are forgotten with the crowd.
struct Compensation {
  /// Most workers added at one tick beyond the processors.
  static let largestBurst = 64
  /// Whoever holds what the crowd waits for may be without a processor for as long.
  private static let shortestPatience: UInt64 = 16_000_000
  private static let longestPatience: UInt64 = 512_000_000
  /// Ticks between trials.
  private static let longestPause = 256

  private(set) var burst = 0
  /// How long no job has ended.
  private var standstill: UInt64 = 0
  /// 0 until a job has ended beside the crowd.
  private var patience: UInt64 = 0
  private var hasAddedToCrowd = false
  private var wasBlocked = 0
  private var pause = 1
  private var pausing = 0

  /// Whether the workers that were added last are being watched closely.
  var isGrowing: Bool { burst > 0 && patience == 0 }

  /// There is nothing to do: what has been noticed is over.
  mutating func rest() { self = Compensation() }

  /// - Parameters:
  ///   - stalled: Workers that have been found blocked at this tick.
  ///   - hasEnded: Whether a job has ended since the last tick.
  ///   - elapsed: The time since then.
  /// - Returns: how many workers should be active; nil for as many as there are.
  mutating func wanted(
    _ pool: PoolState, target: Int, stalled: Int, hasEnded: Bool, elapsed: UInt64
  ) -> Int? {
    let stuck = stalled + max(0, pool.blocked - stalled - wasBlocked)
    wasBlocked = pool.blocked
    standstill = hasEnded ? 0 : standstill &+ elapsed
    guard pool.isCrowd(target: target) else {
      (patience, hasAddedToCrowd, pause, pausing) = (0, false, 1, 0)
      burst = nextBurst(stalled)
      return target + burst
    }
    if hasEnded {
      patience = min(max(hasAddedToCrowd ? 2 * patience : patience, Self.shortestPatience), Self.longestPatience)
      hasAddedToCrowd = false
    } else if standstill >= patience {
      hasAddedToCrowd = true
      burst = nextBurst(stuck)
      return target + burst
    }
    burst = 0
    // Hardly anybody is known to work. With a lock that we do not see the one who holds it may be counted as blocked until
    // its job ends, so that is no reason by itself.
    if 2 * pool.active < target, standstill >= Self.shortestPatience { return pool.active + 1 }
    return trial(pool, target)
  }

  private mutating func trial(_ pool: PoolState, _ target: Int) -> Int? {
    if pool.active >= target {
      // One look may have met a hand-over, when two of them are awake.
      pause = max(1, pause - 1)
      pausing = min(pausing, pause)
      return nil
    }
    if pausing > 0 {
      pausing -= 1
      return nil
    }
    pause = min(2 * pause, Self.longestPause)
    pausing = pause
    return pool.active + 1
  }

  /// Doubles as long as added workers block too; halves at every other tick without a stall, as it takes two ticks to
  /// see one.
  private func nextBurst(_ stalled: Int) -> Int {
    if stalled > 0 { return min(max(8, burst * 2), Self.largestBurst) }
    return burst & 1 == 0 ? (burst == 0 ? 0 : burst - 1) : burst / 2
  }
}
