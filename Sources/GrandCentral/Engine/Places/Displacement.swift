// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// A worker loses its place while its job goes on, because others need the place:
//
// - The job blocks outside of our primitives: the monitor finds the worker off its processor, and counts it as blocked.
// - The job waited in one of our primitives, and another worker has taken the place meanwhile.
// - The job has run for a slice, and something is pending: the monitor takes the place away, as far as `Slices` allows.
// - There are fewer processors than before.
//
// In the last three cases the worker is adrift: it goes on, as one thread more, and the kernel shares the processors out. When
// its job has ended it takes a free place, or sleeps. So each worker that counts as active has a place, or was added beyond
// the places, in place of blocked workers or for urgent work.
//
// Displacement.D1  A thread that sets a worker aside counts first, then changes the worker's status from running, and looks at
//     its pulse again. A worker that has ended its job moves the pulse, and looks at its status: behind a fence before it
//     sleeps, without a fence after each job. So a worker that sleeps is not counted, and one that runs another job is not
//     counted for long.
// Displacement.D2  The thread that changes the status back corrects the count: the worker itself, or the thread that has set
//     it aside too late.
// Displacement.D3  The monitor looks at workers that have been set aside again: one that was found blocked may compute, and one that is
//     adrift may block. It counts the new status, exchanges the status, and takes back the count of the old one, or of the new one if
//     the exchange fails, because the job has ended. A worker that still holds its place is running again.
extension Engine {
  /// Sets the worker aside as `status` says, if it is still in the job that began with `pulse`; any thread.
  ///
  /// - Returns: whether a place has become free by that.
  func setAside(_ worker: Worker.Pointer, _ pulse: UInt64, as status: UInt32) -> Bool {
    pool.addInOrder { $0.setAside(as: status) }
    // seq-cst: Displacement.D1.
    // relaxed: on failure, another thread has set it aside; only the count is taken back.
    let (changed, _) = worker.pointee.status.compareExchange(
      expected: Worker.Status.running, desired: status, successOrdering: .sequentiallyConsistent,
      failureOrdering: .relaxed)
    guard changed else {
      pool.addInOrder { $0.takeBack(from: status) }
      return false
    }
    // seq-cst: Displacement.D1.
    if worker.pointee.progress.load(ordering: .sequentiallyConsistent) == pulse { return true }
    worker.pointee.recover(self)
    return false
  }

  /// Owner, back from a wait in the middle of a job: without a place it is adrift.
  func driftWithoutPlace(_ worker: Worker.Pointer) {
    // relaxed: the owner's own pulse.
    let pulse = worker.pointee.progress.load(ordering: .relaxed)
    if worker.pointee.place != nil || takePlace(worker) || pulse & 1 == 0 { return }
    _ = setAside(worker, pulse, as: Worker.Status.adrift)
  }

  /// As many workers are active as there are places, and work of `band` is pending. Adds a worker for it, unless all of the
  /// others run work that is as urgent. When the added worker has run that work it sleeps, if the places are still held.
  @inline(never)
  func addWorker(for band: Band) {
    // relaxed: the claim looks again; a setting.
    let active = pool.load(ordering: .relaxed).active
    let parallelism = parallelism.load(ordering: .relaxed)
    if active >= 2 * parallelism + allowance.load(ordering: .relaxed) || !mayOvertake(band) { return }
    _ = reinforce(parallelism: active + 1, budget: threadLimit)
  }

  /// Whether a place is free, or its holder runs a job that is less urgent than `band`.
  func mayOvertake(_ band: Band) -> Bool {
    for index in 0..<places.count {
      guard !isFree(places[index]), let worker = holder(of: places[index]) else { return true }
      // relaxed: observations; a wrong guess adds a worker, or leaves the job to the next free one.
      if worker.pointee.isInJob, worker.pointee.runningRank.load(ordering: .relaxed) > band.rank { return true }
    }
    return false
  }

  /// Finds work for a worker that is one too many: work more urgent than what the others run, or loose work for which a helper
  /// is needed.
  @inline(never)
  func findUrgentWork(for worker: Worker.Pointer) -> Job? {
    // relaxed: a hint; the sleep protocol looks again.
    var rest = pending.load(ordering: .relaxed)
    while rest != 0 {
      let band = Band(firstIn: rest)
      if !mayOvertake(band) { break }
      if let job = takeShared(from: band, for: worker) { return job }
      rest &= ~band.both
    }
    if rest & Band.allLoose == 0 || !needsHelper(Clock.uptime.now()) { return nil }
    return takeLoose(of: rest)
  }

