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
  ///
  /// There is nothing to report while workers keep all processors busy, though none can be added for more urgent work, or
  /// where nobody is blocked and the budget is smaller than the number of processors.
  @inline(never)
  func reportExhaustion() {
    monitor.wake(self)
    // relaxed: observations, for the report.
    let state = pool.load(ordering: .relaxed)
    if state.blocked == 0 || state.active >= target.load(ordering: .relaxed) { return }
    // relaxed: one report per spell.
    if exhaustionReported.exchange(true, ordering: .relaxed) { return }
    let blocked = state.active <= 0 ? "all workers" : String(state.blocked) + " of " + String(state.live) + " workers"
    Fault.report(
      "the thread budget of " + String(Settings.threadBudget) + " is used up and " + blocked
        + " are blocked; work waits until one is free. Blocked: "
        + describeBusyWorkers() + ". Raise GrandCentralRuntime.threadBudget, or block less.")
  }

  /// What the workers run, most frequent first.
  private func describeBusyWorkers() -> String {
    var names: [(name: String, count: Int)] = []
    inspection.withLanesHeld {
      for index in 0..<workers.count {
        // seq-cst: read after the barrier of `withLanesHeld`.
        guard let lane = workers[index].pointee.runningLane.load(ordering: .sequentiallyConsistent) else { continue }
        let name = Hooks.name(ofLane: lane)
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
}
