// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// The processor's counter, for pacing: it is read in some ten nanoseconds, without a call.
///
/// Its pace differs between machines: some 2 to 5 GHz on x86, 24 MHz to 1 GHz on ARM. Where the architecture does not tell,
/// it is measured against the uptime clock, between two moments that the program passes anyway. Until they are far enough
/// apart, a guess stands in.
enum Cycles {
  private static let guess: UInt64 = 2_500_000
  /// The least distance of the two moments. Reading a pair of clocks is exact to some hundred nanoseconds.
  private static let baseline: UInt64 = 200_000

  /// The counter's steps in a millisecond; 0 while they are not known.
  private static let pace = Atomic<UInt64>(0)
  /// The first moment, by both clocks; 0 before it. The counter's reading is written last.
  private static let firstUptime = Atomic<UInt64>(0)
  private static let firstCount = Atomic<UInt64>(0)

  @inline(__always)
  static var now: UInt64 { gc_cycles() }

  /// How many steps the counter makes in a millisecond.
  @inline(__always)
  static var perMillisecond: UInt64 {
    // relaxed: a number by itself.
    let known = pace.load(ordering: .relaxed)
    return known != 0 ? known : perMillisecondSlow()
  }

  /// In a simulation every measured time counts as long, so that nothing depends on how long something took.
  static func countAsLong(_ long: Bool) {
    // relaxed: a number by itself; 0 makes the next user measure it anew.
    pace.store(long ? 1 : 0, ordering: .relaxed)
  }

  @inline(never)
  private static func perMillisecondSlow() -> UInt64 {
    let told = gc_cycles_per_second() / 1_000
    if told != 0 {
      // relaxed: a number by itself; every thread finds the same.
      pace.store(told, ordering: .relaxed)
      return told
    }
    let (count, uptime) = moment()
    // pairs with: perMillisecondSlow – publishes the first moment's uptime
    let first = firstCount.load(ordering: .acquiring)
    if first == 0 {
      // relaxed: published by the count. Of two threads at once, the first one's moment counts for both.
      if firstUptime.compareExchange(expected: 0, desired: uptime, ordering: .relaxed).exchanged {
        // pairs with: perMillisecondSlow – publishes the first moment's uptime
        firstCount.store(count, ordering: .releasing)
      }
      return guess
    }
    // relaxed: acquired with the count.
    guard let measured = steps(from: (first, firstUptime.load(ordering: .relaxed)), to: (count, uptime)) else {
      return guess
    }
    // relaxed: a number by itself.
    pace.store(measured, ordering: .relaxed)
    return measured
  }

  /// The counter's steps in a millisecond by two moments; nil if they are too near to each other to say.
  static func steps(from first: (count: UInt64, uptime: UInt64), to second: (count: UInt64, uptime: UInt64)) -> UInt64?
  {
    guard second.uptime > first.uptime, second.count > first.count else { return nil }
    let elapsed = second.uptime - first.uptime
    if elapsed < baseline { return nil }
    let rate = Double(second.count - first.count) / Double(elapsed) * 1e6
    return max(1, UInt64(min(rate, 1e9)))
  }

  /// Both clocks at one moment: between two readings of the counter that lie close together, so that a thread which is
  /// preempted between the readings tries again.
  static func moment() -> (count: UInt64, uptime: UInt64) {
    var best = (count: UInt64(0), uptime: UInt64(0))
    var nearest = UInt64.max
    for _ in 0..<4 {
      let before = gc_cycles()
      let uptime = Clock.uptime.now()
      let distance = gc_cycles() &- before
      if distance < nearest {
        nearest = distance
        best = (before &+ distance / 2, uptime)
      }
    }
    return best
  }
}
