// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

/// What the body throws where a test framework has recorded an issue: the failure is told as that of an expectation.
package struct RecordedIssue: Error {
  let text: String
  package init(_ text: String) { self.text = text }
}

/// A schedule in which the program does something wrong.
///
///     let failure = Simulation.explore(strategy: .pct(depth: 3)) { _ in try transfer() }.failure
///     print(failure?.token ?? "nothing found")
public struct SimulationFailure: Error, CustomStringConvertible {
  /// What is wrong.
  public enum Reason: Sendable {
    /// The body has thrown this.
    case threw(any Error)
    /// `Simulation.expect` was told so.
    case expectation(String)
    /// All threads wait, and nothing will wake them: a sentence for each one, and for each pipe inside of the process that a source waits for.
    case deadlock([String])
    /// The library was used in a way that cannot work: the line that the process would end with otherwise.
    case misuse(String)
    /// ThreadSanitizer has reported a data race, which it prints, and nothing else is wrong.
    case race
    /// The run has passed more points than it may; and which threads waited then.
    case endless([String])
    /// A thread has used the library beside the simulation; or all threads wait, and only an event from outside that a source or a channel
    /// waits for may let one go on.
    case escape(String)
    /// A thread waits where the simulation does not see it: in a mutex of the system, say, or in a read.
    case stalled(String)
    /// The process's queues did not come to rest before the simulation.
    case busy
    /// The token of `.replay` is none.
    case badToken
    /// There are more schedules than `.exhaustive` or `.everyOrder` may run, the program does something of which `.everyOrder` does not
    /// know all orders, it does not do the same each time, or it has a task on Swift's own executor (`gaps` says what it is); so many have not
    /// failed.
    case incomplete(Int, gaps: [String])
    /// The kernel makes no more threads, or the run has had as many as it may: 4,095 in all, those that have ended too.
    case noThread

    /// The body has thrown `error`, or a test framework has recorded an issue.
    static func thrown(_ error: any Error) -> Reason {
      (error as? RecordedIssue).map { .expectation($0.text) } ?? .threw(error)
    }
  }

  /// What is wrong with the schedule.
  public let reason: Reason
  /// Replays the schedule: `.replay(token)`. At most 200 characters. Empty where `.everyOrder` has found a run that was given up (`.stalled`), or
  /// one that is too long for a token.
  public let token: String
  /// How many schedules there were before it.
  public let runs: Int
  /// The last events of the run, one a line: step, virtual time, thread, event.
  public let timeline: String
  /// What the token replays.
  private let attempt: Attempt?
  private var places: WaitPlaces?
  /// More of the last events, as a trace in the format of `gcd trace`, which Perfetto's page shows; empty if nothing was recorded. Each
  /// step is a microsecond long in it, beside the virtual time.
  ///
  ///     try Data(failure.trace).write(to: URL(fileURLWithPath: "failure.pftrace"))
  public var trace: [UInt8] { attempt?.told.map { TraceOfRun($0).bytes } ?? [] }
  /// How often the schedule of the token departs from the usual one, in which a thread goes on until it waits; nil if it was not shrunk,
  /// as one with a race is not: the sanitizer reports a race once in a process.
  public let switches: Int?
  /// Whether ThreadSanitizer has reported a race in the schedule, which it prints, whatever else is wrong there.
  public let hasRace: Bool
  /// How many runs the shrinking has taken.
  public let shrinkingRuns: Int

  /// What has no schedule.
  init(_ reason: Reason) {
    self.reason = reason
    token = ""
    runs = 0
    timeline = ""
    attempt = nil
    switches = nil
    shrinkingRuns = 0
    hasRace = false
  }

