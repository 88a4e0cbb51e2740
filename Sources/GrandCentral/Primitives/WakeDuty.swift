// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A function that is called once for a sleeping thread, as soon as the thread has been chosen to go on. The waker calls it,
/// because the waker is there earlier; if the waker has not, the thread itself does.
///
///     sleeper   arm, sleep, `if disarm() { do it }`
///     waker     perform, then give the token
///
/// The waker performs before it gives the token: the sleeper's frame is there until then. In a child of fork no thread owes
/// anything for the parent's threads.
struct WakeDuty: ~Copyable {
  typealias Function = @convention(c) () -> Void

  /// The function, or 0.
  private let word = Atomic<UInt>(0)
  /// Of the process in which it was armed.
  private let generation = Atomic<UInt32>(0)

  init() {}

  /// Sleeper.
  func arm(_ function: Function) {
    // relaxed: published by the function.
    generation.store(Thread.forkGeneration, ordering: .relaxed)
    // pairs with: perform – publishes what the sleeper has counted
    word.store(UInt(bitPattern: unsafeBitCast(function, to: Int.self)), ordering: .releasing)
  }

  /// Sleeper. Whether the function is still to be called.
  func disarm() -> Bool {
    // relaxed: the sleeper takes back its own function, or finds that the waker has taken it. The waker takes it before it
    // calls it, so this exchange could not show what the function has counted; the token that follows does.
    word.exchange(0, ordering: .relaxed) != 0
  }

  /// Waker.
  @inline(__always)
  func perform() {
    // relaxed: a look that comes too early leaves it to the sleeper.
    if word.load(ordering: .relaxed) != 0 { performSlow() }
  }

  @inline(never)
  private func performSlow() {
    // pairs with: arm – publishes what the sleeper has counted
    let bits = word.exchange(0, ordering: .acquiring)
    // relaxed: taken over with the function.
    guard bits != 0, generation.load(ordering: .relaxed) == Thread.forkGeneration else { return }
    // unsafe: `arm` has stored a function of this type.
    unsafeBitCast(bits, to: Function.self)()
  }
}
