// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// What stands for a processor: the right to start jobs, and the jobs that wait beside it.
///
/// A worker needs a place to start jobs. It keeps the place while it sleeps, waits or runs a long job, until another worker
/// needs one: then it loses the place with all that waits there (Displacement.swift), and goes on with its job all the same.
///
/// **The slot** holds the job that the holder will run next: the lane that its current job has just made runnable. A hop from
/// lane to lane is then a function call. Any thread may empty the slot, by exchange. Thieves leave it alone until it has aged
/// (`SlotWatch`), because the holder will usually come for it within microseconds.
///
/// **The backlogs**, one per band, hold what the slot overflowed, and what threads without a place submit.
///
/// Place.P1  Any thread may use everything here at any time: the slot by exchange, the backlogs as they are. Holding the place
///     guards nothing. So a worker that has lost the place without knowing it does no harm: the next holder, or a thief, finds
///     what that worker leaves. It has the slot watched when it notices the loss (SlotWatch.S7).
/// Place.P2  `holder` changes from 0, or from a worker that is away, to a worker by that worker's `take`, and back to 0
///     when the worker ends, or there are fewer processors. A worker looks whether it is still the holder before it
///     starts a job.
///
/// Rejected: rings with one producer. A ring cannot be taken over while its worker is stopped in the middle of a push, and the
/// barrier that a push needs costs what the exchange of a FIFO with many producers costs.
struct Place: ~Copyable, @unchecked Sendable {  // fields are immutable or atomic
  typealias Pointer = UnsafeMutablePointer<Place>

  let index: Int
  /// The holder's `Worker.name`; 0 if no worker holds the place.
  let holder = Atomic<UInt32>(0)
  /// One FIFO per band, each made when it is first needed.
  private let backlogs: UnsafeMutablePointer<Atomic<UnsafeMutableRawPointer?>>
  // Searchers read the fields above at every place. The fields below are written at every search, or hop.
  private let gapBehindBacklogs = CacheLine.Gap()
  /// How often the slot was filled. Tells an aged slot from a busy one.
  let slotFills = Atomic<UInt32>(0)
  let slot = Atomic<UnsafeMutableRawPointer?>(nil)
  /// Band of the slot's job.
  let slotRank = Atomic<UInt8>(0)
  /// Written by the holder: searches so far, and those among them that went beyond the slot.
  let searches = Atomic<UInt32>(0)
  let turns = Atomic<UInt32>(0)
  private let gapBehindSlot = CacheLine.Gap()
  /// The slot watcher's own: `slotFills` at its last look.
  let watchedFills = Atomic<UInt32>(0)
  private let gapBehindAll = CacheLine.Gap()

  init(index: Int) {
    self.index = index
    // unsafe: lives as long as the engine. On a line of its own, because many threads read it.
    let size = max(CacheLine.size, Band.count * MemoryLayout<Atomic<UnsafeMutableRawPointer?>>.stride)
    backlogs = Memory.allocate(size, alignment: CacheLine.size).bindMemory(to: Atomic.self, capacity: Band.count)
    for rank in 0..<Band.count { (backlogs + rank).initialize(to: Atomic(nil)) }
  }

  /// Frees the backlogs. Nobody sees the place any more.
  func discard() {
    for rank in 0..<Band.count {
      // relaxed: one thread is left.
      guard let raw = backlogs[rank].load(ordering: .relaxed) else { continue }
      raw.assumingMemoryBound(to: FIFOQueue.self).deinitialize(count: 1)
      Memory.free(raw)
    }
    Memory.free(.init(backlogs))
  }

  // MARK: The slot

