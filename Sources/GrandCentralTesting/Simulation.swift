// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

/// Runs a piece of a program under virtual time, in schedules that are chosen, and replays the one that fails.
///
///     try Simulation.check(runs: 1_000, strategy: .pct(depth: 3)) { sim in
///       let bank = Bank()
///       for account in 0..<4 { DispatchQueue.global().async { bank.transfer(from: account, to: (account + 1) % 4) } }
///       sim.run()
///       sim.expect(bank.total == 400, "money was lost")
///     }
///
/// While a run goes on, its threads are real, but one of them goes on at a time. At each operation of a queue, group, semaphore, timer
/// or source, and at `Simulation.yield()`, another one may go on instead. Time stands still while anything can run, and then jumps
/// to the next deadline: a day of timers takes a second. What waits for ever is named as a deadlock.
///
/// Make all queues and other objects inside of the body, and let no other thread of the process use the library meanwhile.
public final class Simulation: Sendable {
  /// How schedules are chosen.
  public enum Strategy: Sendable {
    /// At each point any thread may go on.
    case random
    /// Threads have priorities by chance, which change at `depth - 1` choices, points at which another thread could go on: finds what
    /// depends on `depth` steps in a certain order with a probability that is known (PCT). About every fourth run has more changes. In
    /// about every other run a thread that begins to wait becomes less urgent as well.
    case pct(depth: Int)
    /// All schedules in which a thread is interrupted so often at most, where it could have gone on; where it waits, each one that
    /// can go on does. Those with fewer interruptions come first. Ends by itself, or after `atMost` schedules; `Report.isComplete`
    /// says which, and `check` throws in the second case. The number of runs does not count.
    case exhaustive(preemptions: Int, atMost: Int = 100_000)
    /// Every order in which operations on queues, groups, semaphores and timers can come, with as many interruptions as that takes, one
    /// schedule for each: schedules with the same order of dependent operations count as one. For programs that order their accesses to
    /// shared memory by such objects, on a machine that has a processor for each item: what a `Mutex` or an `Atomic` guards is not seen, and
    /// needs a `Simulation.yield()` between the accesses. Ends by itself, or after `atMost` schedules; as for `exhaustive`, `Report.isComplete`
    /// says which, and the number of runs does not count.
    case everyOrder(atMost: Int = 100_000)
    /// The schedule of a failure.
    case replay(String)

    /// Whether it ends by itself, and `Report.isComplete` says what was found.
    package var isExhaustive: Bool {
      switch self {
      case .exhaustive, .everyOrder: true
      case .random, .pct, .replay: false
      }
    }
  }

  /// What was done, and what was found.
  public struct Report: Sendable {
    /// How many schedules were run.
    public fileprivate(set) var runs = 0
    /// How many points they have passed together.
    public fileprivate(set) var steps = 0
    /// Follows from all events of all runs: the same seed has the same one.
    public fileprivate(set) var hash: UInt64 = 0
    /// Timers that had not fired at the end of the last run.
    public fileprivate(set) var timersLeft = 0
    /// Whether these were all schedules that `.exhaustive` or `.everyOrder` stands for, and none has failed.
    public fileprivate(set) var isComplete = false
    /// What the program does of which `.everyOrder` does not know all orders, a sentence each. For `.exhaustive`: that it does not do the same
    /// each time, or has a task on Swift's own executor, which takes no part. Empty for other strategies.
    ///
    ///     print(Simulation.explore(strategy: .everyOrder()) { sim in … }.gaps)  // ["a queue is suspended"]
    public fileprivate(set) var gaps: [String] = []
    /// What all schedules follow from.
    public fileprivate(set) var seed: UInt64
    /// The first schedule that fails.
    public fileprivate(set) var failure: SimulationFailure?
  }

  private let inner: Run

  init(_ run: Run) { inner = run }

  // MARK: Inside of a run

  /// The simulation that the calling thread is in; nil outside of one. For a test with the trait `.simulated`, and for helpers.
  ///
  /// Complexity: O(1). Blocking: never.
  public static var current: Simulation? { SimulationSupport.isSimulated ? Explorer.current : nil }

  /// Lets everything run, and time pass, until nothing is left: no item, no timer, and no thread that waits with a deadline.
  ///
  /// A timer that repeats never ends: use `advance(by:)` beside one. Called by the body itself, not by what it submits.
  ///
  ///     queue.asyncAfter(deadline: .now() + .seconds(3_600)) { done = true }
  ///     sim.run()
  ///     sim.expect(done)
  ///
  /// Blocking: until nothing is left. No real time passes for that.
  public func run() { SimulatedOrder.unseen { inner.visit { inner.rest(.untilNothingIsLeft) } } }

  /// Lets everything run while so much time passes.
  ///
  ///     sim.advance(by: .seconds(60))
  ///
  /// Blocking: until the time has passed. No real time passes for that.
  public func advance(by duration: Duration) {
    let (seconds, attoseconds) = duration.components
    if seconds < 0 || attoseconds < 0 { return }
    advance(UInt64(seconds), of: 1_000_000_000, and: UInt64(attoseconds / 1_000_000_000))
  }

