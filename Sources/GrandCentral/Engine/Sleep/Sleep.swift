// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// The sleep protocol; README.md beside this file has the argument, Verification/sleep.pml the model.
//
//   Submitter (Sleep.S1–S4)  publish the job; set the band's pending bit if it is clear; look at the pool word; if no worker
//                            searches and a processor is free, claim a wake, and unpark or spawn
//   Sleeper (Sleep.W1–W4)    search every band; clear the pending bit of a band found empty, and look at it once more;
//                            join the idle list; look at the pending bits, and at timers that no thread waits for; if
//                            something is there, leave the list and search; otherwise park
//   Finder (Sleep.F1–F2)     count one searcher less; if it was the last one and bits are set, claim a wake as in Sleep.S4
extension Engine {
  // MARK: Waking

  /// Sleep.S3, Sleep.S4 for a job of `band`.
  @inline(__always)
  func wakeIfNeeded(for band: Band = .maintenance) {
    // seq-cst: Sleep.S3 must not pass Sleep.S1 and Sleep.S2; a sleeper's Sleep.W2 and Sleep.W3 are ordered the other
    // way round.
    let state = pool.load(ordering: .sequentiallyConsistent)
    if state.searching > 0 { return }
    wakeSlow(state, band)
  }

  /// The answer of most submissions: all processors are busy, and the monitor is awake.
  @inline(never)
  private func wakeSlow(_ seen: PoolState, _ band: Band) {
    // relaxed: a setting; a late view delays its effect by one submission.
    let parallelism = parallelism.load(ordering: .relaxed)
    if seen.active >= parallelism, monitor.isAwake, !hasLessUrgent(than: band) { return }
    wakeSlower(seen, band, parallelism: parallelism)
  }

  /// Whether there has been work that is less urgent.
  @inline(__always)
  private func hasLessUrgent(than band: Band) -> Bool {
    // relaxed: bits are only ever added; a program of one band never goes further.
    bandsInUse.load(ordering: .relaxed) & ~(band.both | band.moreUrgent) != 0
  }

  @inline(never)
  private func wakeSlower(_ seen: PoolState, _ band: Band, parallelism: Int) {
    let budget = threadLimit
    switch seen.wake(parallelism: parallelism, budget: budget) {
    case .nothing: return
    case .watch:
      monitor.wake(self)
      if hasLessUrgent(than: band) { addWorker(for: band) }
    case .unpark, .spawn, .exhausted:
      let isWithheld = hasOnlyWithheld
      if !isWithheld, !isCrowded || freePlaces > 0 { return claimAndWake(parallelism: parallelism, budget: budget) }
      monitor.wake(self)
      if !isWithheld { addHelper() }
    }
  }

  private func claimAndWake(parallelism: Int, budget: Int) {
    idle.lock.lock()
    let wake = pool.updateInOrder { $0.claimWake(parallelism: parallelism, budget: budget) }
    carryOut(wake)
  }

  /// The monitor's way of adding a worker: also while others search. So many sleepers are spared.
  @inline(never)
  @discardableResult
  func reinforce(parallelism: Int, budget: Int, sparing spared: Int = 0) -> PoolState.Wake {
    idle.lock.lock()
    let wake = pool.updateInOrder { $0.claimReinforcement(parallelism: parallelism, budget: budget, sparing: spared) }
    carryOut(wake)
    return wake
  }

  /// Called with the idle list locked; unlocks it.
  func carryOut(_ wake: PoolState.Wake) {
    switch wake {
    case .unpark:
      guard let worker = idle.pop() else { Fault.bug("the pool word counts sleepers that the idle list lacks") }
      idle.lock.unlock()
      worker.pointee.unpark(in: self)
    case .spawn:
      // A thread that sees the new worker counted, and takes the lock, sees that the kernel is being asked (`replaceBlocked`).
      Shortages.threads.beginAsking()
      idle.lock.unlock()
      spawnWorker()
    case .exhausted:
      idle.lock.unlock()
      reportExhaustion()
    case .watch:
      idle.lock.unlock()
      monitor.wake(self)
    case .nothing:
      idle.lock.unlock()
    }
  }

