// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Threads come and go here. Counting them is the pool word's business.
extension Engine {
  /// The most workers there may be. While the kernel refuses threads, no worker is added until the kernel may be asked again.
  @inline(__always)
  var threadLimit: Int { Shortages.threads.mayAsk ? Settings.threadBudget : 0 }

  /// Starts a worker that the caller has counted as live and searching.
  @inline(never)
  func spawnWorker() {
    if let refusal = startOrWait(), refusal.error.isShortage, isForsaken { standIn(refusal.pause) }
  }

  /// Starts a worker that the caller has counted, and has begun to ask for.
  ///
  /// - Returns: if the kernel refuses, why, and after how long it may be asked again.
  private func startOrWait() -> (error: Errno, pause: UInt64)? {
    let error = startWorker()
    defer { Shortages.threads.endAsking() }
    guard let error else { return nil }
    // pairs with: replaceBlocked – publishes that this thread asks
    pool.addInOrder { $0.spawnFailed() }
    // The monitor needs less memory than a worker, and asks again for as long as work is pending.
    monitor.wake(self)
    return (error, Shortages.threads.refused(error))
  }

  @_optimize(size)
  private func startWorker() -> Errno? {
    let worker = workers.take()
    // relaxed: a name.
    let pending = pending.load(ordering: .relaxed)
    let band = pending == 0 ? Band.normal : Band(firstIn: pending)
    let name = ThreadName(band.name, number: UInt32(worker.pointee.index))
    // Before there is the thread: it may add the next one while this thread stands still.
    noteThreads()
    let error = Thread.spawn(name: name, body: Worker.main, argument: UnsafeMutableRawPointer(worker))
    if error != nil {
      workers.give(worker)
      return error
    }
    noteGrantedThread()
    return nil
  }

  /// The kernel has granted a thread.
  @inline(__always)
  func noteGrantedThread() {
    if !Shortages.threads.isShort { return }
    Shortages.threads.granted()
    // relaxed: a note about the shortage that is over.
    hasStoodIn.store(false, ordering: .relaxed)
  }

  /// Whether every thread of ours that would ask for a thread again is away: none is awake, and none can be woken.
  private var isForsaken: Bool {
    // relaxed: a thread that comes back meanwhile finds the work that is pending.
    let state = pool.load(ordering: .relaxed)
    return state.active <= 0 && state.sleeping == 0 && !monitor.exists
  }

  /// The kernel refuses the first thread, or one beside workers that are all blocked, and the monitor as well: no thread of
  /// ours would ask again. So the calling thread asks. If there is no worker at all, it asks until there is one. Beside
  /// blocked workers, which may wait for what this thread does next, it asks for a second, and once in a shortage.
  @inline(never)
  @_optimize(size)
  private func standIn(_ first: UInt64) {
    // relaxed: as in `isForsaken`.
    let isAlone = pool.load(ordering: .relaxed).live == 0
    if !isAlone, hasStoodIn.exchange(true, ordering: .relaxed) { return }
    // relaxed: a number by itself, see `reportExhaustion`.
    standingIn.wrappingAdd(1, ordering: .relaxed)
    defer { standingIn.wrappingSubtract(1, ordering: .relaxed) }
    var (pause, waited) = (first, UInt64(0))
    while isForsaken, isAlone || waited < 1_000_000_000 {
      Thread.sleep(nanoseconds: pause)
      waited += pause
      idle.lock.lock()
      // relaxed: a setting.
      let parallelism = parallelism.load(ordering: .relaxed)
      let wake = pool.updateInOrder { $0.claimWake(parallelism: parallelism, budget: Settings.threadBudget) }
      if wake != .spawn { return carryOut(wake) }
      Shortages.threads.beginAsking()
      idle.lock.unlock()
      guard let refusal = startOrWait(), refusal.error.isShortage else { return }
      pause = refusal.pause
    }
  }

  /// The budget is used up: says so once, names what the workers are stuck in, and goes on.
  ///
  /// There is nothing to report while workers keep all processors busy, even if none can be added for more urgent work. There
  /// is nothing to report either where no worker is blocked and the budget is smaller than the number of processors.
  @inline(never)
  @_optimize(size)
  func reportExhaustion() {
    monitor.wake(self)
    // relaxed: observations, for the report.
    let state = pool.load(ordering: .relaxed)
    // The kernel has no thread for us: that has been reported, and the monitor asks again.
    if Shortages.threads.isShort, state.live < Settings.threadBudget {
      // The last worker is about to wait, perhaps for what is pending, and the monitor may have been refused as well. Or there is no worker,
      // because the kernel has refused the monitor alone, and is not asked for a moment.
      // relaxed: a thread that stands in no more has seen a worker, or another thread that asks for one, and stands in itself if it is refused.
      let isSeenTo = state.live == 0 && (!Shortages.threads.mayEnd || standingIn.load(ordering: .relaxed) > 0)
      if isForsaken, !isSeenTo { standIn(1_000_000) }
      return
    }
    // relaxed: a setting.
    if state.blocked == 0 || state.active >= parallelism.load(ordering: .relaxed) { return }
    // relaxed: one report per spell.
    if exhaustionReported.exchange(true, ordering: .relaxed) { return }
    let blocked = state.active <= 0 ? "all workers" : String(state.blocked) + " of " + String(state.live) + " workers"
    Fault.report(
      "the thread budget of " + String(Settings.threadBudget) + " is used up and " + blocked
        + " are blocked; work waits until one is free. Blocked: "
        + describeBusyWorkers() + ". Raise GrandCentralRuntime.threadBudget, or block less.")
  }

  /// Monitor: there is one report per spell; the spell is over when threads could be added again.
  func lookForEndOfExhaustion() {
    // relaxed: hints.
    if pool.load(ordering: .relaxed).live < Settings.threadBudget {
      exhaustionReported.store(false, ordering: .relaxed)
    }
  }

  /// What the workers run, most frequent first.
  @_optimize(size)
  private func describeBusyWorkers() -> String {
    var names: [(name: String, count: Int)] = []
    inspection.withLanesHeld {
      for index in 0..<workers.count {
        guard let name = nameOfWork(workers[index]) else { continue }
        if let known = names.firstIndex(where: { Text.equal($0.name, name) }) {
          names[known].count += 1
        } else {
          names.append((name, 1))
        }
      }
    }
    var text = ""
    let told = min(16, names.count)
    for _ in 0..<told {
      var most = 0
      for index in names.indices where names[index].count > names[most].count { most = index }
      if !text.isEmpty { text += ", " }
      text += "\"" + names[most].name + "\""
      if names[most].count > 1 { text += " × " + String(names[most].count) }
      names[most].count = 0
    }
    if names.count > told { text += ", and " + String(names.count - told) + " more" }
    return text.isEmpty ? "(nothing that has a name)" : text
  }

  /// What a worker runs: a lane's items, or a job of its own, which is known by its band. The caller has the lanes held.
  private func nameOfWork(_ worker: Worker.Pointer) -> String? {
    // pairs with: Lane.publishRunning – publishes the lane, where it has come after the barrier of `withLanesHeld`
    if let lane = worker.pointee.runningLane.load(ordering: .acquiring) { return Hooks.name(ofLane: lane) }
    // relaxed: for a report; a worker that goes on meanwhile is named by what it runs next.
    if !worker.pointee.isInJob || worker.pointee.thread.load(ordering: .relaxed) == 0 { return nil }
    return Hooks.name(ofBand: Band(rank: worker.pointee.runningRank.load(ordering: .relaxed)))
  }
}
