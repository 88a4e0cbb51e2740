// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The last threads of the budget, which are kept for lanes and events: a sixteenth of it, eight at most, two at least, and one
/// where the budget is below 16.
///
/// An item of a global queue may hand something to a serial queue, and wait for it. If such items took every thread, none would be left
/// for the serial queue, whose items end those waits; the budget would be used up for good. So ordered work is not begun by the
/// reserve's threads. They run what is loose, and sleep otherwise.
///
/// The items may also wait for further items of the global queue. So if nothing at all is started for a slice, and nothing loose is
/// pending, ordered work gets one thread of the reserve, and so on. Two threads are not lent in this way, or one for each band in use:
/// items that sleep for a while and then hand something on, and wait for it, would take all loans in their sleep. After a second all but
/// the very last one are lent, for so many items may be meant to meet, and the standstill is reported. Where the program has asked for a
/// small budget the last one is lent as well, and at once.
///
/// | what the items hand on                | begun by                                                               |
/// |---------------------------------------|-------------------------------------------------------------------------|
/// | a lane, or an event                   | the very last thread, which never begins ordered work                   |
/// | work of another band, in a standstill | one thread of the reserve, if no worker is in ordered work of that band |
///
/// Reserve.R1  `Engine.orderedLimit` is `none` until so many threads exist, or are about to, that the reserve matters. Then ordered work is
///     begun only while no more workers are awake than the limit says. Those that are in jobs, waits included, are awake, and so is the worker
///     that asks. So no more of them than that are ever in ordered work. The monitor raises the limit for a loan, and takes all loans
///     back when fewer workers are awake.
/// Reserve.R2  A worker that is withheld from ordered work sleeps although ordered work is pending. A thread that submits ordered work then
///     wakes no worker, but the monitor, which stays awake while something is pending. If that thread has seen a searcher, it wakes nobody,
///     and the searcher may be the worker that is withheld: so this one wakes the monitor as well before it sleeps, or stands in for it
///     (`Vacancy`). A worker whose job has ended begins ordered work itself.
/// Reserve.R3  `Engine.bandGrants` has the bits of the bands of which one worker may begin ordered work beyond the limit. The worker that
///     does so takes the bits away. The monitor sets them in a standstill, for bands that no worker is in.
struct Reserve {
  static let none = Int.max

  static func size(of budget: Int) -> Int { budget < 4 ? 0 : min(8, max(budget < 16 ? 1 : 2, budget / 16)) }

  /// How many workers may be in ordered work, loans included.
  static func most(of budget: Int, bands: Int, isLong: Bool) -> Int {
    budget < 16 ? budget : budget - (isLong ? 1 : max(2, bands))
  }

  /// For how long nothing has been started.
  private var standstill: UInt64 = 0
  /// How many slices have passed in this way, less the ticks at which something was started.
  private(set) var slices = 0
  private static let longStandstill = 100
  private var isReported = false

  var isLong: Bool { slices >= Self.longStandstill }

  /// - Parameter isLoose: Whether something is pending that the reserve's threads run.
  /// - Returns: whether ordered work gets one thread more.
  mutating func lends(hasStarted: Bool, isLoose: Bool, elapsed: UInt64) -> Bool {
    if hasStarted || isLoose { (standstill, slices) = (0, max(0, slices - 1)) } else { standstill &+= elapsed }
    if slices == 0 { isReported = false }
    if standstill < Slices.slice { return false }
    (standstill, slices) = (0, min(slices + 1, Self.longStandstill))
    return true
  }

  /// Whether a standstill is to be reported, once.
  mutating func reports() -> Bool {
    if !isLong || isReported { return false }
    isReported = true
    return true
  }
}

extension Engine {
  /// Whether the caller, which is about to begin a job of `band`, must leave ordered work to others.
  @inline(__always)
  func withholdsOrdered(_ band: Band) -> Bool {
    // relaxed: a limit; a late view lets one worker more begin.
    let limit = orderedLimit.load(ordering: .relaxed)
    return limit != Reserve.none && withholdsSlow(band, limit)
  }

  @inline(never)
  private func withholdsSlow(_ band: Band, _ limit: Int) -> Bool {
    let awake = awake
    if awake <= limit { return false }
    // relaxed: Reserve.R3; the exchange makes sure that a grant is used once.
    let grants = bandGrants.load(ordering: .relaxed)
    return grants & band.ordered == 0 || awake >= Settings.threadBudget
      || !bandGrants.compareExchange(expected: grants, desired: 0, ordering: .relaxed).exchanged
  }

  /// The bits of the work that a worker which wakes up now may begin (Reserve.R2).
  var searchable: UInt32 {
    // relaxed: as above.
    let (limit, awake) = (orderedLimit.load(ordering: .relaxed), awake)
    if limit == Reserve.none || awake < limit { return .max }
    // relaxed: Reserve.R3.
    return Band.allLoose | (awake + 1 < Settings.threadBudget ? bandGrants.load(ordering: .relaxed) : 0)
  }

