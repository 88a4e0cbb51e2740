// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A record of the insight region that one thread changes while others look: odd while it changes, and another even number
/// afterwards. The writer never waits; a reader that looks at the wrong moment looks again.
struct InsightSequence {
  /// How often a reader looks again before it gives up.
  private static let attempts = 1_000

  private let word: UnsafeMutablePointer<Atomic<UInt32>>

  @inline(__always)
  init(_ word: UnsafeMutablePointer<Atomic<UInt32>>) { self.word = word }

  /// Changes what belongs together. One thread at a time does.
  @inline(__always)
  func change(_ body: () -> Void) {
    // relaxed: the writer's own.
    let seen = word.pointee.load(ordering: .relaxed)
    // acquire, and an exchange: what is changed below stays behind the odd number, so a reader that has seen a change sees
    // that.
    // pairs with: change – publishes nothing: the writer's own
    _ = word.pointee.exchange(seen &+ 1, ordering: .acquiring)
    body()
    // pairs with: whole, readers in other processes – publishes the change
    word.pointee.store(seen &+ 2, ordering: .releasing)
  }

  /// What `read` returns, if nothing has changed meanwhile; nil if something does each time.
  func whole<T>(_ read: () -> T) -> T? {
    for _ in 0..<Self.attempts {
      // pairs with: change – publishes what was changed before
      let before = word.pointee.load(ordering: .acquiring)
      if before & 1 == 0 {
        let value = read()
        // release, and an addition of nothing: what was read stays before it, so a reader that has read a change sees the odd
        // number.
        // pairs with: change – publishes nothing
        if word.pointee.wrappingAdd(0, ordering: .releasing).oldValue == before { return value }
      }
      Thread.pause()
    }
    return nil
  }
}
