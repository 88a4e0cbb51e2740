// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// More urgent work does not wait for a less urgent job to end: while fewer workers than processors run work of a band
// or of a more urgent one, a job of that band gets a worker of its own, beyond the processors. The kernel divides the
// processors meanwhile; afterwards the surplus worker goes back to sleep.
extension Engine {
  /// Whether `target` workers run work at least as urgent as `band`.
  private func isSaturated(with band: Band, except me: Worker.Pointer?, _ target: Int) -> Bool {
    // relaxed: observations; a wrong guess adds a worker, or leaves the job to the next free one.
    var busy = 0
    for index in 0..<workers.count {
      let worker = workers[index]
      if worker == me || worker.pointee.progress.load(ordering: .relaxed) & 1 == 0 { continue }
      if worker.pointee.runningRank.load(ordering: .relaxed) > band.rank { continue }
      if worker.pointee.waits.load(ordering: .relaxed) != 0 { continue }
      if worker.pointee.status.load(ordering: .relaxed) != Worker.Status.running { continue }
      busy += 1
      if busy >= target { return true }
    }
    return false
  }

  /// Adds a worker for a job of `band`, unless `enough` run work that is as urgent.
  @inline(never)
  func addUrgentWorker(for band: Band, among enough: Int) {
    if isSaturated(with: band, except: nil, enough) { return }
    // relaxed: the claim looks again.
    let active = pool.load(ordering: .relaxed).active
    _ = reinforce(target: active + 1, budget: threadLimit)
  }

  /// Whether more workers are active than the processors can use.
  @inline(__always)
  var isCrowded: Bool {
    // relaxed: a hint; a wrong guess costs one search or one sleep.
    pool.load(ordering: .relaxed).active > target.load(ordering: .relaxed) + allowance.load(ordering: .relaxed)
  }

  /// What a surplus worker may take: its own slot's job, and work more urgent than what the others run.
  @inline(never)
  func findUrgentWork(_ worker: Worker.Pointer) -> Job? {
    if let job = worker.pointee.takeSlot() { return job }
    // relaxed: a hint; the sleep protocol looks again.
    var bands = pending.load(ordering: .relaxed)
    // relaxed: a setting.
    let target = target.load(ordering: .relaxed)
    while bands != 0 {
      let band = Band(rank: UInt8(truncatingIfNeeded: bands.trailingZeroBitCount))
      bands &= bands &- 1
      if isSaturated(with: band, except: worker, target) { return nil }
      if let job = worker.pointee.take(from: band, in: self) { return job }
    }
    return nil
  }
}
