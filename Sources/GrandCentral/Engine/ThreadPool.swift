// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Threads come and go here. Counting them is the pool word's business.
extension Engine {
  /// Starts a worker that the caller has counted as live and searching.
  @inline(never)
  func spawnWorker() {
    let worker = workers.take()
    // relaxed: a name.
    let pending = pending.load(ordering: .relaxed)
    let band = pending == 0 ? Band.normal : Band(rank: UInt8(pending.trailingZeroBitCount))
    let name = "gc-" + band.name + "-" + String(worker.pointee.index)
    if Thread.spawn(name: name, body: Worker.main, argument: UnsafeMutableRawPointer(worker)) == nil {
      // relaxed: only says that the trouble is over.
      spawnTrouble.store(false, ordering: .relaxed)
      return
    }
    workers.give(worker)
    pool.update { $0.spawnFailed() }
    // relaxed: one report per spell of trouble.
    if !spawnTrouble.exchange(true, ordering: .relaxed) {
      Fault.report("a worker thread could not be started; work is delayed until threads can be had again")
    }
    monitor.wake(self)
  }

  /// The budget is used up: says so once, names what the workers are stuck in, and goes on.
  @inline(never)
  func reportExhaustion() {
    monitor.wake(self)
    // relaxed: one report per spell.
    if exhaustionReported.exchange(true, ordering: .relaxed) { return }
    Fault.report(
      "the thread budget of " + String(Settings.threadBudget)
        + " is used up and all workers are blocked; work waits until one is free. Blocked: "
        + describeBusyWorkers() + ". Raise GrandCentralRuntime.threadBudget, or block less.")
  }

  /// What the workers run, most frequent first.
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
    for _ in 0..<min(16, names.count) {
      var most = 0
      for index in names.indices where names[index].count > names[most].count { most = index }
      if !text.isEmpty { text += ", " }
      text += "\"" + names[most].name + "\""
      if names[most].count > 1 { text += " × " + String(names[most].count) }
      names.remove(at: most)
    }
    if !names.isEmpty { text += ", and " + String(names.count) + " more" }
    return text.isEmpty ? "(nothing that has a name)" : text
  }

  /// What a worker runs: a lane's items, or a job of its own, which is known by its band. The caller has the lanes held.
  private func nameOfWork(_ worker: Worker.Pointer) -> String? {
    // seq-cst: read after the barrier of `withLanesHeld`.
    if let lane = worker.pointee.runningLane.load(ordering: .sequentiallyConsistent) { return Hooks.name(ofLane: lane) }
    // relaxed: for a report; a worker that goes on meanwhile is named by what it runs next.
    if !worker.pointee.isInJob || worker.pointee.thread.load(ordering: .relaxed) == 0 { return nil }
    return Hooks.name(ofBand: Band(rank: worker.pointee.runningRank.load(ordering: .relaxed)))
  }
}
