// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Waiting for something that another thread is about to do: the store that follows its exchange, say.
///
/// First the thread spins, a little longer each time. If the other one has not got on by then, it has no processor: the
/// thread sleeps, a little longer each time. It never yields: a yield hands the processor to whichever thread is next,
/// a neighbour's for a whole time slice, and a thread of higher priority that only yields can keep the other one from
/// running at all. On one processor the spinning is left out.
///
///     var backoff = Backoff()
///     while !condition { backoff.wait() }
struct Backoff: ~Copyable {
  private var step: UInt32 = 0

  /// 2 + 4 + … + 64 pauses, a few microseconds.
  private static let spins: UInt32 = 6
  private static let shortestNap: UInt64 = 20_000
  /// Naps double so many times.
  private static let doublings: UInt32 = 6

  @inline(__always)
  init() {}

  @inline(never)
  mutating func wait() {
    if step < Self.spins, Self.maySpin {
      step += 1
      for _ in 0..<(1 << step) { gc_pause() }
    } else {
      step = min(max(step, Self.spins) + 1, Self.spins + Self.doublings)
      Thread.sleep(nanoseconds: Self.shortestNap << UInt64(step - Self.spins - 1))
    }
  }

  /// 0 = nobody has asked, 1 = one processor, 2 = several.
  private static let processors = Atomic<UInt32>(0)

  /// Whether another thread can get on while this one spins.
  @inline(__always)
  static var maySpin: Bool {
    // relaxed: the number stands for itself.
    let known = processors.load(ordering: .relaxed)
    return known == 0 ? findOutSlow() : known == 2
  }

  @inline(never)
  private static func findOutSlow() -> Bool {
    let several = Topology.affinityCount != 1
    // relaxed: whoever finds it out finds the same.
    processors.store(several ? 2 : 1, ordering: .relaxed)
    return several
  }
}