  /// As `advance(by:)` with a duration. `.never` waits until nothing is left.
  @_disfavoredOverload
  public func advance(by interval: DispatchTimeInterval) {
    switch interval {
    case .seconds(let count): advance(UInt64(max(0, count)), of: 1_000_000_000)
    case .milliseconds(let count): advance(UInt64(max(0, count)), of: 1_000_000)
    case .microseconds(let count): advance(UInt64(max(0, count)), of: 1_000)
    case .nanoseconds(let count): advance(UInt64(max(0, count)), of: 1)
    case .never: run()
    }
  }

  /// What the clock cannot count is never.
  private func advance(_ count: UInt64, of nanoseconds: UInt64, and more: UInt64 = 0) {
    let (product, isTooMuch) = count.multipliedReportingOverflow(by: nanoseconds)
    SimulatedOrder.unseen {
      inner.visit {
        let end = isTooMuch ? .max : inner.now.addingSaturated(product).addingSaturated(more)
        inner.rest(end == .max ? .untilNothingIsLeft : .until(end))
      }
    }
  }

  /// The time that has passed in this run.
  public var elapsed: Duration { .nanoseconds(SimulatedOrder.unseen { inner.visit { inner.now } } - Run.start) }

  /// What is begun and not ended now, a sentence for each: timers that have not fired, queues that are suspended, members of groups that
  /// have not left. Called by the body, behind the last of what should have ended.
  ///
  ///     sim.run()
  ///     sim.expect(sim.leftovers.isEmpty, sim.leftovers.joined(separator: "; "))
  ///
  /// Complexity: O(number of suspended queues). Blocking: never.
  public var leftovers: [String] { SimulatedOrder.unseen { inner.visit { inner.leftNow } } }

  /// Has the run fail with the message if the condition does not hold. Anywhere in a run, in items as well.
  ///
  /// Blocking: never.
  public func expect(_ condition: Bool, _ message: @autoclosure () -> String = "an expectation does not hold") {
    if condition || SimulatedOrder.unseen({ inner.visit { inner.complaint != nil } }) { return }
    let message = message()
    SimulatedOrder.unseen { inner.visit { inner.complaint = message } }
  }

  /// The calling thread keeps the turn, also where it sleeps outside (Run.R8): for what belongs to the kit.
  package func holdTurn(_ body: () -> Void) { SimulatedOrder.unseen { inner.visit { SimulatedOrder.seen(body) } } }

  /// As `run()`, and no longer than until a thread of the run calls `call()`: for a body that waits for jobs. Whether one has.
  package func restUntilCalled() -> Bool {
    SimulatedOrder.unseen {
      inner.visit {
        inner.rest(.untilCalled)
        return inner.isCalled
      }
    }
  }

  /// Ends `restUntilCalled()`. By a thread of a run.
  package static func call() {
    // That of a run which was given up stays here, and does not get into the one that is under way.
    _ = SimulationSupport.now()
    guard let run = current?.inner else { return }
    SimulatedOrder.unseen { run.visit { run.call() } }
  }

  /// Has the run fail with a deadlock: the calling thread waits for ever outside of the library, as the sentence says.
  package func deadlock(_ sentence: String) -> Never {
    SimulatedOrder.unseen { inner.present.fail(.deadlock([sentence] + inner.describeWaits())) }
  }

  /// For a task of the test framework's, which goes on where it is, outside: the program has not started it.
  package static func resume(_ body: () -> Void) { TasksOfRun.unnoted(body) }

  /// A task of the run goes to Swift's own executor.
  func noteTaskOutside() { SimulatedOrder.unseen { inner.visit { inner.hasTaskOutside = true } } }

  /// A point at which another thread may go on: put it between the steps of what should not be interrupted, or between a read and
  /// a write. Outside of a simulation it does nothing.
  ///
  /// Complexity: O(1). Blocking: as the schedule has it.
  public static func yield() { SimulationSupport.note(Events.Kind.yield) }

  // MARK: Runs

