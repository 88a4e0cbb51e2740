// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// The search order of a worker that holds a place:
//
//   1  the slot, unless something more urgent is pending, or it has been served `slotRuns` times in a row while something
//      as urgent is
//   2  band by band, most urgent first, in turns: the place's backlog, the band's run queue, the other places' backlogs
//   3  the slot after all
//
// Within a band no source is passed over without bound. A *turn* is a search that goes past the slot: every 64th search, the
// first search after each of the monitor's ticks, and each search that finds the slot empty. The first job of
//
//   the place's backlog    is started within 2 turns: it is first in every second one
//   the band's run queue   within 4: it is first in three of eight
//   another place          within 8 for each place that there is: every eighth turn begins with the other places, each time
//                          with another one (beyond 64 places the number is rounded up to a multiple of 64)
//
// and the slot's after one other start. So a job that is first where it waits is started after at most 512 other starts for
// each place, by any one searcher that has nothing more urgent to do. The checker's scenarios of Contract.E9 hold each source
// to its bound while all of them are kept full.
//
// While no monitor can be had, the worker comes by for the monitor's part (Vacancy.swift) at each search, and every fourth one is a turn.
//
// Other places' slots are looked at before work of a less urgent band is taken (Contract.Q6), and by searchers once a
// slot has aged (SlotWatch). A worker without a place takes no slot's job.
extension Place {
  /// A power of two.
  private static var slotRuns: UInt32 { 64 }

  /// The holder's next job, or nil.
  @inline(__always)
  func findWork(in engine: borrowing Engine) -> Job? {
    // relaxed: the holder's own counter.
    let search = searches.load(ordering: .relaxed) &+ 1
    searches.store(search, ordering: .relaxed)
    if search % Self.slotRuns == 0 { return findPastSlot(search, in: engine) }
    // relaxed: hints; the sleep protocol looks again with the proper order.
    let pending = engine.pending.load(ordering: .relaxed)
    if !slotIsEmpty, pending & Band(rank: slotRank.load(ordering: .relaxed)).moreUrgent == 0, let job = takeSlot() {
      return job
    }
    if pending == 0 { return slotIsEmpty ? nil : takeSlot() }
    return findShared(pending, in: engine)
  }

  /// A search that goes past the slot. While no monitor can be had, all searches come here, and every fourth one is a turn (Vacancy.V1).
  @inline(never)
  @_optimize(size)
  private func findPastSlot(_ search: UInt32, in engine: borrowing Engine) -> Job? {
    var isTurn = true
    if engine.monitor.isVacant {
      // relaxed: the holder's own counter.
      searches.store(search &+ Self.slotRuns &- 1, ordering: .relaxed)
      isTurn = search & (3 * Self.slotRuns) == Self.slotRuns
      // relaxed: a hint; the holder is here, and its own look must not take the slot's job for one that it has left behind (Vacancy.V4).
      slotFills.store(slotFills.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
      _ = engine.standIn(nil)
    }
    // relaxed: as in `findWork`.
    let (pending, rank) = (engine.pending.load(ordering: .relaxed), slotRank.load(ordering: .relaxed))
    if !slotIsEmpty, !isTurn || pending == 0, pending & Band(rank: rank).moreUrgent == 0, let job = takeSlot() {
      return job
    }
    return pending == 0 ? nil : findShared(pending, in: engine)
  }

  /// The monitor: the holder's next search goes past the slot. Where it goes there at each search, that says it once more, and its turns go on.
  func passOverSlot() {
    // relaxed: the holder may overwrite it, and is asked again at the next tick.
    searches.store(searches.load(ordering: .relaxed) | (Self.slotRuns &- 1), ordering: .relaxed)
  }

  /// Steps 2 and 3.
  @inline(never)
  private func findShared(_ pending: UInt32, in engine: borrowing Engine) -> Job? {
    // relaxed: the holder's own counter.
    let turn = turns.load(ordering: .relaxed) &+ 1
    turns.store(turn, ordering: .relaxed)
    let job = findByBand(pending, turn, in: engine)
    // Another job comes before the slot's. The slot may have been filled between jobs, when no watch was asked for
    // (SlotWatch.S5).
    watchSlot(in: engine)
    return job
  }

  private func findByBand(_ pending: UInt32, _ turn: UInt32, in engine: borrowing Engine) -> Job? {
    // relaxed: the slot's own note.
    let slotBand = Band(rank: slotRank.load(ordering: .relaxed))
    // The slot is passed over for work that is as urgent, not for work that is less urgent.
    let isSlotFirst = !slotIsEmpty && pending & (slotBand.moreUrgent | slotBand.both) == 0
    let all = isSlotFirst ? pending | slotBand.both : pending
    if all & ~Band(firstIn: all).both != 0, let job = findOutOfOrder(all, turn, in: engine) { return job }
    if isSlotFirst, let job = takeSlot() { return job }
    var rest = pending
    var vain: UInt32 = 0
    while rest != 0 {
      let band = Band(firstIn: rest)
      if let urgent = engine.stealUrgentSlot(before: band, except: index) { return urgent }
      if let job = engine.take(from: band, rest, self, turn) { return afterVainLooks(job, vain, engine) }
      vain |= rest & band.both
      rest &= ~band.both
    }
    return slotIsEmpty ? nil : takeSlot().flatMap { afterVainLooks($0, vain, engine) }
  }

  /// The worker does not sleep, so it clears the bits of the bands that it has found empty: they would mislead the next
  /// searches.
  @inline(__always)
  private func afterVainLooks(_ job: Job, _ bits: UInt32, _ engine: borrowing Engine) -> Job {
    if bits != 0 { _ = engine.settle(bits) }
    return job
  }

  /// A job of a band that threads lend to while they wait; or that has been passed over for too long, if the program has asked for such a
  /// bound.
  @inline(never)
  private func findOutOfOrder(_ pending: UInt32, _ turn: UInt32, in engine: borrowing Engine) -> Job? {
    if let lent = engine.loans.bandToServe(pending, turn), let job = engine.take(from: lent, pending, self, turn) {
      return job
    }
    guard let bound = Settings.starvationBound, let band = engine.starvation.bandThatHasWaited(pending, bound: bound)
    else { return nil }
    return engine.take(from: band, pending, self, turn)
  }
}

extension Engine {
  /// The next job of `band` for the holder of `place`, from where the bits of `pending` say that there may be one.
  fileprivate func take(from band: Band, _ pending: UInt32, _ place: borrowing Place, _ turn: UInt32) -> Job? {
    let isLoose = pending & band.loose != 0
    let mayLieElsewhere = isLoose && places.mayHoldBeside(place.index)
    let othersFirst = turn % 8 == 7
    if mayLieElsewhere, othersFirst, let job = takeFromOthers(band, place, turn) { return job }
    if isLoose, turn % 2 == 0, let job = place.dequeue(band) { return job }
    if pending & band.ordered != 0, !withholdsOrdered(band), let raw = runQueues[Int(band.rank)].dequeue() {
      return Job(raw: raw)
    }
    if !isLoose { return nil }
    if turn % 2 != 0, let job = place.dequeue(band) { return job }
    return !mayLieElsewhere || othersFirst ? nil : takeFromOthers(band, place, turn)
  }

