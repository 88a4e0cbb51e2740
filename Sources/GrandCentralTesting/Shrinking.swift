// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

/// Looks for a schedule that fails in the same way, with fewer switches than the one that was found.
///
/// Switches are left out, all of them first, then by halves, quarters and so on, down to single ones. A schedule that still fails is the
/// new one; what counts are the switches that it has made in fact. When no single switch can be left out, schedules of one switch are
/// tried, and then of more, while they are fewer than that. If these are too many, one switch is left out and another one comes a little earlier
/// or later, or goes to another thread: two often do what one does elsewhere. All of it has bounds: of runs, of points, of threads that failed runs leave
/// where they are, and of time, for bodies that compute.
package struct Shrinking {
  package struct Result {
    package let token: Token
    let attempt: Attempt
    /// How many forced switches the token has.
    package let switches: Int
    package let runs: Int
  }

  static let mostRuns = 10_000
  /// So many look for few switches, before others look for one less.
  private static let fewRuns = 500
  private static let mostSteps = 10_000_000
  /// How many places for a switch are looked at in a run.
  private static let mostBranches = 2_000
  private static let mostThreadsLeft = 100
  /// In nanoseconds: of the processors, and in all. Beside busy neighbours the one comes long before the other.
  private static let (mostWork, mostTime): (UInt64, UInt64) = (10_000_000_000, 40_000_000_000)

  private let explorer: any Attempting
  /// Of runs such as the found one.
  private let token: Token
  private let reason: SimulationFailure.Reason
  private let limit: Int
  private let begin = Times()

  private var best: [Switch]
  private var attempt: Attempt?
  private var runs = 0
  private var steps = 0
  private var threadsLeft = 0

  /// Nil where a shorter schedule says nothing more, or where this one is too long.
  package init?(_ found: Attempt, _ explorer: any Attempting, _ token: Token) {
    guard let reason = found.reason, reason.dependsOnSchedule, let switches = found.switches else { return nil }
    self.explorer = explorer
    self.token = token
    self.reason = reason
    // A schedule with fewer switches may be longer, and one that never ends is none.
    limit = found.steps * 4 + 1_000
    best = switches
  }

  /// Nil if the schedule does not fail again: then the body depends on something else.
  package mutating func result() -> Result? {
    // By its switches alone, as it was found: what follows is compared with that.
    guard fails(best) else { return nil }
    if !fails([]) {
      var length = max(1, best.count / 2)
      while !best.isEmpty, !isSpent {
        let removed = removeSome(length)
        if length == 1, !removed { break }
        length = max(1, length / 2)
      }
      if best.count > 1, !searchFewer(Self.fewRuns) {
        while best.count > 1, moveOneWithoutAnother() {}
        _ = searchFewer(Self.mostRuns)
      }
    }
    guard let attempt else { return nil }
    return Result(token: token.with(best), attempt: attempt, switches: best.count, runs: runs)
  }

  /// Leaves out so many at a time. Whether something could be left out.
  private mutating func removeSome(_ length: Int) -> Bool {
    var removed = false
    // The last ones first: they are the likeliest to come after the failure's cause.
    var upper = best.count
    while upper > 0, !isSpent {
      let lower = max(0, upper - length)
      var fewer = best
      fewer.removeSubrange(lower..<upper)
      if fails(fewer) { removed = true }
      upper = min(lower, best.count)
    }
    return removed
  }

  /// Leaves one out, while another one is moved. Whether such a schedule fails.
  private mutating func moveOneWithoutAnother() -> Bool {
    let (all, threads) = (best, Set(best.flatMap { [$0.thread, $0.to] }).sorted())
    for without in all.indices.reversed() {
      for moved in all.indices.reversed() where moved != without {
        for other in Self.moves(of: all[moved], to: threads) {
          var fewer = all
          fewer[moved] = other
          fewer.remove(at: without)
          if isSpent { return false }
          if fails(fewer) { return true }
        }
      }
    }
    return false
  }

  /// The switch a little earlier or later, or to another of the threads.
  private static func moves(of one: Switch, to threads: [Int]) -> [Switch] {
    [0, -1, 1, -2, 2, -3, 3].flatMap { distance in
      threads.map { Switch(thread: one.thread, choice: one.choice + distance, to: $0) }
    }.filter { $0.choice > 0 && $0.to != one.thread && $0 != one }
  }

  /// Tries all schedules of one switch, of two, and so on, below the number that is left. Whether none can have fewer than are left now.
  private mutating func searchFewer(_ most: Int) -> Bool {
    let last = min(runs + most, Self.mostRuns)
    var frontier = Frontier(most: best.count - 1)
    var path: Frontier.Path?
    repeat {
      let switches = path?.switches ?? []
      let schedule = BranchSchedule(switches, most: Self.mostBranches)
      if fails(schedule, switches) { return true }
      frontier.add(schedule.branches, behind: path, room: last - runs) { _ in 1 }
      path = frontier.next()
    } while path != nil && !isSpent && runs < last
    return path == nil && !frontier.isCut
  }

  private var isSpent: Bool {
    runs >= Self.mostRuns || steps >= Self.mostSteps || threadsLeft >= Self.mostThreadsLeft || isLate
  }

  private var isLate: Bool {
    let now = Times()
    return now.work - begin.work >= Self.mostWork || now.real - begin.real >= Self.mostTime
  }

  /// What the process and its children have used of processors, and the real time, in nanoseconds.
  private struct Times {
    let work: UInt64
    let real = DispatchTime.now().uptimeNanoseconds

    init() {
      var (own, children) = (timespec(), rusage())
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own)
      getrusage(RUSAGE_CHILDREN.rawValue, &children)
      let seconds = own.tv_sec + children.ru_utime.tv_sec + children.ru_stime.tv_sec
      let microseconds = children.ru_utime.tv_usec + children.ru_stime.tv_usec
      work = UInt64(seconds) * 1_000_000_000 + UInt64(own.tv_nsec) + UInt64(microseconds) * 1_000
    }
  }

  /// Runs the schedule; if it fails in the same way it is the best one from now on.
  private mutating func fails(_ switches: [Switch]) -> Bool { fails(SwitchSchedule(switches), switches) }

  private mutating func fails(_ schedule: any Schedule, _ switches: [Switch]) -> Bool {
    let attempt = explorer.attempt(schedule, token.with(switches), limit: limit)
    runs += 1
    steps += attempt.steps
    threadsLeft += attempt.threadsLeft
    guard let reason = attempt.reason, reason.isSameKind(as: self.reason), let made = attempt.switches else {
      return false
    }
    if self.attempt != nil, made.count > best.count { return false }
    best = made
    self.attempt = attempt
    return true
  }
}

/// How a program has ended: failures of one type, which the number tells apart.
package protocol EndOfProgram: Error {
  var number: Int { get }
}

extension SimulationFailure.Reason {
  /// Whether another schedule may not have it.
  var dependsOnSchedule: Bool {
    switch self {
    case .threw, .expectation, .deadlock, .misuse: true
    case .race, .endless, .escape, .stalled, .busy, .badToken, .noThread, .incomplete: false
    }
  }

  /// The kind of misuse, as the message has it behind a bracket.
  private static func id(_ message: String) -> Substring { message.prefix { $0 != "]" } }

  func isSameKind(as other: Self) -> Bool {
    switch (self, other) {
    case (.threw(let mine), .threw(let others)):
      type(of: mine) == type(of: others)
        && (mine as? any EndOfProgram)?.number == (others as? any EndOfProgram)?.number
    case (.expectation, .expectation), (.deadlock, .deadlock): true
    case (.misuse(let mine), .misuse(let others)): Self.id(mine) == Self.id(others)
    default: false
    }
  }
}
