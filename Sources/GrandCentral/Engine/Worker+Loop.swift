// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// A worker's life: run what is found, search a little, sleep, and end when it has not been needed for long.
extension Worker {
  /// The thread's body. It is counted as live and searching when it arrives here.
  static let main: Thread.Body = { raw in
    let worker = raw!.assumingMemoryBound(to: Worker.self)
    worker.pointee.live(Engine.shared)
  }

  private func live(_ engine: Engine.Pointer) {
    let record = gc_thread_self()
    let me = engine.pointee.workers[index]
    record.pointee.worker = UnsafeMutableRawPointer(me)
    // relaxed: the monitor reads it to find the CPU clock; a late view skips one look.
    thread.store(Thread.id, ordering: .relaxed)
    if let hook = Hooks.startHook() { runStartHook(hook, engine) }
    var next = engine.pointee.searchOrSleep(me)
    while let job = next {
      start(job)
      next = engine.pointee.isCrowded ? engine.pointee.findUrgentWork(me) : findWork(in: engine.pointee)
      if next == nil {
        engine.pointee.startSearching()
        engine.pointee.refreshTargetOnce()
        next = engine.pointee.searchOrSleep(me)
      }
    }
    // Off the list and counted as blocked: others are woken or started for what the hook submits or waits for. It submits
    // as any thread does: nobody would come for a job in the slot.
    record.pointee.worker = nil
    Hooks.runExit()
    Magazine.flushThread()
    Region.trim()
    // relaxed: see above.
    thread.store(0, ordering: .relaxed)
    // The record goes first: so there are never more records in use than workers are counted.
    engine.pointee.workers.give(me)
    engine.pointee.workerHasEnded()
  }

  /// Runs the start hook as if it were a job: it may wait for other work, seen or unseen. A worker that is counted as
  /// searching would keep everybody from waking another one.
  @inline(never)
  private func runStartHook(_ hook: @Sendable () -> Void, _ engine: Engine.Pointer) {
    engine.pointee.stopSearching()
    // relaxed: as in `start`.
    let pulse = progress.load(ordering: .relaxed)
    progress.store(pulse &+ 1, ordering: .relaxed)
    hook()
    if gc_thread_self().pointee.worker == nil { Fork.parkForeignThread() }
    // relaxed: as in `start`.
    progress.store(pulse &+ 2, ordering: .relaxed)
    if status.load(ordering: .relaxed) != Status.running { recover(engine.pointee) }
    engine.pointee.startSearching()
  }

  @inline(__always)
  private func start(_ job: Job) {
    // relaxed: the monitor's pulse, odd inside a job; only its change counts.
    let pulse = progress.load(ordering: .relaxed)
    progress.store(pulse &+ 1, ordering: .relaxed)
    runningRank.store(job.band.rank, ordering: .relaxed)
    job.run()
    if gc_thread_self().pointee.worker == nil { Fork.parkForeignThread() }
    // relaxed: see above; a stall noted this very moment is corrected before the next sleep.
    progress.store(pulse &+ 2, ordering: .relaxed)
    if status.load(ordering: .relaxed) != Status.running { recover(Engine.shared.pointee) }
  }

  /// The monitor had given this worker up; it is back.
  @inline(never)
  func recover(_ engine: borrowing Engine) {
    // relaxed: who changes it from stalled also corrects the count; nothing else hangs on it.
    if status.exchange(Status.running, ordering: .relaxed) == Status.stalled {
      engine.pool.updateInOrder { $0.unblock() }
    }
  }
}

extension Engine {
  /// Counted as searching: comes back with a job, no longer counted; or with nil, retired.
  @inline(never)
  func searchOrSleep(_ worker: Worker.Pointer) -> Job? {
    while true {
      // A worker that comes back from a wait may find its place taken: it leaves the processors to the others.
      let surplus = isCrowded
      if let job = surplus ? findUrgentWork(worker) : search(worker) {
        giveUpWatch(worker)
        stopSearching()
        return job
      }
      // It does not look at slots either, and would nap as their watcher for ever (S6 of SlotWatch).
      if surplus { giveUpWatch(worker) }
      joinIdle(worker)
      // seq-cst: W3 after W2, see Sleep.swift.
      let missed =
        pending.load(ordering: .sequentiallyConsistent) != 0 || !isWatcher(worker) && slotsNeedWatcher
      if missed, !surplus {
        leaveIdle(worker)
        continue
      }
      // A surplus worker leaves the pending work to the active ones, and sees to it that somebody watches them.
      if missed { wakeIfNeeded() }
      if !sleep(worker) { return nil }
    }
  }

  private func search(_ worker: Worker.Pointer) -> Job? {
    if let job = worker.pointee.findWork(in: self) { return job }
    if let job = searchSpin.run({ worker.pointee.findWork(in: self) }) { return job }
    // A watcher that naps is nobody who waits for events.
    pollIfVacant(asksKernel: isWatcher(worker))
    if let job = worker.pointee.findWorkThoroughly(in: self) { return job }
    return stealAgedSlot(worker)
  }
}
