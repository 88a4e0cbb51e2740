// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// How long a test waits before it calls a promise broken. A failure guard, never a means to synchronise.
public enum Patience {
  public static let seconds: Double = getenv("GC_TEST_PATIENCE").flatMap { Double(String(cString: $0)) } ?? 120
}

/// Counts down; the waiting threads go on once it has reached zero.
///
/// It stands on a POSIX condition variable alone, so it owes nothing to what is under test, and a queue
/// item that waits here blocks in a way that the engine cannot see.
public final class Latch: @unchecked Sendable {  // why: `count` is only touched under `mutex`
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var count: Int

  public init(_ count: Int = 1) {
    self.count = count
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// One step towards zero; steps beyond it are ignored.
  public func open() {
    pthread_mutex_lock(mutex)
    count -= 1
    if count <= 0 { pthread_cond_broadcast(condition) }
    pthread_mutex_unlock(mutex)
  }

  public var isOpen: Bool {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return count <= 0
  }

  /// False when patience ran out first.
  @discardableResult
  public func wait(seconds: Double = Patience.seconds) -> Bool {
    var deadline = timespec(nanoseconds: monotonicNanoseconds() + UInt64(seconds * 1e9))
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while count > 0 {
      if pthread_cond_timedwait(condition, mutex, &deadline) == ETIMEDOUT { return count <= 0 }
    }
    return true
  }
}

extension timespec {
  public init(nanoseconds: UInt64) {
    self.init(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  }
}

/// The clock that `DispatchTime` stands on.
public func monotonicNanoseconds() -> UInt64 {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}

/// The processor time that the calling thread has used.
public func threadNanoseconds() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Seconds that `body` takes.
public func measureSeconds(_ body: () -> Void) -> Double {
  let start = monotonicNanoseconds()
  body()
  return Double(monotonicNanoseconds() - start) / 1e9
}

/// Polls, ever more slowly, until `condition` holds; false when patience ran out first.
public func eventually(seconds: Double = Patience.seconds, _ condition: () -> Bool) -> Bool {
  let deadline = monotonicNanoseconds() + UInt64(seconds * 1e9)
  var turns = 0
  while !condition() {
    if monotonicNanoseconds() > deadline { return condition() }
    turns += 1
    if turns < 50 { sched_yield() } else { usleep(turns < 500 ? 100 : 2_000) }
  }
  return true
}