  /// Puts `job` into the slot; what was there moves on to a backlog. The holder.
  @inline(__always)
  func keep(_ job: Job, by worker: Worker.Pointer, in engine: borrowing Engine) {
    // relaxed: hints for thieves.
    slotRank.store(job.band.rank, ordering: .relaxed)
    slotFills.store(slotFills.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    // seq-cst: filled before the look at the watch; with anything weaker the watcher that switches off may see the slot
    // empty, and the filler the watch on. It also publishes the job's fields, and acquires those of the job that was here.
    if let previous = slot.exchange(job.raw, ordering: .sequentiallyConsistent) {
      enqueue(Job(raw: previous), in: engine)
    } else if worker.pointee.isInJob {
      // Between jobs the holder is about to come for the slot itself; if it takes another job first, it asks then.
      engine.watchSlots(for: self)
    }
  }

  /// Takes what is in the slot; any thread.
  @inline(__always)
  func takeSlot() -> Job? {
    // pairs with: keep – publishes the job's fields
    // It publishes nothing: a thread that finds the slot empty only fills it.
    guard let raw = slot.exchange(nil, ordering: .acquiring) else { return nil }
    return Job(raw: raw)
  }

  /// What is in the slot moves on to a backlog; any thread.
  func giveUpSlot(in engine: borrowing Engine) {
    if let job = takeSlot() { enqueue(job, in: engine) }
  }

  /// Between jobs: makes sure that a thread watches what is in the slot.
  @inline(__always)
  func watchSlot(in engine: borrowing Engine) {
    if !slotIsEmpty { engine.watchSlots(for: self) }
  }

  @inline(__always)
  var slotIsEmpty: Bool {
    // relaxed: a hint; a thread that acts on it exchanges the slot.
    slot.load(ordering: .relaxed) == nil
  }

  // MARK: The backlogs

  /// Adds `job` behind the others of its band, and tells the sleepers; any thread.
  @inline(never)
  func enqueue(_ job: Job, in engine: borrowing Engine) {
    let band = job.band
    readyBacklog(band).pointee.enqueue(job.raw)
    engine.places.noteFilled(index)
    engine.announce(band, band.loose)
  }

  /// Takes the oldest job of `band`; any thread.
  @inline(__always)
  func dequeue(_ band: Band) -> Job? {
    guard let raw = backlog(band)?.pointee.dequeue() else { return nil }
    return Job(raw: raw)
  }

  /// How many jobs of `band` wait, about.
  func count(_ band: Band) -> Int { backlog(band)?.pointee.count ?? 0 }

  @inline(__always)
  func holdsWork(_ band: Band) -> Bool {
    guard let backlog = backlog(band) else { return false }
    return !backlog.pointee.isEmpty
  }

  /// Whether no backlog holds a job.
  var isEmpty: Bool {
    for rank in 0..<Band.count where holdsWork(Band(rank: UInt8(rank))) { return false }
    return true
  }

  @inline(__always)
  private func backlog(_ band: Band) -> UnsafeMutablePointer<FIFOQueue>? {
    // seq-cst: with anything weaker a searcher that has cleared a bit may still see no backlog at its second look, while the
    // submitter of the first job has seen the bit set: both miss.
    backlogs[Int(band.rank)].load(ordering: .sequentiallyConsistent)?.assumingMemoryBound(to: FIFOQueue.self)
  }

  @inline(__always)
  private func readyBacklog(_ band: Band) -> UnsafeMutablePointer<FIFOQueue> { backlog(band) ?? makeBacklog(band) }

  @inline(never)
  private func makeBacklog(_ band: Band) -> UnsafeMutablePointer<FIFOQueue> {
    // unsafe: lives as long as the engine.
    let made = Memory.allocate(MemoryLayout<FIFOQueue>.stride, alignment: CacheLine.size)
      .bindMemory(to: FIFOQueue.self, capacity: 1)
    made.initialize(to: FIFOQueue())
    // seq-cst: see `backlog`.
    // pairs with: itself – publishes the backlog that another thread has made
    let (exchanged, first) = backlogs[Int(band.rank)].compareExchange(
      expected: nil, desired: UnsafeMutableRawPointer(made), successOrdering: .sequentiallyConsistent,
      failureOrdering: .acquiring)
    if exchanged { return made }
    made.deinitialize(count: 1)
    Memory.free(UnsafeMutableRawPointer(made))
    return first!.assumingMemoryBound(to: FIFOQueue.self)
  }
}
