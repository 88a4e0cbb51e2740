// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Waiting for something that another thread is about to do: the store that follows its exchange, say.
///
/// First the thread spins, a little longer each time; then it gives up its processor, for the other one may need it;
/// in the end it sleeps, because a thread of higher priority that only yields can keep the other one from running at
/// all. On one processor the spinning is left out.
///
///     var backoff = Backoff()
///     while !condition { backoff.wait() }
struct Backoff: ~Copyable {
  private var step: UInt32 = 0

  /// 2 + 4 + … + 64 pauses, a few microseconds.
  private static let spins: UInt32 = 6
  private static let yields: UInt32 = 64
  private static let nap: UInt64 = 50_000

  @inline(__always)
  init() {}

  @inline(never)
  mutating func wait() {
    if step < Self.spins, Self.maySpin {
      step += 1
      for _ in 0..<(1 << step) { gc_pause() }
    } else if step < Self.spins + Self.yields {
      step = max(step, Self.spins) + 1
      Thread.yield()
    } else {
      Thread.sleep(nanoseconds: Self.nap)
    }
  }

  /// A: 0 = nobody has asked, 1 = one processor, 2 = several.
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
