// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// A mutual exclusion lock of one word, for the cold paths.
//
//   | word      | means                                                      |
//   |-----------|------------------------------------------------------------|
//   | free      | no thread holds it                                         |
//   | held      | a thread holds it, no thread sleeps for it                 |
//   | contended | a thread holds it, and there may be sleepers on the futex  |
//
// Lock.L1  The thread that changes the word from `free` holds the lock; only the holder makes it `free`.
// Lock.L2  While a thread sleeps on the futex the word is `contended`, or a wake-up is under way.
// Lock.L3  After the exchange in `unlock` the lock's memory is not touched: the next holder may have destroyed it. The
//     wake-up goes by address alone and, if that memory serves something else by then, is one more spurious wake-up.
//
// lock     1  free → held; done                         unlock   1  word → free
//          2  spin while `held`, take it when `free`             2  it was `contended`: wake one
//          3  word → contended; it was `free`: done
//          4  sleep while `contended`; go to 3
//
// A thread that has slept takes the lock as `contended`, because it cannot know whether others still sleep: at worst the next
// unlock wakes no thread. The lock is not fair, on purpose: handing it over would cost a context switch each time.
//
// Rejected: a ticket lock (one ticket holder that sleeps stops all others), a lock with priority inheritance (needs the kernel
// for each contended operation; nothing is run while one of our locks is held).
struct Lock: ~Copyable, Sendable {
  private let word = Atomic<UInt32>(State.free)

  private enum State {
    static let free: UInt32 = 0
    static let held: UInt32 = 1
    static let contended: UInt32 = 2
  }

  private static let spins = 100
  /// How long `makeWay` waits for the thread that it has woken, in pauses: some ten microseconds.
  private static let patience = 400

  @inline(__always)
  init() {}

  @inline(__always)
  borrowing func lock() {
    if !tryLock() { lockSlow() }
  }

  /// As `lock`, and a thread of a simulation waits in the kernel as well; for `ProcessLock`.
  @inline(__always)
  borrowing func lockInKernel() {
    if !tryLock() { lockInKernelSlow() }
  }

  /// Takes the lock if it is free.
  @inline(__always)
  borrowing func tryLock() -> Bool {
    // relaxed: a failed attempt reads nothing that the lock guards.
    // pairs with: unlock – publishes what the lock guards
    word.compareExchange(
      expected: State.free, desired: State.held, successOrdering: .acquiring, failureOrdering: .relaxed
    ).exchanged
  }

  @inline(__always)
  borrowing func unlock() {
    let address = self.address
    // pairs with: tryLock, lockSlow – publishes what the lock guards
    if word.exchange(State.free, ordering: .releasing) == State.contended { Self.wakeSlow(address) }
  }

  /// The holder, in a long piece of work, lets the threads that sleep for the lock go first, and takes the lock again.
  ///
  /// The lock is not fair: if the holder did not wait a moment, it would have the lock again before the thread that it has
  /// woken runs.
  @inline(never)
  borrowing func makeWay() {
    // relaxed: a hint; a thread that comes now is served the next time.
    if word.load(ordering: .relaxed) != State.contended { return }
    unlock()
    for _ in 0..<Self.patience where Backoff.maySpin {
      // relaxed: a hint about another thread's step.
      if word.load(ordering: .relaxed) != State.free { break }
      gc_pause()
    }
    lock()
  }

  @inline(__always)
  borrowing func withLock<R: ~Copyable>(_ body: () -> R) -> R {
    lock()
    defer { unlock() }
    return body()
  }

  @inline(never)
  private borrowing func lockSlow() {
    if spin() { return }
    let address = self.address
    World.goBeyondOrders(.locks)
    // pairs with: unlock – publishes what the lock guards
    while word.exchange(State.contended, ordering: .acquiring) != State.free {
      _ = Futex.wait(address, while: State.contended)
    }
  }

  @inline(never)
  private borrowing func lockInKernelSlow() {
    if spin() { return }
    let address = self.address
    // pairs with: unlock – publishes what the lock guards
    while word.exchange(State.contended, ordering: .acquiring) != State.free {
      Futex.waitInKernel(address, while: State.contended)
    }
  }

  /// Spins for a holder that is about to leave. If there are sleepers, spinning is not worth it.
  private borrowing func spin() -> Bool {
    guard Backoff.maySpin else { return false }
    for _ in 0..<Self.spins {
      // relaxed: a hint, `tryLock` decides.
      let seen = word.load(ordering: .relaxed)
      if seen == State.free, tryLock() { return true }
      if seen == State.contended { return false }
      gc_pause()
    }
    return false
  }

  @inline(never)
  private static func wakeSlow(_ address: UnsafeRawPointer) {
    Futex.wake(address)
  }

  /// unsafe: an atomic stays where it is as long as its owner lives.
  @inline(__always)
  private var address: UnsafeRawPointer { _withUnprotectedUnsafePointer(to: word) { UnsafeRawPointer($0) } }
}
