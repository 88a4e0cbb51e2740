// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// A bit of `pending` outlives the work that it stands for: the worker that takes a band's last job goes on with what it finds
// next, and the bits are cleared in a search before sleep only. While all workers are busy such a bit says that work waits
// where none does: the monitor watches for nothing, and drainers of less urgent lanes give way to nobody after each item.
// So whoever is about to act upon a bit has it verified here.
//
// It is the searcher's step W1 (see Sleep/README.md) by a thread that takes no job: the bit is cleared first, then the band is
// looked at once more; a submitter publishes first and looks at the bit afterwards. So either the submitter finds the bit
// clear, and sets it, or the second look finds the job, and announces it in the submitter's place.
extension Engine {
  /// Clears the bits of those `bands` in which nothing waits. Any thread.
  ///
  /// - Returns: the bands in which something waits.
  @inline(never)
  func settle(_ bands: UInt32) -> UInt32 {
    var found: UInt32 = 0
    var rest = bands
    while rest != 0 {
      let band = Band(rank: UInt8(truncatingIfNeeded: rest.trailingZeroBitCount))
      rest &= rest &- 1
      if holdsWork(band) {
        found |= band.bit
        continue
      }
      // seq-cst: cleared before the second look, see above.
      pending.bitwiseAnd(~band.bit, ordering: .sequentiallyConsistent)
      // seq-cst: the rings' tails are plain loads, which may not pass the clearing; pairs with the fence in `Worker.spill`.
      atomicMemoryFence(ordering: .sequentiallyConsistent)
      guard holdsWork(band) else { continue }
      found |= band.bit
      announce(band)
    }
    return found
  }

  /// Whether the band's run queue or a ring of the band holds a job.
  private func holdsWork(_ band: Band) -> Bool {
    if !runQueues[Int(band.rank)].isEmpty { return true }
    for index in 0..<workers.count {
      let worker = workers[index]
      // relaxed: ordered by the fence in `settle`, and a hint before it.
      if worker.pointee.ring.count > 0, worker.pointee.ringRank.load(ordering: .relaxed) == band.rank { return true }
    }
    return false
  }
}
