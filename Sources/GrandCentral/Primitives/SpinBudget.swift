// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// How long it pays to spin before sleep, learnt from whether spinning has paid lately.
///
/// A hit earns credit, a miss costs some. With credit left every wait spins its full time; without, one wait in
/// `probing` tries, so that better times are noticed. On one processor nobody spins.
struct SpinBudget: ~Copyable, Sendable {
  private static let full: Int32 = 24
  private static let reward: Int32 = 4
  private static let probing: Int32 = 16

  /// A: credit when positive; when not, the waits since the last trial.
  private let credit = Atomic<Int32>(SpinBudget.full)
  /// I
  private let rounds: Int

  /// - Parameter rounds: Looks per spin; between two looks about 100 ns pass.
  init(rounds: Int) { self.rounds = rounds }

  /// Looks again and again for a while. Nil if it would not pay, or has not.
  @inline(__always)
  borrowing func run<R>(_ look: () -> R?) -> R? {
    guard maySpin else { return nil }
    for _ in 0..<rounds {
      gc_pause()
      gc_pause()
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
    credit.store(now <= -Self.probing ? 1 : now - 1, ordering: .relaxed)
    return now <= -Self.probing
  }

  private func earn() {
    // relaxed: a running estimate.
    let now = credit.load(ordering: .relaxed)
    if now < Self.full { credit.store(min(Self.full, max(0, now) + Self.reward), ordering: .relaxed) }
  }

  private func pay() {
    // relaxed: a running estimate.
    credit.store(credit.load(ordering: .relaxed) - 1, ordering: .relaxed)
  }
}
