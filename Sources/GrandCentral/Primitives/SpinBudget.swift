// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// How long it pays to spin before sleep, learnt from whether spinning has paid lately.
///
/// A hit earns credit, a miss costs as much. With credit left every wait spins its full time. Without, one wait in
/// `interval` tries, so that better times are noticed; each trial that fails doubles the interval. So two threads that
/// answer each other within the spin stay awake, and a spin that is too short, or has no processor to itself, costs
/// next to nothing. On one processor nobody spins.
///
/// Every few microseconds a spinner yields: whom it waits for may have been put on this very processor, where the kernel
/// leaves it for milliseconds though another one is free.
///
/// A waiter's spin is worth its while only if it is longer than the wake-up that it would save: about 30 µs from one
/// processor to another that is halted, on a virtual machine.
struct SpinBudget: ~Copyable, Sendable {
  private static let full: Int32 = 16
  private static let start: Int32 = 8
  private static let reward: Int32 = 1
  private static let shortest: Int32 = 16
  private static let longest: Int32 = 512
  private static let roundsPerYield = 32

  /// For a thread that waits for another's answer: about 40 µs.
  static let answer = 400

  /// A: credit when positive; when not, the waits since the last trial.
  private let credit = Atomic<Int32>(SpinBudget.start)
  /// A: waits per trial while there is no credit.
  private let interval = Atomic<Int32>(SpinBudget.shortest)
  /// I
  private let rounds: Int

  /// - Parameter rounds: Looks per spin; between two looks about 100 ns pass.
  init(rounds: Int) { self.rounds = rounds }

  /// Looks again and again for a while. Nil if it would not pay, or has not.
  @inline(__always)
  borrowing func run<R>(_ look: () -> R?) -> R? {
    guard maySpin else { return nil }
    for round in 1...rounds {
      gc_pause()
      gc_pause()
      if round % Self.roundsPerYield == 0 { Thread.yield() }
      if let found = look() {
        earn()
        return found
      }
    }
    pay()
    return nil
  }

  private var maySpin: Bool {
    if !Backoff.maySpin { return false }
    // relaxed: a running estimate; lost updates do not matter.
    let now = credit.load(ordering: .relaxed)
    if now > 0 { return true }
    let tries = now <= -interval.load(ordering: .relaxed)
    credit.store(tries ? 0 : now - 1, ordering: .relaxed)
    return tries
  }

  private func earn() {
    // relaxed: a running estimate.
    let now = credit.load(ordering: .relaxed)
    if now < Self.full { credit.store(min(Self.full, max(0, now) + Self.reward), ordering: .relaxed) }
    if interval.load(ordering: .relaxed) != Self.shortest { interval.store(Self.shortest, ordering: .relaxed) }
  }

  private func pay() {
    // relaxed: a running estimate.
    let now = credit.load(ordering: .relaxed)
    credit.store(max(0, now - 1), ordering: .relaxed)
    if now <= 0 { interval.store(min(Self.longest, interval.load(ordering: .relaxed) * 2), ordering: .relaxed) }
  }
}
