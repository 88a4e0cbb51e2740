// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The last threads of the budget, which are kept for lanes and events: a sixteenth of it, eight at most, and one at least where the budget
/// is not tiny.
///
/// An item of a global queue may hand something to a serial queue, and wait for it. If such items took every thread, none would be left
/// for the serial queue, whose items end those waits; the budget would be used up for good. So ordered work is not begun by the
/// reserve's threads. They run what is loose, and sleep otherwise.
///
/// The items may also wait for further items of the global queue. So if nothing at all is started for a slice, and nothing loose is
/// pending, ordered work gets one thread of the reserve, and so on. The very last thread is never lent: items that sleep for a while and
/// then hand something to a serial queue would take all loans in their sleep. Where the program has asked for a small budget it is lent all
/// the same, because so many items may be meant to meet.
///
/// Reserve.R1  `Engine.orderedLimit` is `none` until so many threads exist that the reserve matters. Then ordered work is begun only
///     while no more workers are awake than the limit says. Those that are in jobs, waits included, are awake, and so is the worker that
///     asks. So no more of them than that are ever in ordered work. The monitor raises the limit for a loan, and takes all loans
///     back when fewer workers are awake.
/// Reserve.R2  A worker that is withheld from ordered work sleeps although ordered work is pending. A thread that submits ordered work then
///     wakes no worker, but the monitor, which stays awake while something is pending. A worker whose job has ended begins ordered work
///     itself.
struct Reserve {
  static let none = Int.max

  static func size(of budget: Int) -> Int { budget < 4 ? 0 : min(8, max(1, budget / 16)) }

  /// How many workers may be in ordered work, loans included.
  static func most(of budget: Int) -> Int { budget < 16 ? budget : budget - 1 }

  /// For how long nothing has been started.
  private var standstill: UInt64 = 0

  /// - Parameter isLoose: Whether something is pending that the reserve's threads run.
  /// - Returns: whether ordered work gets one thread more.
  mutating func lends(hasStarted: Bool, isLoose: Bool, elapsed: UInt64) -> Bool {
    standstill = hasStarted || isLoose ? 0 : standstill &+ elapsed
    if standstill < Slices.slice { return false }
    standstill = 0
    return true
  }
}

extension Engine {
  /// Whether the caller, which is about to begin a job, must leave ordered work to others.
  @inline(__always)
  var withholdsOrdered: Bool {
    // relaxed: a limit; a late view lets one worker more begin.
    let limit = orderedLimit.load(ordering: .relaxed)
    return limit != Reserve.none && awake > limit
  }

  /// Whether a worker that wakes up now must leave ordered work to others.
  var withholdsOrderedFromSleepers: Bool {
    // relaxed: as above.
    let limit = orderedLimit.load(ordering: .relaxed)
    return limit != Reserve.none && awake >= limit
  }

  private var awake: Int {
    // seq-cst: a sleeper asks after it has said that it sleeps, and before it looks at what is pending.
    let state = pool.load(ordering: .sequentiallyConsistent)
    return state.live - state.sleeping
  }

  /// Whether no worker is to be woken for what is pending: it is ordered work, which is withheld.
  var hasOnlyWithheld: Bool {
    // seq-cst: asked after the submitter's own step, as in `announce`.
    withholdsOrderedFromSleepers && pending.load(ordering: .sequentiallyConsistent) & Band.allLoose == 0
      && !slotsNeedWatcher && !poller.isMissed(timers)
  }

  /// A thread has been started.
  func noteThreads() {
    let (budget, reserve) = (Settings.threadBudget, Reserve.size(of: Settings.threadBudget))
    // relaxed: Reserve.R1; a limit.
    if reserve == 0 || pool.load(ordering: .relaxed).live < budget - reserve { return }
    _ = orderedLimit.compareExchange(expected: Reserve.none, desired: budget - reserve, ordering: .relaxed)
  }

  /// Monitor: lends a thread of the reserve, or takes the loans back.
  ///
  /// - Returns: whether no worker is to be added for what is pending.
  func lookAfter(_ reserve: inout Reserve, hasStarted: Bool, isLoose: Bool, elapsed: UInt64) -> Bool {
    // relaxed: Reserve.R1; the monitor alone changes the limit once it is set.
    let limit = orderedLimit.load(ordering: .relaxed)
    if limit == Reserve.none { return false }
    let usual = Settings.threadBudget - Reserve.size(of: Settings.threadBudget)
    var new = limit
    // relaxed: as above.
    if pool.load(ordering: .relaxed).live < usual {
      new = Reserve.none
    } else if awake < usual {
      new = usual
    } else if reserve.lends(hasStarted: hasStarted, isLoose: isLoose, elapsed: elapsed) {
      new = min(awake + 1, Reserve.most(of: Settings.threadBudget))
    }
    // relaxed: as above.
    if new != limit { orderedLimit.store(new, ordering: .relaxed) }
    return hasOnlyWithheld
  }
}
