// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc

/// The processor's counter as time: nanoseconds of CLOCK_MONOTONIC.
///
/// Two pairs of both clocks make a line: the region's own, from when it was made, and one that the tool reads. The line does not
/// change afterwards, so the order of events and the lengths between them are exact, whatever the clocks do.
struct RegionClock {
  struct Pair {
    let counter: UInt64
    let uptime: UInt64
  }

  private let base: Pair
  private let nanosecondsPerStep: Double

  /// A shorter line would have the wrong slope: the two clocks are read some 50 ns apart.
  private static let shortest: UInt64 = 20_000_000

  /// Read when the tool began.
  static let start = now()

  init(counter: UInt64, uptime: UInt64) {
    let (first, own) = (Pair(counter: counter, uptime: uptime), Self.start)
    var now = Self.now()
    // A pair that cannot be true is ignored.
    let isUsable = first.counter < now.counter && first.uptime < now.uptime
    let from = isUsable && first.uptime < own.uptime ? first : own
    if now.uptime - from.uptime < Self.shortest {
      Self.pause()
      now = Self.now()
    }
    let rate = Self.rate(from, now)
    // Counters of processors count between once a microsecond and ten times a nanosecond.
    self.init(base: now, nanosecondsPerStep: (0.1...1000).contains(rate) ? rate : Self.rate(own, now))
  }

  init(base: Pair, nanosecondsPerStep: Double) {
    self.base = base
    self.nanosecondsPerStep = nanosecondsPerStep
  }

  private static func rate(_ first: Pair, _ second: Pair) -> Double {
    Double(second.uptime &- first.uptime) / Double(max(1, second.counter &- first.counter))
  }

  /// The time at a counter; what lies before the machine's start is its start.
  func nanoseconds(at counter: UInt64) -> UInt64 {
    // The difference may be anything, as the counter may: 2^62 ns are more than a century.
    let steps = Double(Int64(bitPattern: counter &- base.counter))
    let offset = (steps * nanosecondsPerStep).rounded()
    guard abs(offset) < 0x1p61 else { return offset < 0 ? 0 : 1 << 62 }
    return UInt64(max(0, Int64(base.uptime) + Int64(offset)))
  }

  /// How many steps so long a time has.
  func steps(nanoseconds: Double) -> UInt64 { UInt64(min(max(0, nanoseconds / nanosecondsPerStep), 0x1p62)) }

  /// How long so many steps take.
  func nanoseconds(steps: UInt64) -> UInt64 {
    let length = (Double(steps) * nanosecondsPerStep).rounded()
    return length >= 0x1p62 ? 1 << 62 : UInt64(length)
  }

  /// Lets the clocks run. A signal ends this early, and the line is made of the time that has passed.
  private static func pause() {
    var length = timespec(tv_sec: 0, tv_nsec: Int(shortest))
    nanosleep(&length, nil)
  }

  /// Both clocks, read as close together as can be.
  static func now() -> Pair {
    var best = Pair(counter: 0, uptime: 0)
    var closest = UInt64.max
    for _ in 0..<8 {
      var time = timespec()
      let before = gc_cycles()
      clock_gettime(CLOCK_MONOTONIC, &time)
      let after = gc_cycles()
      let gap = after &- before
      if gap < closest {
        closest = gap
        best = Pair(
          counter: before &+ gap / 2, uptime: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
      }
    }
    return best
  }
}