  /// The most urgent job without an order, of these bands' pending ones.
  func takeLoose(of bands: UInt32) -> Job? {
    // relaxed: a hint; the sleep protocol looks again.
    var rest = bands & pending.load(ordering: .relaxed) & Band.allLoose
    while rest != 0 {
      let band = Band(firstIn: rest)
      if let job = takeLoose(from: band) { return job }
      rest &= ~band.both
    }
    return nil
  }

  /// Monitor: sets workers adrift, `most` of them at most, if their jobs have run for a slice at `now`. They need not hold
  /// places.
  func takePlacesFromLongJobs(_ most: Int, now: UInt64) {
    var left = most
    for index in 0..<workers.count where left > 0 {
      let worker = workers[index]
      guard let pulse = worker.pointee.longPulse(now) else { continue }
      if setAside(worker, pulse, as: Worker.Status.adrift) { left -= 1 }
    }
  }
}

extension Worker {
  /// The pulse of the job that the monitor saw last, if it had run for a slice at `now` and runs still; nil for a worker that is away.
  func longPulse(_ now: UInt64) -> UInt64? {
    // relaxed: the monitor's notes; a hint, which `setAside` verifies.
    let pulse = seenProgress.load(ordering: .relaxed)
    let isLong =
      pulse & 1 == 1 && pulse == progress.load(ordering: .relaxed)
      && now &- seenSince.load(ordering: .relaxed) >= Slices.slice
    return isLong && !isAway ? pulse : nil
  }

  /// The job has ended. Called by the owner, or by the thread that has set it aside. See Displacement.D2.
  @inline(never)
  func recover(_ engine: borrowing Engine) {
    // relaxed: the thread that changes it also corrects the count; nothing else depends on it.
    let was = status.exchange(Status.running, ordering: .relaxed)
    if was != Status.running { engine.pool.addInOrder { $0.takeBack(from: was) } }
  }
}

/// How many workers may lose their places at a tick of the monitor because their jobs run long.
///
/// A few may at any time: a long job costs the others a slice. More may only while no job at all is started: then the running
/// jobs may wait for what is pending, or run for ever. Jobs that end let others start, and need no more threads than there
/// are.
///
/// "A few" means two to four, depending on the number of places.
///
/// | adrift      | what is pending             | more, when nothing has been started for    |
/// |-------------|-----------------------------|--------------------------------------------|
/// | fewer       | anything                    | up to a few, at once                       |
/// | a few, more | a lane, or an event's       | a slice, longer when more than 8 are adrift |
/// | a few, more | jobs with an order only      | 16 times as long: they wait for each other |
struct Slices {
  static let slice: UInt64 = 10_000_000

  /// How many workers may be adrift at any time.
  static func few(_ places: Int) -> Int { min(max(2, places / 4), 4) }

  /// For how long no job has been started, and no job with an order while some wait.
  private var standstill: UInt64 = 0
  private var orderedStandstill: UInt64 = 0
  private var orderedTaken: UInt64?

  /// - Parameters:
  ///   - adrift: Workers that have lost their places in this way.
  ///   - hasStarted: Whether a job has been started since the last tick, `elapsed` ago.
  ///   - lanesWait: Whether something other than jobs with an order is pending.
  ///   - orderedTaken: A number that changes when a job with an order is started; nil if none is pending.
  mutating func mayDisplace(
    adrift: Int, places: Int, hasStarted: Bool, lanesWait: Bool, orderedTaken: UInt64?, elapsed: UInt64
  )
    -> Int
  {
    standstill = hasStarted ? 0 : standstill &+ elapsed
    orderedStandstill = orderedTaken == nil || orderedTaken != self.orderedTaken ? 0 : orderedStandstill &+ elapsed
    self.orderedTaken = orderedTaken
    let few = Self.few(places)
    if adrift < few { return few - adrift }
    let patience = Self.slice * UInt64(max(8, adrift)) / 8
    if !(lanesWait && standstill >= patience), orderedStandstill < 16 * patience { return 0 }
    (standstill, orderedStandstill) = (0, 0)
    return places
  }
}
