// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Where one thread of the real world waits until another one tells it to go on: what threads of a simulation hand to each other.
final class Baton: Sendable {
  private let word = Atomic<UInt32>(Baton.empty)

  private static let empty: UInt32 = 0
  private static let token: UInt32 = 1
  private static let asleep: UInt32 = 2

  /// The waiter goes on, now or when it comes to wait.
  func pass() {
    // pairs with: take – publishes what the calling thread has done
    if word.exchange(Self.token, ordering: .releasing) == Self.asleep {
      _ = _withUnprotectedUnsafePointer(to: word) { gc_futex_wake($0, 1) }
    }
  }

  /// Waits for one `pass`. One thread at a time.
  func wait() {
    while !fallAsleep() {
      _ = _withUnprotectedUnsafePointer(to: word) { gc_futex_wait($0, Self.asleep, nil) }
    }
  }

  /// As `wait`, for so long at most.
  ///
  /// - Returns: false if the time has passed.
  func wait(nanoseconds: UInt64) -> Bool {
    let instant = gc_clock_uptime() + nanoseconds
    var deadline = timespec(tv_sec: Int(instant / 1_000_000_000), tv_nsec: Int(instant % 1_000_000_000))
    while !fallAsleep() {
      if gc_clock_uptime() >= instant { return false }
      _ = _withUnprotectedUnsafePointer(to: word) { gc_futex_wait($0, Self.asleep, &deadline) }
    }
    return true
  }

  private func take() -> Bool {
    // relaxed: a look; the exchange acquires.
    if word.load(ordering: .relaxed) != Self.token { return false }
    // pairs with: pass – publishes what the thread has done that ran before
    return word.exchange(Self.empty, ordering: .acquiring) == Self.token
  }

  /// Says that the thread sleeps, or takes the token that is there; true for the latter.
  private func fallAsleep() -> Bool {
    // relaxed: marking takes nothing over. The exchange fails because of a token, or of the mark of an earlier round.
    _ = word.compareExchange(expected: Self.empty, desired: Self.asleep, ordering: .relaxed)
    return take()
  }

  /// Starts a thread in the real world, also where the calling one is in the simulated one.
  static func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
    let box = Unmanaged.passRetained(BodyBox(body: body))
    let entry: Thread.Body = { raw in
      // unsafe: retained above, for this thread.
      Unmanaged<BodyBox>.fromOpaque(raw!).takeRetainedValue().body()
    }
    if gc_thread_start(entry, box.toOpaque(), 0) == 0 { return true }
    box.release()
    return false
  }
}

private final class BodyBox: Sendable {
  let body: @Sendable () -> Void
  init(body: @escaping @Sendable () -> Void) { self.body = body }
}
