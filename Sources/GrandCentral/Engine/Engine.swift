// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// The one engine of the process: run queues, workers, sleepers, timers.
///
/// It lives in raw memory behind one pointer and is never freed, so that reaching it costs one load, and so that a
/// forked child can start over with a fresh one (see Fork.swift). A run of a simulation has one of its own (Engine+Worlds.swift).
struct Engine: ~Copyable, @unchecked Sendable {  // every field is immutable, atomic, or guarded by its own lock
  /// Counts the workers that live, block, are adrift, sleep, and search. The one word of the sleep protocol.
  let pool = AtomicState<PoolState>(PoolState())
  private let gapBehindPool = CacheLine.Gap()
  /// Bands that may have work in a run queue, or in a backlog of a place (`Band.ordered`, `Band.loose`); set by the
  /// submitter, cleared by a searcher about to sleep.
  let pending = Atomic<UInt32>(0)
  // Many threads read the following fields; hardly any thread writes them.
  private let gapBehindPending = CacheLine.Gap()
  /// Bands that were ever submitted to; spares single-band programs the look at other places' slots.
  let bandsInUse = Atomic<UInt32>(0)
  /// Workers wanted at once, and places in use: the active processors.
  let parallelism = Atomic<Int>(1)
  /// Workers allowed beyond `parallelism`, while the monitor finds that added workers block too.
  let allowance = Atomic<Int>(0)
  /// `Crowd.none`; or there is a crowd, and so many workers may take places of holders that are found blocked.
  let crowd = Atomic<Int>(Crowd.none)
  /// Ordered work is begun while no more workers than that are awake; see `Reserve`.
  let orderedLimit = Atomic<Int>(Reserve.none)
  /// The bits of bands of which one worker may begin ordered work beyond that limit (Reserve.R3).
  let bandGrants = Atomic<UInt32>(0)
  /// Counts the monitor's ticks, so that it reads the number of processors again now and then.
  let parallelismTicks = Atomic<UInt32>(0)
  /// One FIFO per band, for items that must start in order.
  let runQueues: UnsafeMutablePointer<FIFOQueue>
  /// Every worker record that ever was; records are reused, never freed.
  let workers: WorkerTable
  let places = Places()
  let idle = IdleList()
  let timers = Timers()
  let poller = Poller()
  let signals = SignalTable()
  let monitor = Monitor()
  let slotWatch = SlotWatch()
  let inspection = Inspection()
  let starvation = Starvation()
  let applyHelp = ApplyHelpRegistry()
  /// Searching workers look for about 5 µs before they sleep: a submitter within that time makes no system call.
  let searchSpin = SpinBudget(nanoseconds: 5_000)
  let retries = Retries()
  /// How many submitters wait for a thread; whether one has during this shortage; whether the budget's end has been reported.
  let standingIn = Atomic<Int>(0)
  let hasStoodIn = Atomic<Bool>(false)
  let exhaustionReported = Atomic<Bool>(false)
  /// Threads that have nothing to do end at once; see Engine+Closing.swift.
  let closing = Atomic<Bool>(false)
  // Threads that wait write the following field; searches read it.
  private let gapBehindClosing = CacheLine.Gap()
  let loans = Loans()

  init() {
    // unsafe: the array lives as long as the engine: for ever.
    runQueues = .allocate(capacity: Band.count)
    for rank in 0..<Band.count { (runQueues + rank).initialize(to: FIFOQueue()) }
    workers = WorkerTable()
    setParallelism(Topology.quickProcessors())
  }

  typealias Pointer = UnsafeMutablePointer<Engine>

  // MARK: Submission

  /// Makes `job` runnable in its band, behind everything submitted to that band before it.
  @inline(__always)
  func submit(_ job: Job) {
    let band = job.band
    runQueues[Int(band.rank)].enqueue(job.raw)
    announce(band, band.ordered)
  }

  /// Makes `job` runnable, with no order among other such jobs: a worker puts it into its place's slot.
  @inline(__always)
  func submitUnordered(_ job: Job) {
    if let worker = Worker.current, let place = worker.pointee.place {
      place.pointee.keep(job, by: worker, in: self)
    } else {
      submitAway(job)
    }
  }

  /// As `submitUnordered`, behind what waits at the worker's place. It is not ordered work: ahead of it may be items of a global queue
  /// without end, which wait for what `job` runs.
  func submitBehind(_ job: Job) {
    guard let place = Worker.current?.pointee.place else { return submitAway(job) }
    place.pointee.enqueue(job, in: self)
  }

  /// As `submitUnordered`, by a thread that holds no place, or that will not come back to its place soon.
  @inline(never)
  func submitAway(_ job: Job) {
    // The newest sleeper is the worker that will most likely be woken: it finds the job in its own place.
    if let place = idle.placeOfNewest { return place.pointee.enqueue(job, in: self) }
    // relaxed: a setting. Threads spread over the places, each always to the same one.
    let index = UInt32(truncatingIfNeeded: Thread.id) % UInt32(truncatingIfNeeded: parallelism.load(ordering: .relaxed))
    places[Int(index)].pointee.enqueue(job, in: self)
  }

  /// Tells the sleepers that work in `band` has just been published where `bit` says.
  @inline(__always)
  func announce(_ band: Band, _ bit: UInt32) {
    // seq-cst: with anything weaker this load may pass the publication above it, while a searcher clears the bit,
    // finds the run queue empty and sleeps: both miss.
    if pending.load(ordering: .sequentiallyConsistent) & bit == 0 { markPending(bit) }
    wakeIfNeeded(for: band)
  }

  @inline(never)
  private func markPending(_ bit: UInt32) {
    // seq-cst: ordered before the look at the sleepers that follows, see `announce`.
    pending.bitwiseOr(bit, ordering: .sequentiallyConsistent)
    // relaxed: a hint for choosing among bands; a late view costs one choice.
    if bandsInUse.load(ordering: .relaxed) & bit == 0 { bandsInUse.bitwiseOr(bit, ordering: .relaxed) }
  }
}