  /// - Parameters:
  ///   - found: Nil if no token replays the run.
  ///   - shrunk: Takes the place of what was found, if its token is short enough.
  init(_ reason: Reason, _ found: Token?, _ attempt: Attempt, runs: Int, _ shrunk: Shrinking.Result?) {
    let text = shrunk?.token.text ?? ""
    let isShrunk = shrunk != nil && text.utf8.count <= Token.mostCharacters
    let replayed = isShrunk ? shrunk?.attempt ?? attempt : attempt
    self.reason = replayed.reason ?? reason
    token = isShrunk ? text : found?.text ?? ""
    self.runs = runs
    self.attempt = replayed
    timeline = replayed.told?.timeline ?? ""
    switches = isShrunk ? shrunk?.switches : nil
    shrinkingRuns = shrunk?.runs ?? 0
    hasRace = attempt.hasRace
  }

  /// Has a deadlock know where its threads wait, if they wait as well when the token is replayed.
  mutating func locate(_ explorer: Explorer) {
    if let attempt, let token = Token(token) { places = explorer.places(of: attempt, token) }
  }

  /// The reason, the token, the timeline, and how many schedules there were: what a test prints. Of a deadlock also the lines of the program
  /// that wait: to look them up takes a second in a large program.
  public var description: String {
    var text = "simulation: " + sentence
    switch attempt?.earlier {
    case .threw(let error)?: text += "\nBefore that, the body had thrown \(error)"
    case .expectation(let message)?: text += "\nBefore that, an expectation did not hold: " + message
    default: break
    }
    for line in places?.sentences ?? [] { text += "\n" + line }
    if attempt?.hasTaskOutside == true { text += "\n" + Self.taskOutside }
    if hasRace, !isRace { text += "\nThe thread sanitizer has reported a race in that schedule as well" }
    if !token.isEmpty {
      text += "\nafter \(runs) schedules without a failure. Replay it by .replay(\"\(token)\")"
      if let switches {
        let count = switches == 1 ? "one forced switch is" : "\(switches) forced switches are"
        text += "\nThe token has \(token.utf8.count) characters: \(count) left, after \(shrinkingRuns) more runs"
      }
    }
    return timeline.isEmpty ? text : text + "\n" + timeline
  }

  fileprivate static func incomplete(_ runs: Int, _ gaps: [String]) -> String {
    gaps.isEmpty
      ? "there are more schedules than the \(runs) that were run, none of which has failed"
      : "there may be more schedules than the \(runs) that were run, none of which has failed: "
        + gaps.joined(separator: "; ")
  }

  private static let taskOutside =
    "A task of the run is on Swift's own executor, where it takes no part: let it prefer a queue,"
    + " Task(executorPreference: queue), or call DispatchExecutors.install() of GrandCentralExecutors first of all in main"

  private var isRace: Bool { if case .race = reason { true } else { false } }

  var sentence: String {
    switch reason {
    case .threw(let error): "a schedule has thrown \(error)"
    case .expectation(let message), .misuse(let message): message
    case .deadlock(let waits): "deadlock: " + waits.joined(separator: "; ")
    case .race: "the thread sanitizer has reported a race"
    case .endless(let waits): "a run does not end" + (waits.isEmpty ? "" : ": " + waits.joined(separator: "; "))
    case .escape(let message): "escape: " + message
    case .stalled(let message): "escape: " + message
    case .busy:
      "the queues of the process do not come to rest: something runs, or waits, in an item outside the simulation"
    case .incomplete(let runs, let gaps): Self.incomplete(runs, gaps)
    case .badToken: "the token is none of a simulation"
    case .noThread:
      "there is no thread for the simulation: a run has \(SimulatedKernel.mostThreads) in all at most, or the kernel makes no more"
    }
  }
}

extension Simulation.Report {
  /// Why a test of a framework fails that has explored schedules of this strategy; nil if it does not.
  package func complaint(of strategy: Simulation.Strategy) -> String? {
    if let failure { return failure.description }
    return strategy.isExhaustive && !isComplete ? "simulation: " + SimulationFailure.incomplete(runs, gaps) : nil
  }
}
