// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral

/// A thread of the operating system, on which the threads of runs live, one after the other.
final class Carrier: @unchecked Sendable {  // its work passes with the turn
  private let turn = SimulatedTurn()
  private var work: (() -> Void)?

  /// Nil when the kernel makes no thread.
  init?() {
    let started = SimulatedTurn.startThread { [self] in
      while true {
        turn.wait()
        guard let next = work else { return }
        work = nil
        next()
      }
    }
    if !started { return nil }
  }

  /// What the thread does when it gets its turn. It waits for no turn meanwhile, but for those of what it does.
  func prepare(_ work: @escaping () -> Void) { self.work = work }

  /// Lets the thread go on.
  func pass() { turn.pass() }

  /// The calling thread, which is this one, waits until it may go on.
  func wait() { turn.wait() }

  /// Ends the thread, which has nothing to do.
  func end() { turn.pass() }
}

/// Threads that are used again, in the hands of the thread that has the turn.
final class Carriers: @unchecked Sendable {  // see above
  private var free: [Carrier] = []

  func take() -> Carrier? { free.popLast() ?? Carrier() }
  func give(_ carrier: Carrier) { free.append(carrier) }

  func endAll() {
    for carrier in free { carrier.end() }
    free = []
  }
}
