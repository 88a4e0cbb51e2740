// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// One pool thread's record: what it does, which place it holds, how it is woken.
struct Worker: ~Copyable, @unchecked Sendable {  // fields are immutable, atomic, or used by the owner alone
  typealias Pointer = UnsafeMutablePointer<Worker>

  enum Status {
    /// Runs jobs, searches, or waits in one of our own primitives.
    static let running: UInt32 = 0
    /// The monitor has found it off the processor and has counted it as blocked.
    static let stalled: UInt32 = 1
    /// Its job runs long, and others need its place: it is counted as adrift.
    static let adrift: UInt32 = 2
  }

  let index: Int
  /// The thread, for its CPU clock; 0 while the record is free.
  let thread = Atomic<UInt32>(0)
  /// The worker's alone: the place that it took last. Another worker may hold that place by now: see `place`.
  private let takenPlace = Atomic<UnsafeMutableRawPointer?>(nil)
  /// Written by the worker alone: jobs started. The monitor's pulse.
  let progress = Atomic<UInt64>(0)
  /// `Status`
  let status = Atomic<UInt32>(Status.running)
  /// The worker waits in the kernel's poll, so that waking it takes more than a futex.
  let inPoll = Atomic<Bool>(false)
  /// The worker's alone: its last wait in the poll has brought events, and nothing to run.
  let polledInVain = Atomic<Bool>(false)
  /// The worker's alone: it has come back from the poll by itself. In a crowd it goes on to wait for events.
  let helps = Atomic<Bool>(false)
  let parker = Parker()
  /// Written by the worker alone: the lane being drained, for reports. See `Inspection`.
  let runningLane = Atomic<UnsafeMutableRawPointer?>(nil)
  /// Written by the worker alone: depth of visible waits; the pulse says nothing while it is not zero.
  let waits = Atomic<UInt32>(0)
  /// Written by the worker alone: band of the job that runs.
  let runningRank = Atomic<UInt8>(Band.normal.rank)
  /// Guarded by the idle list's lock: position and link there.
  let idlePrevious = Atomic<UnsafeMutableRawPointer?>(nil)
  let idleNext = Atomic<UnsafeMutableRawPointer?>(nil)
  let isIdle = Atomic<Bool>(false)
  /// Guarded by the table's lock: next free record.
  let nextFree = Atomic<UnsafeMutableRawPointer?>(nil)
  /// What the monitor saw at its last look; the monitor alone uses them.
  let seenProgress = Atomic<UInt64>(0)
  let seenCPU = Atomic<UInt64>(0)
  /// When the monitor read the processor time last.
  let seenAt = Atomic<UInt64>(0)
  /// Since when the monitor has seen the same pulse.
  let seenSince = Atomic<UInt64>(0)
  /// For how long the worker has not run at all, as far as the monitor has asked.
  let stillness = Atomic<UInt64>(0)

  init(index: Int) { self.index = index }

  /// The worker that the calling thread is.
  @inline(__always)
  static var current: Pointer? {
    gc_thread_self().pointee.worker?.assumingMemoryBound(to: Worker.self)
  }

  /// Whether a job runs, rather than the search for one.
  @inline(__always)
  var isInJob: Bool {
    // relaxed: the owner's own pulse, or a hint for others.
    progress.load(ordering: .relaxed) & 1 == 1
  }

  // MARK: The place

  /// What `Place.holder` says of this worker: never 0.
  @inline(__always)
  var name: UInt32 { UInt32(truncatingIfNeeded: index) &+ 1 }

  /// The place that the worker holds. Owner only.
  @inline(__always)
  var place: Place.Pointer? {
    guard let place = lastPlace else { return nil }
    // relaxed: a worker that has lost the place this moment does no harm there (Place.P1).
    return place.pointee.holder.load(ordering: .relaxed) == name ? place : nil
  }

  /// The place that the worker held last.
  @inline(__always)
  var lastPlace: Place.Pointer? {
    // relaxed: the owner's own note; the idle list publishes it to others.
    takenPlace.load(ordering: .relaxed)?.assumingMemoryBound(to: Place.self)
  }

  /// Owner: becomes the holder of a place that is free, or whose holder is away. Returns false if another worker was faster.
  func take(_ place: Place.Pointer) -> Bool {
    // relaxed: compared below.
    let seen = place.pointee.holder.load(ordering: .relaxed)
    // relaxed: holding a place guards nothing (Place.P1).
    // pairs with: Engine.holder – publishes this record, which its thread has seen made
    let (taken, _) = place.pointee.holder.compareExchange(
      expected: seen, desired: name, successOrdering: .releasing, failureOrdering: .relaxed)
    // relaxed: see `lastPlace`.
    if taken { takenPlace.store(UnsafeMutableRawPointer(place), ordering: .relaxed) }
    return taken
  }

  /// Owner, about to end: holds no place any more.
  func leavePlace() {
    // relaxed: as in `take`.
    _ = lastPlace?.pointee.holder.compareExchange(expected: name, desired: 0, ordering: .relaxed)
  }

  /// Whether the worker starts no jobs at the moment: it sleeps, waits, or its job has been found to block or to run long.
  var isAway: Bool {
    // relaxed: observations; if the worker comes back at this moment and its place is taken, there is one worker too many.
    isIdle.load(ordering: .relaxed) || waits.load(ordering: .relaxed) != 0
      || status.load(ordering: .relaxed) != Status.running
  }

  /// Whether another worker may take the place. In a crowd it stays with a holder that is found blocked (`Crowd`).
  func leavesPlace(inCrowd: Bool) -> Bool {
    // relaxed: as in `isAway`.
    isAway && !(inCrowd && status.load(ordering: .relaxed) == Status.stalled)
  }

  /// Owner: see `helps`.
  var isHelper: Bool {
    // relaxed: the worker's own note.
    get { helps.load(ordering: .relaxed) }
    nonmutating set { helps.store(newValue, ordering: .relaxed) }
  }

  /// Whether nothing waits in the slot of the worker's place. Owner only.
  @inline(__always)
  var slotIsEmpty: Bool { place?.pointee.slotIsEmpty ?? true }

  /// Owner, before it waits: the job in the slot must not wait with it.
  ///
  /// - Parameter alsoOfLost: Between jobs: also where the place has been lost this moment. If another worker holds it now, that one's job moves as
  ///   well, which is harmless (Place.P1).
  @inline(never)
  func giveUpSlot(in engine: borrowing Engine, alsoOfLost: Bool = false) {
    (alsoOfLost ? lastPlace : place)?.pointee.giveUpSlot(in: engine)
  }
}