  /// Runs `body` in so many schedules, and rethrows what the first one that fails has thrown, after it has printed a timeline and
  /// a token to replay it by. A deadlock, an expectation that does not hold, and what escapes the simulation throw a
  /// `SimulationFailure`. The schedule is shrunk before: `body` runs up to 10,000 times more, in schedules with fewer switches, for ten
  /// seconds of the processors at most, and forty in all.
  ///
  ///     try Simulation.check { sim in
  ///       …
  ///       sim.run()
  ///     }
  ///
  /// - Parameters:
  ///   - runs: How many schedules, 1 at least: none would find nothing, and is misuse. One for `.replay`, and as many as there are for
  ///     `.exhaustive` and `.everyOrder`.
  ///   - strategy: Which schedules are chosen.
  ///   - processors: What the pool takes for the number of processors. A token has its own, and `.everyOrder` has sixteen at least.
  ///   - seed: What all schedules follow from; nil takes a new one each time.
  ///   - body: Called on a thread of the simulation, once a run. The calling thread waits. What `#expect` records there is no failure of the
  ///     schedule; `expect(_:_:)` is, and so is what it throws.
  ///
  /// Blocking: until all runs are over.
  @discardableResult
  public static func check(
    runs: Int = 1_000, strategy: Strategy = .random, processors: Int = 2, seed: UInt64? = nil,
    _ body: @escaping (Simulation) throws -> Void
  ) throws -> Report {
    let report = explore(runs: runs, strategy: strategy, processors: processors, seed: seed, body)
    if report.failure == nil, strategy.isExhaustive, !report.isComplete {
      throw SimulationFailure(.incomplete(report.runs, gaps: report.gaps))
    }
    guard let failure = report.failure else { return report }
    guard case .threw(let error) = failure.reason else { throw failure }
    Console.write(failure.description + "\n")
    throw error
  }

  /// As `check`, and returns the failure instead of throwing it.
  ///
  /// Blocking: until all runs are over.
  public static func explore(
    runs: Int = 1_000, strategy: Strategy = .random, processors: Int = 2, seed: UInt64? = nil,
    _ body: @escaping (Simulation) throws -> Void
  ) -> Report {
    if SimulationSupport.isSimulated {
      SimulationSupport.fail(
        .nested,
        "Simulation.check or Simulation.explore was called inside of a simulation. Call it behind the end of the other one."
      )
    }
    let range = Token.processorRange
    if !range.contains(processors) {
      SimulationSupport.fail(
        .processors,
        "Simulation with \(processors) processors. Pass a number from \(range.lowerBound) to \(range.upperBound).")
    }
    if runs < 1, !strategy.isExhaustive {
      SimulationSupport.fail(.runs, "Simulation with \(runs) runs, which would find nothing. Pass 1 or more.")
    }
    return Exploration.one.withLock { _ in
      explore(Exploration(runs, strategy, processors, seed ?? .random(in: 0 ... .max)), body)
    }
  }

  /// As `explore`. A run that stands still for so many nanoseconds is given up: for tests of that.
  package static func explore(
    patience: UInt64, runs: Int = 1, strategy: Strategy = .random, _ body: @escaping (Simulation) throws -> Void
  ) -> Report {
    Exploration.one.withLock { _ in
      explore(Exploration(runs, strategy, 2, .random(in: 0 ... .max)), patience: patience, body)
    }
  }

  /// As `explore(strategy: .everyOrder(…))`, with fewer operations that count as dependent: for tests of the search.
  package static func explore(
    orders dependence: Dependence, atMost: Int = 100_000, _ body: @escaping (Simulation) throws -> Void
  ) -> (report: Report, redundant: Int, classes: Set<UInt64>) {
    Exploration.one.withLock { _ in
      var exploration = Exploration(0, .everyOrder(atMost: atMost), 2, 0, dependence)
      let report = explore(&exploration, body)
      return (report, exploration.classes.redundant, exploration.classes.hashes)
    }
  }

  private static func explore(
    _ exploration: Exploration, patience: UInt64 = Explorer.patience, _ body: @escaping (Simulation) throws -> Void
  ) -> Report {
    var exploration = exploration
    return explore(&exploration, patience: patience, body)
  }

  private static func explore(
    _ exploration: inout Exploration, patience: UInt64 = Explorer.patience,
    _ body: @escaping (Simulation) throws -> Void
  ) -> Report {
    var report = Report(seed: exploration.seed)
    if exploration.isBad {
      report.failure = SimulationFailure(.badToken)
      return report
    }
    guard let outside = SimulationSupport.leaveRealWorld() else {
      report.failure = SimulationFailure(.busy)
      return report
    }
    _ = MainActorOfRun.isTaught
    _ = TasksOfRun.areSeen
    let explorer = Explorer(patience: patience, body)
    defer {
      SimulationSupport.returnToRealWorld(outside)
      explorer.end()
    }
    while report.failure == nil, let plan = exploration.next() {
      let attempt = explorer.attempt(plan.schedule, plan.token, limit: Attempt.longestRun)
      // Of an order that the search has tried the token is what the run has made; of a run that was given up, or too long, that is not known.
      let token = plan.schedule is OrderSchedule ? attempt.switches.map { plan.token.with($0) } : plan.token
      report.runs += 1
      report.steps += attempt.steps
      report.hash = report.hash &* 31 &+ attempt.hash
      report.timersLeft = attempt.timersLeft
      exploration.note(plan, attempt)
      guard let reason = attempt.reason else { continue }
      var shrinking: Shrinking?
      if let token, exploration.shrinks, !attempt.hasRace { shrinking = Shrinking(attempt, explorer, token) }
      var failure = SimulationFailure(reason, token, attempt, runs: report.runs - 1, shrinking?.result())
      failure.locate(explorer)
      report.failure = failure
    }
    report.isComplete = exploration.isComplete
    report.gaps = exploration.gaps
    return report
  }
}
