// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchSupport
import Synchronization

/// Closed until somebody opens it. Belongs to neither side, so that waiting for the end of a run costs both the same.
public final class Latch: Sendable {
  private let word = Atomic<UInt32>(0)

  public init() {}

  public func open() {
    // pairs with: wait – publishes what the opener did before
    word.store(1, ordering: .releasing)
    // unsafe: the opener holds a reference to self, and with it the word
    withUnsafePointer(to: word) { bench_futex_wake_all($0) }
  }

  public func wait() {
    // pairs with: open – publishes what the opener did before
    while word.load(ordering: .acquiring) == 0 {
      withUnsafePointer(to: word) { bench_futex_wait($0, 0) }
    }
  }
}

/// Opens its latch at the last of a number of arrivals.
public final class Countdown: Sendable {
  private let left: Atomic<Int>
  private let latch = Latch()

  public init(_ count: Int) {
    left = Atomic(count)
  }

  public func arrive() {
    // pairs with: the other arrivals – publishes what each did before to the one that opens the latch
    if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { latch.open() }
  }

  public func wait() {
    latch.wait()
  }
}
