// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// The search order, in one function:
//
//   1  every 61st time the shared run queues come first, so that a stream of local jobs starves nobody
//   2  the own slot, unless something more urgent is pending, and not for ever in a row
//   3  band by band, most urgent first: own ring, shared run queue, other workers' rings
//   4  the own slot after all
//
// Other workers' slots are looked at before work of a less urgent band is taken (Q6), and by searchers once a slot has
// aged (SlotWatch).
extension Worker {
  /// A prime, so that it does not fall into step with a program's own rhythm.
  private static var fairness: UInt32 { 61 }
  /// Slot jobs in a row before the slot's next job goes to the back of its run queue.
  private static var slotRunLimit: UInt32 { 256 }

  /// The next job for this worker, or nil. Owner only.
  @inline(__always)
  func findWork(in engine: borrowing Engine) -> Job? {
    // relaxed: owner's own counter.
    let search = searches.load(ordering: .relaxed) &+ 1
    searches.store(search, ordering: .relaxed)
    // relaxed: a hint; the sleep protocol looks again with the proper order.
    let pending = engine.pending.load(ordering: .relaxed)
    if search % Self.fairness != 0, !slotIsEmpty, pending & Band(rank: slotRankHint).moreUrgent == 0,
      let job = takeOwnSlot(in: engine)
    {
      return job
    }
    if pending == 0 { return slotIsEmpty ? nil : takeSlot() }
    return findShared(pending, in: engine)
  }

  @inline(__always)
  private var slotRankHint: UInt8 {
    // relaxed: owner's own field.
    slotRank.load(ordering: .relaxed)
  }

  @inline(__always)
  private func takeOwnSlot(in engine: borrowing Engine) -> Job? {
    // relaxed: owner's own counter.
    let runs = slotRuns.load(ordering: .relaxed)
    if runs >= Self.slotRunLimit { return restSlot(in: engine) }
    slotRuns.store(runs &+ 1, ordering: .relaxed)
    return takeSlot()
  }

  /// The slot has had its share: its job lines up behind the others, if there are any.
  @inline(never)
  private func restSlot(in engine: borrowing Engine) -> Job? {
    // relaxed: owner's own counter; `pending` is a hint.
    slotRuns.store(0, ordering: .relaxed)
    guard engine.pending.load(ordering: .relaxed) != 0 else { return takeSlot() }
    giveUpSlot(in: engine)
    return nil
  }

  /// Steps 3 and 4.
  @inline(never)
  private func findShared(_ pending: UInt32, in engine: borrowing Engine) -> Job? {
    // relaxed: owner's own counter.
    slotRuns.store(0, ordering: .relaxed)
    let job = findByBand(pending, in: engine)
    // Another job comes first: the slot may have been filled between jobs, when nobody was asked to watch (S5).
    if !slotIsEmpty { engine.watchSlots() }
    return job
  }

  private func findByBand(_ pending: UInt32, in engine: borrowing Engine) -> Job? {
    if pending & (pending &- 1) != 0, let job = findStarved(pending, in: engine) { return job }
    var bands = pending
    var vain: UInt32 = 0
    while bands != 0 {
      let band = Band(rank: UInt8(truncatingIfNeeded: bands.trailingZeroBitCount))
      bands &= bands &- 1
      if let urgent = stealUrgentSlot(before: band, in: engine) { return urgent }
      if let job = take(from: band, in: engine) { return afterVainLooks(job, vain, engine) }
      vain |= band.bit
    }
    return slotIsEmpty ? nil : takeSlot().flatMap { afterVainLooks($0, vain, engine) }
  }

  /// The worker does not sleep: the bits of the bands that it has found empty would lead the next searches astray as well.
  @inline(__always)
  private func afterVainLooks(_ job: Job, _ bands: UInt32, _ engine: borrowing Engine) -> Job {
    if bands != 0 { _ = engine.settle(bands) }
    return job
  }

  /// A job of a band that has been passed over for too long, if the program has asked for such a bound.
  @inline(never)
  private func findStarved(_ pending: UInt32, in engine: borrowing Engine) -> Job? {
    guard let bound = Settings.starvationBound,
      let band = engine.starvation.bandThatHasWaited(pending, bound: bound)
    else { return nil }
    return take(from: band, in: engine)
  }

  /// Own ring, shared run queue, other rings of `band`.
  func take(from band: Band, in engine: borrowing Engine) -> Job? {
    // relaxed: owner's own field; see `spill`.
    if ringRank.load(ordering: .relaxed) == band.rank, let raw = ring.pop() { return Job(raw: raw) }
    if let raw = engine.runQueues[Int(band.rank)].dequeue() { return Job(raw: raw) }
    return stealFromRings(band, in: engine)
  }

  private func stealFromRings(_ band: Band, in engine: borrowing Engine) -> Job? {
    let count = engine.workers.count
    for step in 1..<max(1, count) {
      let victim = engine.workers[(index + step) % count]
      // relaxed: a hint about what the ring holds; the theft itself is exact.
      guard victim.pointee.ring.count > 0, victim.pointee.ringRank.load(ordering: .relaxed) == band.rank
      else { continue }
      if let raw = victim.pointee.ring.steal() { return Job(raw: raw) }
    }
    return nil
  }

  /// A job more urgent than `band` that waits in another worker's slot while that worker is busy.
  @inline(__always)
  private func stealUrgentSlot(before band: Band, in engine: borrowing Engine) -> Job? {
    // relaxed: bits are only ever added; a program of one band never goes further.
    if engine.bandsInUse.load(ordering: .relaxed) & band.moreUrgent == 0 { return nil }
    return stealUrgentSlotSlow(before: band, in: engine)
  }

  @inline(never)
  private func stealUrgentSlotSlow(before band: Band, in engine: borrowing Engine) -> Job? {
    for other in 0..<engine.workers.count where other != index {
      let victim = engine.workers[other]
      // relaxed: a hint; the exchange that takes the job is exact.
      if !victim.pointee.slotIsEmpty, victim.pointee.slotRank.load(ordering: .relaxed) < band.rank,
        let job = victim.pointee.takeSlot()
      {
        return job
      }
    }
    return nil
  }

  /// W1: a search that leaves no stone unturned, and clears the bits of the bands that it finds empty.
  @inline(never)
  func findWorkThoroughly(in engine: borrowing Engine) -> Job? {
    if let job = takeSlot() { return job }
    // relaxed: a hint; the bits are cleared below with the proper order.
    var bands = engine.pending.load(ordering: .relaxed)
    while bands != 0 {
      let band = Band(rank: UInt8(truncatingIfNeeded: bands.trailingZeroBitCount))
      bands &= bands &- 1
      if let job = take(from: band, in: engine) { return job }
      // seq-cst: cleared before the second look; a submitter publishes before it looks at the bit, so one of us sees
      // the other.
      engine.pending.bitwiseAnd(~band.bit, ordering: .sequentiallyConsistent)
      if let job = take(from: band, in: engine) {
        engine.announce(band)
        return job
      }
    }
    return nil
  }
}