  /// How many jobs a thief takes with it at most.
  private static var largestHaul: Int { 16 }

  /// Half of the jobs of `band` at the first of the other places that has some: one to run, the others to keep.
  @inline(never)
  private func takeFromOthers(_ band: Band, _ place: borrowing Place, _ turn: UInt32) -> Job? {
    let me = place.index
    var haul = 0
    var moved: UInt32 = 1
    var victim: Place.Pointer?
    let job = places.search(from: me &+ Int(turn &>> 3)) { other in
      if other.pointee.index == me { return nil }
      guard let job = other.pointee.dequeue(band) else {
        if other.pointee.isEmpty { places.clearFilled(other.pointee.index) }
        return nil
      }
      if !place.holdsWork(band) { haul = min(other.pointee.count(band) / 2, Self.largestHaul) }
      victim = other
      return job
    }
    while haul > 0, let other = victim?.pointee.dequeue(band) {
      place.enqueue(other, in: self)
      haul -= 1
      moved += 1
    }
    if job != nil, Recorder.isOn { Recorder.note(.steal, argument: moved) }
    return job
  }

  /// A job of `band`, for a worker without a place: one that has no order comes first every second time.
  func takeShared(from band: Band, for worker: Worker.Pointer) -> Job? {
    // relaxed: the worker's own pulse, which is even between jobs.
    let looseFirst = worker.pointee.progress.load(ordering: .relaxed) & 2 == 0
    if looseFirst, let job = takeLoose(from: band) { return job }
    if !withholdsOrdered(band), let raw = runQueues[Int(band.rank)].dequeue() { return Job(raw: raw) }
    return looseFirst ? nil : takeLoose(from: band)
  }

  /// A job of `band` that has no order, for a worker without a place.
  func takeLoose(from band: Band) -> Job? {
    for index in 0..<places.count {
      if let job = places[index].pointee.dequeue(band) { return job }
    }
    return nil
  }

  /// A job more urgent than `band` that waits in another place's slot while that place's holder is busy.
  @inline(__always)
  fileprivate func stealUrgentSlot(before band: Band, except index: Int) -> Job? {
    // relaxed: bits are only ever added; a program of one band never goes further.
    if bandsInUse.load(ordering: .relaxed) & band.moreUrgent == 0 { return nil }
    return stealUrgentSlotSlow(before: band, except: index)
  }

  @inline(never)
  private func stealUrgentSlotSlow(before band: Band, except index: Int) -> Job? {
    for other in 0..<places.count where other != index {
      let victim = places[other]
      // relaxed: a hint; the exchange that takes the job is exact.
      if !victim.pointee.slotIsEmpty, victim.pointee.slotRank.load(ordering: .relaxed) < band.rank,
        let job = victim.pointee.takeSlot()
      {
        return job
      }
    }
    return nil
  }

  /// Monitor: at each place the next search goes past the slot.
  func passOverSlots() { for index in 0..<places.count { places[index].pointee.passOverSlot() } }

  /// Changes when an ordered job is taken.
  var orderedTaken: UInt64 {
    var sum: UInt64 = 0
    for rank in 0..<Band.count { sum &+= runQueues[rank].taken }
    return sum
  }

  /// Sleep.W1: a search of everything, which clears the bits where it finds nothing.
  @inline(never)
  func findWorkThoroughly(_ worker: Worker.Pointer) -> Job? {
    if let place = worker.pointee.place {
      if let job = place.pointee.takeSlot() { return job }
    } else {
      watchLeftSlot(of: worker)
    }
    // relaxed: a hint; the bits are cleared below with the proper order.
    var rest = pending.load(ordering: .relaxed)
    while rest != 0 {
      let band = Band(firstIn: rest)
      if let job = takeShared(from: band, for: worker) { return job }
      // What has come meanwhile has its bit, for Sleep.W3.
      if rest & band.ordered != 0 { _ = clear(band, band.ordered) }
      if rest & band.loose != 0 { _ = clear(band, band.loose) }
      rest &= ~band.both
    }
    return nil
  }
}
