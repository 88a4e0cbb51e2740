// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// A bit of `pending` outlives the work that it stands for: the worker that takes a band's last job goes on with what it finds
// next, and only a search before sleep clears bits. While all workers are busy such a bit says that work waits where none
// does. Then the monitor watches for nothing, and the drainer of a less urgent lane gives way after each item although no work
// waits. So a thread that is about to act upon a bit has it verified here.
//
// This is the searcher's step Sleep.W1, done by a thread that takes no job. It clears the bit first, then looks at the band
// once more; a submitter publishes first and looks at the bit afterwards. So either the submitter finds the bit clear, and
// sets it, or the second look finds the job, and announces it in the submitter's place.
extension Engine {
  /// Clears the `bits` of pending work where nothing waits. Any thread.
  ///
  /// - Returns: the bits where something waits.
  @inline(never)
  func settle(_ bits: UInt32) -> UInt32 {
    var found: UInt32 = 0
    var rest = bits
    while rest != 0 {
      let band = Band(firstIn: rest)
      let bit = rest & (0 &- rest)
      rest ^= bit
      if holdsWork(band, bit) || clear(band, bit) { found |= bit }
    }
    return found
  }

  /// Clears the bit, behind which nothing was found. Returns false unless something has come meanwhile.
  func clear(_ band: Band, _ bit: UInt32) -> Bool {
    // seq-cst: cleared before the second look, see above.
    pending.bitwiseAnd(~bit, ordering: .sequentiallyConsistent)
    guard holdsWork(band, bit) else {
      // relaxed: stamps for pacing.
      if pending.load(ordering: .relaxed) & band.both == 0 { starvation.forget(band) }
      return false
    }
    announce(band, bit)
    return true
  }

  /// Whether there is a job where the bit of `band` says.
  func holdsWork(_ band: Band, _ bit: UInt32) -> Bool {
    bit == band.ordered ? !runQueues[Int(band.rank)].isEmpty : places.holdWork(band)
  }
}
