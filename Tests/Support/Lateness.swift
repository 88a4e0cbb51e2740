// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// By how much the machine keeps a thread waiting that owes nothing to what is under test: a thread of its own sleeps for a
/// millisecond again and again. A bar for a time adds as many of that as threads must wake up one after another.
public final class Lateness: Sendable {
  private let most = Atomic<UInt64>(0)
  private let isOver = Atomic(false)
  private let thread = Guarded<PlainThread?>(nil)

  public init() {
    thread.with { $0 = PlainThread { self.measure() } }
  }

  private func measure() {
    // relaxed: only tells when to end.
    while !isOver.load(ordering: .relaxed) {
      let start = monotonicNanoseconds()
      usleep(1_000)
      // relaxed: read when this thread has ended.
      most.max(monotonicNanoseconds() - start - 1_000_000, ordering: .relaxed)
    }
  }

  /// The most, in milliseconds, rounded up. Ends the measurement.
  public func end() -> Int {
    // relaxed: as above.
    isOver.store(true, ordering: .relaxed)
    thread.with { $0.take()?.join() }
    return Int(most.load(ordering: .relaxed) / 1_000_000) + 1
  }
}
