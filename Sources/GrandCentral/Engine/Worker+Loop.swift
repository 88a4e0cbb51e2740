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
    // If the first items of two workers block each other, and nothing else is pending, no other thread of ours would do it. The first
    // worker does not: the process's first item would begin later.
    if index > 0 { InsightRegion.makeOnce() }
    InsightRegion.noteWorkerBegins(index)
    Probes.look()
    if Recorder.isOn { Recorder.note(.workerBegin) }
    if Hooks.hasStart { runStartHook(engine.pointee) }
    var next = engine.pointee.searchOrSleep(me, hasLooked: false)
    while let job = next {
      start(job)
      next = place?.pointee.findWork(in: engine.pointee) ?? engine.pointee.findAnew(me)
      if next == nil {
        engine.pointee.startSearching()
        engine.pointee.refreshParallelismOnce()
        next = engine.pointee.searchOrSleep(me, hasLooked: true)
      }
    }
    // The worker is off the list and counted as blocked: others are woken or started for what the hook submits or waits for.
    // The hook submits as any thread does, because no worker would come for a job in the slot.
    record.pointee.worker = nil
    leavePlace()
    Hooks.runExit()
    // What was sent to this thread alone, and is watched, would end with it.
    Signals.receiving {}
    if Recorder.isOn { Recorder.note(.workerEnd) }
    Magazine.flushThread()
    Region.trim()
    // relaxed: see above.
    thread.store(0, ordering: .relaxed)
    InsightRegion.noteWorkerIsListed(index)
    // The record is given back first, so that there are never more records in use than workers counted.
    engine.pointee.workers.give(me)
    engine.pointee.workerHasEnded()
  }

  /// Runs the start hook as if it were a job: it may wait for other work, seen or unseen.
  @inline(never)
  private func runStartHook(_ engine: borrowing Engine) {
    beginAsIfInJob(engine)
    Hooks.runStart()
    if gc_thread_self().pointee.worker == nil { Fork.parkForeignThread() }
    endAsIfInJob(engine)
  }

  /// Owner, a searcher: begins what takes long, and is no job. If it still counted as searching, no thread would wake another worker for what
  /// is submitted meanwhile. If it were in no job, the monitor would not see that it runs long.
  @inline(never)
  @_optimize(size)
  func beginAsIfInJob(_ engine: borrowing Engine) {
    // SlotWatch.S5: the slot may have been filled between jobs, and the place lost just before that.
    giveUpSlot(in: engine, alsoOfLost: true)
    // SlotWatch.S3: it looks at no other slot for long, either.
    engine.giveUpWatch(engine.workers[index])
    engine.stopSearching()
    // relaxed: as in `start`.
    progress.store(progress.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
  }

  /// Owner: searches again, if it has stopped.
  @inline(never)
  @_optimize(size)
  func endAsIfInJob(_ engine: borrowing Engine) {
    if !isInJob { return }
    // relaxed: as in `start`.
    progress.store(progress.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    if status.load(ordering: .relaxed) != Status.running { recover(engine) }
    engine.startSearching()
  }

  @inline(__always)
  private func start(_ job: Job) {
    // Its node is read, and written as it is recycled (Magazine.G6).
    gc_prefetch_write(job.raw)
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
}

extension Engine {
  /// The place was lost during the last job, or has nothing to run.
  @inline(never)
  func findAnew(_ worker: Worker.Pointer) -> Job? {
    if worker.pointee.place != nil { return nil }
    if takePlace(worker) { return worker.pointee.place?.pointee.findWork(in: self) }
    return hasEnoughActive || isCrowded ? findUrgentWork(for: worker) : findWorkThoroughly(worker)
  }

  /// The caller is counted as searching. Returns a job, no longer counted; or nil, retired.
  ///
  /// - Parameter hasLooked: Whether it has looked at its place just now.
  @inline(never)
  func searchOrSleep(_ worker: Worker.Pointer, hasLooked: Bool) -> Job? {
    var hasLooked = hasLooked
    while true {
      // A worker that comes back from a wait may find all places held: it leaves the processors to the others.
      let surplus = worker.pointee.place == nil && !takePlace(worker) && (hasEnoughActive || isCrowded)
      if let job = surplus ? findUrgentWork(for: worker) : search(worker, hasLooked) {
        gc_prefetch_write(job.raw)
        giveUpWatch(worker)
        stopSearching()
        return job
      }
      // A surplus worker does not look at slots either, and would nap as their watcher for ever (SlotWatch.S6).
      if surplus { giveUpWatch(worker) }
      joinIdle(worker)
      // seq-cst: Sleep.W3 after Sleep.W2.
      let waiting = pending.load(ordering: .sequentiallyConsistent)
      let missed = waiting & searchable != 0 || !isWatcher(worker) && slotsNeedWatcher
      if missed, !surplus {
        leaveIdle(worker)
        continue
      }
      // A surplus worker, or one that ordered work is withheld from (Reserve.R2), leaves what is pending to the active ones, and makes sure
      // that another thread watches them, or does itself.
      if missed || waiting != 0 {
        if !isClosing, monitor.isVacant, standIn(worker) { continue }
        if missed { wakeIfNeeded() } else { monitor.wake(self) }
      }
      if !sleep(worker) { return nil }
      hasLooked = false
    }
  }

  /// Whether more workers are active than there are places, and than the monitor has added.
  private var hasEnoughActive: Bool {
    // relaxed: a hint; a wrong guess costs one search or one sleep.
    pool.load(ordering: .relaxed).active > parallelism.load(ordering: .relaxed) + allowance.load(ordering: .relaxed)
  }

  private func search(_ worker: Worker.Pointer, _ hasLooked: Bool) -> Job? {
    let place = worker.pointee.place
    if let place {
      if !hasLooked, let job = place.pointee.findWork(in: self) { return job }
      // A worker that has been woken for the sake of a slot does not spin: it looks at the slot at once.
      if !slotsAreWatched, let job = searchSpin.run({ place.pointee.findWork(in: self) }) { return job }
    }
    // A watcher naps instead of waiting for events: it asks the kernel here.
    pollIfVacant(by: worker, asksKernel: isWatcher(worker))
    return findWorkThoroughly(worker) ?? stealAgedSlot(worker)
  }
}
