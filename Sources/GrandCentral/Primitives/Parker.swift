// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Where one thread waits for one token that any other thread may leave.
//
//   | word   | means                                            |
//   |--------|--------------------------------------------------|
//   | empty  | no token, no thread sleeps                       |
//   | token  | the next `park` returns at once                  |
//   | parked | the owner sleeps on the futex, or is about to    |
//
// Parker.K1  One thread parks; any thread unparks. Tokens do not add up: two unparks before a park are one.
// Parker.K2  `park` returns true exactly if it took a token, and then sees all that the unparker wrote before.
// Parker.K3  The exchange is the unparker's last access to the parker's memory: the parked thread may see the token, return
//     and pop the stack frame that holds the parker. The wake-up goes by address alone.
// Parker.K4  A park that gives up takes its `parked` mark back first: an unparker that comes later finds `empty`.
//
// park     1  token → empty: done          unpark   1  word → token
//          2  empty → parked                        2  it was `parked`: wake one
//          3  sleep while `parked`
//          4  token → empty: done; deadline passed: parked → empty, else go to 3
//
// Rejected: the thread's own pthread condition (two words, a mutex, and a destroy that waits for the last signaller).
struct Parker: ~Copyable, Sendable {
  private let word = Atomic<UInt32>(State.empty)

  enum State {
    static let empty: UInt32 = 0
    static let token: UInt32 = 1
    static let parked: UInt32 = 2
  }

  @inline(__always)
  init() {}

  /// Waits for a token. Only ever called by one thread at a time.
  ///
  /// Blocking: until a token is there or the deadline has passed.
  /// - Parameter spin: How many times to look, a pause between, before the thread sleeps. 0 on a machine with one
  ///   processor, whatever is asked for.
  /// - Returns: false when the deadline passed without a token.
  @inline(__always)
  borrowing func park(until deadline: Deadline? = nil, spin: Int = 0) -> Bool {
    tryConsume() || parkSlow(deadline, spin)
  }

  /// Takes the token if there is one.
  @inline(__always)
  borrowing func tryConsume() -> Bool {
    // seq-cst: a sleeper raises a flag and then looks here, its waker leaves a token and then looks at the flag. If the two
    // looks could pass the two writes, both would find nothing.
    if word.load(ordering: .sequentiallyConsistent) != State.token { return false }
    // pairs with: unpark – publishes what the unparker wrote, also if its token has come since the load: two tokens are one
    // (Parker.K1). It releases nothing: an unparker that finds the word empty learns nothing from it.
    return word.exchange(State.empty, ordering: .acquiring) == State.token
  }

  /// Whether a token is there, for a thread that does not take it.
  var hasToken: Bool {
    // seq-cst: see `tryConsume`.
    word.load(ordering: .sequentiallyConsistent) == State.token
  }

  /// Waits as `park` does, and leaves the token where it is, so that others see by `hasToken` that it has come.
  borrowing func awaitToken(until deadline: Deadline? = nil) -> Bool {
    while !hasToken {
      // relaxed: marking takes nothing over. The exchange fails because of a token, or of the mark of an earlier round.
      _ = word.compareExchange(expected: State.empty, desired: State.parked, ordering: .relaxed)
      if Futex.wait(address, while: State.parked, until: deadline) || hasToken { continue }
      // relaxed: withdrawing takes nothing over. The exchange fails only because of a token, which stays.
      if word.compareExchange(expected: State.parked, desired: State.empty, ordering: .relaxed).exchanged {
        return false
      }
    }
    return true
  }

  /// Takes whatever is there: in a child of fork, the word of a thread that sleeps in the parent. No thread may be parked.
  borrowing func reset() {
    // pairs with: unpark – publishes what the unparker wrote before
    _ = word.exchange(State.empty, ordering: .acquiring)
  }

  /// Leaves a token and wakes the parked thread, if there is one. Any thread.
  @inline(__always)
  borrowing func unpark() {
    // unsafe: Parker.K3, the address is taken before the exchange and used as a number afterwards.
    let address = self.address
    // seq-cst: see `tryConsume`; the release publishes what the unparker wrote before.
    if word.exchange(State.token, ordering: .sequentiallyConsistent) == State.parked { Self.wakeSlow(address) }
  }

  /// Spins for a token, without ever sleeping, as far as `budget` thinks it pays.
  @inline(__always)
  borrowing func waitBriefly(_ budget: borrowing SpinBudget) -> Bool {
    if tryConsume() { return true }
    return budget.run { tryConsume() ? true : nil } ?? false
  }

  @inline(never)
  private borrowing func parkSlow(_ deadline: Deadline?, _ spin: Int) -> Bool {
    if spin > 0, Backoff.maySpin {
      for _ in 0..<spin {
        gc_pause()
        if tryConsume() { return true }
      }
    }
    // relaxed: marking takes nothing over. The exchange fails only because of a token, and `tryConsume` acquires that.
    let (marked, _) = word.compareExchange(expected: State.empty, desired: State.parked, ordering: .relaxed)
    if !marked { return tryConsume() }
    return sleep(deadline)
  }

  private borrowing func sleep(_ deadline: Deadline?) -> Bool {
    let address = self.address
    while true {
      let inTime = Futex.wait(address, while: State.parked, until: deadline)
      if tryConsume() { return true }
      if inTime { continue }
      // relaxed: withdrawing takes nothing over. The exchange fails only because of a token, and `tryConsume` acquires that.
      let (withdrawn, _) = word.compareExchange(expected: State.parked, desired: State.empty, ordering: .relaxed)
      return withdrawn ? false : tryConsume()
    }
  }

  @inline(never)
  private static func wakeSlow(_ address: UnsafeRawPointer) {
    Futex.wake(address)
  }

  /// unsafe: an atomic stays where it is as long as its owner lives.
  @inline(__always)
  var address: UnsafeRawPointer { _withUnprotectedUnsafePointer(to: word) { UnsafeRawPointer($0) } }
}
