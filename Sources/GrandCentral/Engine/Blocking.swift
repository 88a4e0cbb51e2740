// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Told by our own primitives before a thread waits in the kernel, and after: a worker that waits is replaced at once
/// if there is work.
///
/// A worker that has been chosen to go on is not blocked any more, though it takes a while to wake up: with a duty, the
/// waker says so in its place. Otherwise each hand-over of a semaphore or a lane would look as if everybody was blocked
/// when the one that hands on waits next, and would add a worker.
enum Blocking {
  /// The calling thread is about to wait. Call the result's `end` when it is back.
  @inline(never)
  static func begin() -> Wait {
    BlockingReports.note()
    guard let worker = Worker.current else { return Wait(worker: nil) }
    let engine = Engine.shared
    // relaxed: the worker's own counter; the monitor takes it as a hint.
    worker.pointee.waits.store(worker.pointee.waits.load(ordering: .relaxed) + 1, ordering: .relaxed)
    // Blocked where nobody could see it before, in the same job: it counts once.
    // relaxed: `recover` decides.
    if worker.pointee.status.load(ordering: .relaxed) != Worker.Status.running {
      worker.pointee.recover(engine.pointee)
    }
    // What the slot holds may be the very thing that ends this wait.
    worker.pointee.giveUpSlot(in: engine.pointee)
    engine.pointee.pool.updateInOrder { $0.block() }
    // seq-cst: counted as blocked before the look at pending work; a submitter publishes before it looks at the count.
    if engine.pointee.pending.load(ordering: .sequentiallyConsistent) != 0 { engine.pointee.wakeIfNeeded() }
    return Wait(worker: worker)
  }

  /// As `begin`; whoever wakes the thread performs the duty.
  @inline(never)
  static func begin(_ duty: borrowing WakeDuty) -> Wait {
    let wait = begin()
    if wait.worker != nil { duty.arm { Engine.shared.pointee.pool.updateInOrder { $0.unblock() } } }
    return wait
  }

  struct Wait {
    fileprivate let worker: Worker.Pointer?

    func end() {
      guard let worker else { return }
      back(worker)
      Engine.shared.pointee.pool.updateInOrder { $0.unblock() }
      Engine.shared.pointee.driftWithoutPlace(worker)
    }

    func end(_ duty: borrowing WakeDuty) {
      guard let worker else { return }
      back(worker)
      if duty.disarm() { Engine.shared.pointee.pool.updateInOrder { $0.unblock() } }
      Engine.shared.pointee.driftWithoutPlace(worker)
    }

    private func back(_ worker: Worker.Pointer) {
      // relaxed: see `begin`.
      worker.pointee.waits.store(worker.pointee.waits.load(ordering: .relaxed) - 1, ordering: .relaxed)
    }
  }
}
