// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Waiting for something that another thread is about to do: the store that follows its exchange, say.
///
/// First the thread spins, a little longer each time. If the other thread has not got on by then, it has no processor: this
/// one sleeps, a little longer each time. It never yields. A yield hands the processor to whichever thread is next, perhaps
/// another program's, for a whole time slice; and a thread of higher priority that only yields can keep the other one from
/// running at all. On one processor it does not spin.
///
///     var backoff = Backoff()
///     while !condition { backoff.wait() }
struct Backoff: ~Copyable {
  private var step: UInt32 = 0

  /// 2 + 4 + … + 64 pauses, a few microseconds.
  private static let spins: UInt32 = 6
  /// A lost exchange costs up to 512 pauses, 5 to 20 µs: the time in which some sixty processors have the line in turn.
  private static let mostLosses: UInt32 = 9
  private static let shortestNap: UInt64 = 20_000
  /// Naps double so many times.
  private static let doublings: UInt32 = 6

  @inline(__always)
  init() {}

  @inline(never)
  mutating func wait() {
    if step < Self.spins, Self.maySpin {
      step += 1
      spin()
    } else {
      step = min(max(step, Self.spins) + 1, Self.spins + Self.doublings)
      Thread.sleep(nanoseconds: Self.shortestNap << UInt64(step - Self.spins - 1))
    }
  }

  /// After an exchange that was lost: another thread has got on, and there is nothing to sleep for. Threads that all try again at once
  /// take the line away from each other, and from the one that has to write it next.
  @inline(never)
  mutating func pause() {
    step = min(step + 1, Self.mostLosses)
    spin()
  }

  private func spin() { for _ in 0..<(1 << step) { gc_pause() } }

  /// 0 = not asked yet, 1 = one processor, 2 = several.
  private static let processors = Atomic<UInt32>(0)

  /// Whether another thread can get on while this one spins.
  @inline(__always)
  static var maySpin: Bool {
    // relaxed: the number stands for itself.
    let known = processors.load(ordering: .relaxed)
    return known == 0 ? findOutSlow() : known == 2
  }

  /// Whether spinning is left out whatever the machine: in a simulation nobody gets on beside a thread that spins.
  static func neverSpin(_ never: Bool) {
    // relaxed: the number stands for itself; 0 has it found out anew.
    processors.store(never ? 1 : 0, ordering: .relaxed)
  }

  @inline(never)
  private static func findOutSlow() -> Bool {
    let several = Topology.affinityCount != 1
    // relaxed: every thread that finds it out finds the same.
    processors.store(several ? 2 : 1, ordering: .relaxed)
    return several
  }
}
