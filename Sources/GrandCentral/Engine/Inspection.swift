// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Lets one thread look at what the workers run, at no cost to them but a load per drain.
///
/// A worker publishes the lane that it drains and withdraws it before it lets go of the lane. The inspector raises `active`,
/// has the kernel make every thread pass a memory barrier, and looks. A worker that withdraws afterwards sees `active` and
/// waits. If a worker has withdrawn before, the inspector sees that it runs nothing. So a lane that the inspector sees stays
/// alive while it looks.
struct Inspection: ~Copyable, Sendable {
  private let lock = Lock()
  private let active = Atomic<Bool>(false)

  /// Runs `body` while no lane that a worker has published can go away; does nothing where the kernel refuses.
  @_optimize(size)
  func withLanesHeld(_ body: () -> Void) {
    lock.lock()
    defer { lock.unlock() }
    guard Barrier.register() else { return }
    // relaxed: the kernel's barrier is one for the calling thread as well; it comes after this, and before what `body` reads.
    active.store(true, ordering: .relaxed)
    if Barrier.issue() { body() }
    // pairs with: passWhileInspected – publishes that the inspection is over
    active.store(false, ordering: .releasing)
  }

  /// Worker, after it has withdrawn its lane and before it lets go of it.
  @inline(__always)
  func passWhileInspected() {
    // pairs with: withLanesHeld – publishes that the inspection is over, also where there was none. The inspector's barrier
    // orders this look after the withdrawal.
    if active.load(ordering: .acquiring) { passSlow() }
  }

  @inline(never)
  @_optimize(size)
  private func passSlow() {
    var backoff = Backoff()
    // pairs with: withLanesHeld – publishes that the inspection is over
    while active.load(ordering: .acquiring) { backoff.wait() }
  }
}
