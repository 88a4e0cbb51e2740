// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// One pool thread's record: what it keeps, what it does, how it is woken.
///
/// **The slot** holds the job that this worker will run next: the lane that its current job has just made runnable.
/// A hop from lane to lane is then a function call. Anybody may empty the slot, by exchange; thieves leave it alone
/// until it has aged (`SlotWatch`), because its owner will usually come for it within microseconds.
///
/// **The ring** holds what the slot overflowed. Its jobs are all of one band, `ringBand`, so that a thief knows what
/// it would get; a job of another band goes to that band's run queue.
struct Worker: ~Copyable, @unchecked Sendable {  // fields are immutable, atomic, or used by the owner alone
  typealias Pointer = UnsafeMutablePointer<Worker>

  enum Status {
    /// Runs jobs, searches, or waits in one of our own primitives.
    static let running: UInt32 = 0
    /// The monitor has found it off the processor and has counted it as blocked.
    static let stalled: UInt32 = 1
  }

  /// I
  let index: Int
  /// A: the thread, for its CPU clock; 0 while the record is free.
  let thread = Atomic<UInt32>(0)
  /// A
  let slot = Atomic<UnsafeMutableRawPointer?>(nil)
  /// A, written by W: how often the slot was filled. Tells an aged slot from a busy one.
  let slotFills = Atomic<UInt32>(0)
  /// A, written by W: band of the slot's job.
  let slotRank = Atomic<UInt8>(0)
  /// A, written by W: band of all jobs in the ring.
  let ringRank = Atomic<UInt8>(0)
  private let beforeRing = CacheLine.Gap()
  /// The words before it change with every hop, the ring's with every overflow and theft.
  let ring = StealingRing()
  /// A, written by W: jobs started. The monitor's pulse.
  let progress = Atomic<UInt64>(0)
  /// A: `Status`
  let status = Atomic<UInt32>(Status.running)
  /// A: the worker waits in the kernel's poll, so that waking it takes more than a futex.
  let inPoll = Atomic<Bool>(false)
  /// W: the worker's last wait in the poll has brought events, and nothing to run.
  let polledInVain = Atomic<Bool>(false)
  let parker = Parker()
  /// A, written by W: the lane being drained, for reports. See Inspection of running lanes.
  let runningLane = Atomic<UnsafeMutableRawPointer?>(nil)
  /// A, written by W: depth of visible waits; the pulse says nothing while it is not zero.
  let waits = Atomic<UInt32>(0)
  /// M(slot watch): `slotFills` at the watcher's last look.
  let watchedFills = Atomic<UInt32>(0)
  /// A, W: searches so far; every `fairness`-th looks at the shared run queues first.
  let searches = Atomic<UInt32>(0)
  /// A, written by W: band of the job that runs.
  let runningRank = Atomic<UInt8>(Band.normal.rank)
  /// A, W: jobs taken from the slot in a row.
  let slotRuns = Atomic<UInt32>(0)
  /// M(idle list): position and link there.
  let idlePrevious = Atomic<UnsafeMutableRawPointer?>(nil)
  let idleNext = Atomic<UnsafeMutableRawPointer?>(nil)
  let isIdle = Atomic<Bool>(false)
  /// M(table): next free record.
  let nextFree = Atomic<UnsafeMutableRawPointer?>(nil)
  /// What the monitor saw at its last look; the monitor alone uses them.
  let seenProgress = Atomic<UInt64>(0)
  let seenCPU = Atomic<UInt64>(0)
  /// For how long it has not run at all, as far as that was asked.
  let stillness = Atomic<UInt64>(0)

  init(index: Int) { self.index = index }

  /// The worker that the calling thread is.
  @inline(__always)
  static var current: Pointer? {
    gc_thread_self().pointee.worker?.assumingMemoryBound(to: Worker.self)
  }

  // MARK: Keeping jobs

  /// Puts `job` into the slot; what was there moves on to the ring.
  @inline(__always)
  func keep(_ job: Job, in engine: borrowing Engine) {
    let rank = job.band.rank
    // relaxed: owner's own fields; thieves use them as hints.
    slotRank.store(rank, ordering: .relaxed)
    slotFills.store(slotFills.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    // pairs with: takeSlot – publishes the job's fields; acquires those of the job that was here
    if let previous = slot.exchange(job.raw, ordering: .acquiringAndReleasing) {
      spill(Job(raw: previous), in: engine)
    } else if isInJob {
      // Between jobs the worker is about to come for the slot itself; if it takes another job first, it asks then.
      engine.watchSlots()
    }
  }

  /// Whether a job runs, rather than the search for one.
  @inline(__always)
  var isInJob: Bool {
    // relaxed: the owner's own pulse, or a hint for others.
    progress.load(ordering: .relaxed) & 1 == 1
  }

  /// Takes what is in the slot; any thread.
  @inline(__always)
  func takeSlot() -> Job? {
    // pairs with: keep – publishes the job's fields
    guard let raw = slot.exchange(nil, ordering: .acquiringAndReleasing) else { return nil }
    return Job(raw: raw)
  }

  @inline(__always)
  var slotIsEmpty: Bool {
    // relaxed: a hint; whoever acts on it exchanges the slot.
    slot.load(ordering: .relaxed) == nil
  }

  /// Owner: moves `job` to the ring, or to its band's run queue where the ring cannot take it.
  @inline(never)
  func spill(_ job: Job, in engine: borrowing Engine) {
    let band = job.band
    if ring.count == 0 {
      // relaxed: owner's field; a thief that reads the old band picks by it, no harm done.
      ringRank.store(band.rank, ordering: .relaxed)
    }
    // relaxed: owner's field.
    if ringRank.load(ordering: .relaxed) == band.rank, ring.push(job.raw) {
      // seq-cst: the ring's tail is a plain store; without a full barrier the look at `pending` and the sleepers may
      // pass it, and a worker that goes to sleep now misses the job.
      atomicMemoryFence(ordering: .sequentiallyConsistent)
      engine.announce(band)
    } else {
      engine.submit(job)
    }
  }

  /// Owner, before it waits: what the slot holds must not wait with it.
  @inline(never)
  func giveUpSlot(in engine: borrowing Engine) {
    if let job = takeSlot() { engine.submit(job) }
  }
}