  // MARK: Searching

  func startSearching() {
    pool.addInOrder { $0.startSearching() }
  }

  /// Sleep.F1, Sleep.F2
  func stopSearching() {
    guard pool.addInOrder({ $0.stopSearching() }).searching == 0 else { return }
    // seq-cst: Sleep.F2 must not pass Sleep.F1: a submitter that saw us searching leaves its job to us.
    if hasVisibleWork || slotsNeedWatcher || poller.isMissed(timers) && !monitor.isAwake { wakeIfNeeded() }
  }

  /// Whether a run queue or a backlog holds a job: the pending bits alone may be out of date.
  var hasVisibleWork: Bool {
    // seq-cst: looked at after Sleep.F1; a submitter publishes before it looks at the searchers.
    var rest = pending.load(ordering: .sequentiallyConsistent)
    while rest != 0 {
      let bit = rest & (0 &- rest)
      if holdsWork(Band(firstIn: rest), bit) { return true }
      rest ^= bit
    }
    return false
  }

  // MARK: Sleeping

  /// Sleep.W2: the calling searcher joins the idle list.
  func joinIdle(_ worker: Worker.Pointer) {
    idle.lock.lock()
    idle.push(worker)
    // seq-cst: Displacement.D1; the pulse that the last job has left is visible before the look at the status. With anything
    // weaker the look may come first, while the thread that sets the worker aside finds the old pulse: a sleeper is counted as
    // adrift.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    // relaxed: ordered by the fence.
    if worker.pointee.status.load(ordering: .relaxed) != Worker.Status.running { worker.pointee.recover(self) }
    pool.addInOrder { $0.fallAsleep() }
    idle.lock.unlock()
  }

  /// Sleep.W4: leaves the idle list as a searcher.
  ///
  /// If a waker was faster, its token is taken here: either way the caller is counted as searching afterwards.
  ///
  /// - Returns: false if a waker was faster.
  @discardableResult
  func leaveIdle(_ worker: Worker.Pointer) -> Bool {
    idle.lock.lock()
    if idle.contains(worker) {
      idle.remove(worker)
      pool.addInOrder { $0.wakeUp() }
      idle.lock.unlock()
      return true
    }
    idle.lock.unlock()
    _ = worker.pointee.parker.park()
    return false
  }

  /// Ends the calling sleeper if others remain that could run work.
  ///
  /// - Returns: whether the worker ends, and only its thread is counted; otherwise it is still in the idle list, or has been
  ///   woken.
  func tryRetire(_ worker: Worker.Pointer, evenLast: Bool = false) -> Bool {
    idle.lock.lock()
    defer { idle.lock.unlock() }
    guard idle.contains(worker), pool.updateInOrder({ $0.retire(evenLast: evenLast) }) == .granted else { return false }
    idle.remove(worker)
    return true
  }

  /// A worker that has retired is gone: where the budget was used up, another one may be started for what is pending.
  func workerHasEnded() {
    pool.addInOrder { $0.end() }
    // seq-cst: a submitter publishes first and finds the budget used up afterwards: one of the two sees the other.
    if pending.load(ordering: .sequentiallyConsistent) != 0 { wakeIfNeeded() }
  }
}

extension Worker {
  /// Ends this worker's sleep, wherever it sleeps. The caller has taken it off the idle list.
  func unpark(in engine: borrowing Engine) {
    Probes.look()
    // relaxed: a name for records.
    if Recorder.isOn { Recorder.note(.wake, argument: thread.load(ordering: .relaxed)) }
    parker.unpark()
    // seq-cst: pairs with the sleeper that sets `inPoll` and then looks for the token: one of the two sees the other.
    if inPoll.load(ordering: .sequentiallyConsistent) { engine.poller.interrupt() }
  }
}