  private var awake: Int {
    // seq-cst: a sleeper asks after it has said that it sleeps, and before it looks at what is pending.
    let state = pool.load(ordering: .sequentiallyConsistent)
    return state.live - state.sleeping
  }

  /// Whether no worker is to be woken for what is pending: it is ordered work, which is withheld.
  var hasOnlyWithheld: Bool {
    // seq-cst: asked after the submitter's own step, as in `announce`.
    pending.load(ordering: .sequentiallyConsistent) & searchable == 0 && !slotsNeedWatcher && !poller.isMissed(timers)
  }

  /// The limit without loans, for the threads that are counted now.
  @inline(never)
  @_optimize(size)
  private borrowing func limitByThreads() -> Int {
    let (budget, reserve) = (Settings.threadBudget, Reserve.size(of: Settings.threadBudget))
    // relaxed: Reserve.R1; a limit.
    return reserve == 0 || pool.load(ordering: .relaxed).live < budget - reserve ? Reserve.none : budget - reserve
  }

  /// A thread is about to be started, and is counted.
  func noteThreads() {
    let limit = limitByThreads()
    if limit == Reserve.none { return }
    // relaxed: Reserve.R1; a limit.
    _ = orderedLimit.compareExchange(expected: Reserve.none, desired: limit, ordering: .relaxed)
  }

  /// The budget is another one, or the monitor has seen fewer threads than the limit is for: the limit becomes what it is without loans.
  ///
  /// Workers are counted under the lock, and noted afterwards. So a thread that adds some meanwhile is seen here, or finds what this leaves.
  @inline(never)
  @_optimize(size)
  func resetLimit() {
    idle.lock.lock()
    // relaxed: Reserve.R1; a limit.
    orderedLimit.store(limitByThreads(), ordering: .relaxed)
    idle.lock.unlock()
  }

  /// Another number of processors is set, or another budget: then a former budget's limit may be set, or no thread is started any more that
  /// would set one.
  @_optimize(size)
  func noteSetting(ofProcessors: Bool) {
    if ofProcessors { countProcessors() } else { resetLimit() }
  }

  /// Monitor: lends a thread of the reserve, or takes the loans back.
  ///
  /// - Returns: whether no worker is to be added for what is pending.
  func lookAfter(_ reserve: inout Reserve, hasStarted: Bool, isLoose: Bool, elapsed: UInt64) -> Bool {
    // relaxed: Reserve.R1; once it is set the monitor changes the limit, or another budget.
    let limit = orderedLimit.load(ordering: .relaxed)
    if limit == Reserve.none { return false }
    let usual = Settings.threadBudget - Reserve.size(of: Settings.threadBudget)
    var new = limit
    // relaxed: Reserve.R3; the standstill is over.
    if hasStarted { bandGrants.store(0, ordering: .relaxed) }
    // relaxed: as above.
    if pool.load(ordering: .relaxed).live < usual {
      resetLimit()
      return hasOnlyWithheld
    }
    if awake < usual {
      new = usual
    } else if reserve.lends(hasStarted: hasStarted, isLoose: isLoose, elapsed: elapsed) {
      let most = Reserve.most(of: Settings.threadBudget, bands: bandCount, isLong: reserve.isLong)
      new = max(usual, min(awake + 1, most))
      grantToIdleBands()
      if reserve.reports() { reportExhaustion() }
    }
    // relaxed: as above.
    if new != limit { _ = orderedLimit.compareExchange(expected: limit, desired: new, ordering: .relaxed) }
    return hasOnlyWithheld
  }

  /// How many bands have had work.
  private var bandCount: Int {
    // relaxed: bits are only ever added.
    let bits = bandsInUse.load(ordering: .relaxed)
    return ((bits | bits &>> 1) & Band.allOrdered).nonzeroBitCount
  }

  /// Monitor: lets one worker begin ordered work of each band that waits, and that no worker is in (Reserve.R3).
  private func grantToIdleBands() {
    // relaxed: hints.
    var bits = pending.load(ordering: .relaxed) & Band.allOrdered
    for index in 0..<workers.count where bits != 0 && workers[index].pointee.isInOrderedJob {
      // relaxed: as above.
      bits &= ~Band(rank: workers[index].pointee.runningRank.load(ordering: .relaxed)).ordered
    }
    // relaxed: as above.
    bandGrants.store(bits, ordering: .relaxed)
  }
}

extension Worker {
  // relaxed: for a guess.
  fileprivate var isInOrderedJob: Bool { isInJob && runningLane.load(ordering: .relaxed) == nil }
}
