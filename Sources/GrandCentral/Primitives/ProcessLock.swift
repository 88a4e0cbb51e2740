// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A lock that all threads of the process share, those of a simulation with those beside it.
///
/// Where no simulation goes on it is a `Lock`. In a simulation one thread goes on at a time, and a thread that waits for another one
/// lets it have the turn. But the holder of this lock may be a thread that takes no part, and needs no turn: so a simulated thread
/// waits for it in the kernel, and keeps the turn.
///
/// ProcessLock.P1  A simulated thread that holds it neither waits for its turn nor reaches a point where another one may get it:
///     under it nothing is recorded, no thread is woken or started, and no other lock is taken but one like it.
struct ProcessLock: ~Copyable, Sendable {
  private let inner = Lock()

  @inline(__always)
  init() {}

  @inline(__always)
  borrowing func lock() { inner.lockInKernel() }

  /// Takes the lock if it is free.
  @inline(__always)
  borrowing func tryLock() -> Bool { inner.tryLock() }

  @inline(__always)
  borrowing func unlock() { inner.unlock() }

  @inline(__always)
  borrowing func withLock<R: ~Copyable>(_ body: () -> R) -> R {
    lock()
    defer { unlock() }
    return body()
  }
}
