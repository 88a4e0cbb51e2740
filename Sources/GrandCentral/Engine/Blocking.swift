// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Our own primitives call this before and after a thread waits in the kernel. A worker that waits is replaced at once if
/// there is work.
///
/// A worker that has been chosen to go on is no longer blocked, though it takes a while to wake up. With a duty, the thread
/// that wakes the worker counts it as unblocked at once. Otherwise, at each hand-over of a semaphore or a lane, the thread
/// that hands on and waits next would find every worker blocked, and would add one.
enum Blocking {
  /// The calling thread is about to wait. Call the result's `end` when it is back.
  @inline(never)
  static func begin() -> Wait {
    guard let worker = enter() else { return Wait(worker: nil) }
    replace()
    return Wait(worker: worker)
  }

  /// As `begin`. The thread that wakes this one performs the duty, which is armed before anything that takes long: to start a
  /// thread in place of this one does.
  @inline(never)
  static func begin(_ duty: borrowing WakeDuty) -> Wait {
    guard let worker = enter() else { return Wait(worker: nil) }
    duty.arm { Engine.shared.pointee.pool.addInOrder { $0.unblock() } }
    replace()
    return Wait(worker: worker)
  }

  private static func replace() { Engine.shared.pointee.replaceBlocked() }

  /// - Returns: the worker that waits, counted as blocked; nil if the calling thread is none.
  private static func enter() -> Worker.Pointer? {
    BlockingReports.note()
    guard let worker = Worker.current else { return nil }
    let engine = Engine.shared
    // relaxed: the worker's own counter; the monitor takes it as a hint.
    worker.pointee.waits.store(worker.pointee.waits.load(ordering: .relaxed) + 1, ordering: .relaxed)
    // The monitor may have set this worker aside earlier in the same job: the worker counts once.
    // relaxed: `recover` decides.
    if worker.pointee.status.load(ordering: .relaxed) != Worker.Status.running {
      worker.pointee.recover(engine.pointee)
    }
    // The job in the slot may be the one that ends this wait.
    worker.pointee.giveUpSlot(in: engine.pointee)
    engine.pointee.pool.addInOrder { $0.block() }
    return worker
  }

  struct Wait {
    fileprivate let worker: Worker.Pointer?

    func end() {
      guard let worker else { return }
      back(worker)
      Engine.shared.pointee.pool.addInOrder { $0.unblock() }
      Engine.shared.pointee.driftWithoutPlace(worker)
    }

    func end(_ duty: borrowing WakeDuty) {
      guard let worker else { return }
      back(worker)
      if duty.disarm() { Engine.shared.pointee.pool.addInOrder { $0.unblock() } }
      Engine.shared.pointee.driftWithoutPlace(worker)
    }

    private func back(_ worker: Worker.Pointer) {
      // relaxed: see `begin`.
      worker.pointee.waits.store(worker.pointee.waits.load(ordering: .relaxed) - 1, ordering: .relaxed)
    }
  }
}

extension Blocking {
  /// Sleeps as `part` does, between `begin` and `end`.
  ///
  /// While the kernel refuses threads the thread sleeps in parts, and has the kernel asked in between if something is pending. All workers
  /// may wait, and the monitor's thread as well, in a job that it runs (`LastResort`): then no other thread asks.
  ///
  /// Blocking.B1  The last thread to begin its wait finds the shortage. Of the threads that ask the kernel, the last one is refused, for no
  ///     thread goes on. It has left its refusal before it ended asking. It began to ask before it let go of the idle list, which it
  ///     held while it counted the new worker as a searcher. The waiter has looked at the searchers: if it relies on one, it has held the
  ///     list since, or has seen that the number went down again. A thread that relies on a monitor which is being started sees that its
  ///     starter asks.
  ///
  /// - Parameter part: Returns false if the deadline has passed.
  @inline(__always)
  static func sleep(until deadline: Deadline = .never, _ part: (Deadline) -> Bool) -> Bool {
    Shortages.threads.mayBeShort ? sleepInParts(until: deadline, part) : part(deadline)
  }

  @inline(never)
  @_optimize(size)
  private static func sleepInParts(until deadline: Deadline, _ part: (Deadline) -> Bool) -> Bool {
    while let time = Engine.shared.pointee.lookWhileShort(), time < deadline.remaining() {
      if part(.after(time, on: .uptime)) { return true }
    }
    return part(deadline)
  }
}

extension Engine {
  /// Makes sure that there is a monitor, which adds workers, if something is pending that the kernel has refused a thread for.
  ///
  /// - Returns: after how long to look again; nil if threads can be had, as far as one knows.
  @_optimize(size)
  fileprivate borrowing func lookWhileShort() -> UInt64? {
    if Shortages.threads.isShort, needsMonitor { monitor.wake(self) }
    return Shortages.threads.timeToLook
  }

  /// The calling worker has been counted as blocked.
  fileprivate borrowing func replaceBlocked() {
    // seq-cst: counted as blocked before the look at pending work; a submitter publishes before it looks at the count.
    if pending.load(ordering: .sequentiallyConsistent) == 0 { return }
    wakeIfNeeded()
    // The searcher may be a thread that the kernel is being asked for, and will refuse (Blocking.B1).
    // pairs with: spawnWorker – publishes that it asks
    if pool.load(ordering: .acquiring).searching == 0 { return }
    idle.lock.lock()
    idle.lock.unlock()
  }
}
