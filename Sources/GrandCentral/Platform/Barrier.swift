// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// A memory barrier that the kernel makes every running thread of this process pass.
enum Barrier {
  private enum State {
    static let unasked: UInt32 = 0
    static let offered: UInt32 = 1
    static let registered: UInt32 = 2
    static let refused: UInt32 = 3
  }

  private static let state = Atomic<UInt32>(State.unasked)

  /// Must have been registered before. False if the kernel refuses it from now on.
  static func issue() -> Bool {
    if gc_membarrier() == 0 { return true }
    // relaxed: a number by itself.
    state.store(State.refused, ordering: .relaxed)
    return false
  }

  /// Whether the kernel offers the barrier, as far as one knows. Cheap.
  @inline(__always)
  static var isOffered: Bool {
    // relaxed: a number by itself.
    let known = state.load(ordering: .relaxed)
    return known == State.unasked ? askSlow() : known != State.refused
  }

  @inline(never)
  @_optimize(size)
  private static func askSlow() -> Bool {
    // It works if it has been registered early, unless a filter has come since.
    let works = gc_membarrier() == 0
    let isOffered = works || gc_membarrier_is_offered()
    let found = works ? State.registered : isOffered ? State.offered : State.refused
    // relaxed: a number by itself; every thread finds the same, or has registered.
    _ = state.compareExchange(expected: State.unasked, desired: found, ordering: .relaxed)
    return isOffered
  }

  /// Whether `issue` works by now.
  static var isRegistered: Bool {
    // relaxed: a number by itself.
    state.load(ordering: .relaxed) == State.registered
  }

  /// Registers while that takes no time, because the process has one thread. Whether it works is found out when it is needed.
  @_optimize(size)
  static func registerEarly() {
    if gc_is_only_thread() { _ = gc_membarrier_register() }
  }

  /// Whether `issue` works. The first time it registers: with several threads that takes some 10 ms.
  static func register() -> Bool {
    if isOffered, !isRegistered {
      // relaxed: a number by itself; every thread finds the same.
      state.store(gc_membarrier_register() == 0 ? State.registered : State.refused, ordering: .relaxed)
    }
    return isRegistered
  }
}
