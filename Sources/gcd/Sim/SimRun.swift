// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentralTesting

/// One run of `gcd sim`.
struct SimRun {
  private enum Code {
    static let failed: Int32 = 1
    static let wouldNotRun: Int32 = 125
    static let cannotStart: Int32 = 126
  }

  private let options: SimOptions
  private let program: SimulatedProgram
  private let seed: UInt64
  private var steps = 0
  private var runs = 0

  static func start(_ options: SimOptions) -> Never {
    EndOfProcess.keepAll()
    let library: DropIn
    do { library = try DropIn.findSimulating(options.library) } catch {
      fail(error.words(ProgramRun.words), Code.wouldNotRun)
    }
    let program: Program
    do { program = try Program.find(options.command[0]) } catch { fail(error.words(ProgramRun.words), error.code) }
    let name = TextLayout.printable(options.command[0])
    if program.isScript {
      fail("\(name) is a script, and what reads it would be simulated: name the program itself", Code.wouldNotRun)
    }
    var obstacles = Examination(program, library).obstacles
    let environment = Replacement.preload.environment(library)
    // LD_LIBRARY_PATH may have a blank in it, so the examination has no obstacle. A simulated program has the library preloaded.
    if environment == nil, obstacles.isEmpty { obstacles = [.staysWith([])] }
    for obstacle in obstacles { tell("\(name) \(obstacle.words)") }
    guard obstacles.isEmpty, let environment else { exit(Code.wouldNotRun) }
    guard let simulated = SimulatedProgram(options, program, environment: environment) else {
      fail("no folder for the reports: \(ProgramRun.words(errno))", Code.wouldNotRun)
    }
    // A terminal sends it to the programs as well.
    Interrupt.install(quits: true)
    // What it cannot write does not end the tool: its folder is to be removed.
    TraceOutput.ignoreSignals()
    stayInPlace()
    var run = SimRun(options, simulated)
    let code = run.explore()
    simulated.removeFolder()
    if let signal = Interrupt.received { exit(128 + signal) }
    if let reason = simulated.notStarted { tell("\(name): \(ProgramRun.words(reason))") }
    exit(code)
  }

  private init(_ options: SimOptions, _ program: SimulatedProgram) {
    self.options = options
    self.program = program
    seed = options.seed ?? .random(in: 0 ... .max)
  }

  /// Programs have the same addresses in each run, where the system lets the tool ask for that: some print them, or sort by them.
  private static func stayInPlace() {
    // Swift's module of the C library leaves sys/personality.h out.
    typealias Function = @convention(c) (UInt) -> Int32
    guard let address = dlsym(nil, "personality") else { return }
    let personality = unsafeBitCast(address, to: Function.self)
    let sameAddresses: UInt = 0x0040000
    let current = personality(0xffff_ffff)
    if current >= 0 { _ = personality(UInt(current) | sameAddresses) }
  }

  // MARK: Schedules

  private mutating func explore() -> Int32 {
    var exploration = options.exploration(seed: seed)
    program.leavesTrace = options.trace != nil && options.replay != nil
    while !Interrupt.isRequested, let plan = exploration.next() {
      let attempt = program.attempt(plan.schedule, plan.token, limit: options.steps)
      // It was not let come to its end.
      if Interrupt.isRequested { break }
      if program.notStarted != nil { return Code.cannotStart }
      runs += 1
      steps += attempt.steps
      exploration.note(plan, attempt)
      if options.replay != nil, case .switches(let switches) = plan.token.kind,
        let made = program.last?.report?.switches,
        !Set(switches).isSubset(of: made)
      {
        Self.tell("the token does not fit: it is another program's, or of other arguments, or the program has changed")
      }
      if let reason = attempt.reason {
        tellFailure(reason, attempt, plan.token, shrinks: exploration.shrinks)
        return Code.failed
      }
      if options.checks, !isRepeatable(plan.token, attempt) { return Code.failed }
      if program.notStarted != nil { return Code.cannotStart }
    }
    if options.replay != nil {
      writeOutputOfProgram()
      writeTrace()
    }
    let end = options.end(of: exploration, runs: runs, wasInterrupted: Interrupt.isRequested)
    Self.tell(end.text + " (\(options.replay == nil ? "seed \(seed), " : "")\(steps) steps)")
    if let left = program.last?.report?.left, !left.isEmpty {
      Self.tell("left at the end of the last one: " + TextLayout.printable(left.joined(separator: "; ")))
    }
    tellOutside(of: program.last?.report, "the last one")
    return end.isWhole ? EXIT_SUCCESS : Code.failed
  }

  /// Runs the schedule once more.
  private mutating func isRepeatable(_ token: Token, _ attempt: Attempt) -> Bool {
    guard let first = program.last?.report else { return true }
    _ = program.attempt(token.schedule, token, limit: options.steps)
    if Interrupt.isRequested || program.notStarted != nil { return true }
    guard let second = program.last?.report, second.hash != first.hash || second.end != first.end else {
      if program.last?.report != nil { return true }
      Self.tell("the schedule \(token.text) had no end the second time: \(program.last?.sentence ?? "")")
      return false
    }
    Self.tell(
      "the schedule \(token.text) had other events the second time: the program depends on something that is not simulated"
    )
    tellOutside(of: second, "it")
    for sentence in difference(token, first, second).sentences { Self.tell(TextLayout.printable(sentence)) }
    return false
  }

  /// Of two runs of a schedule that have differed. It runs twice more, and tells all events; where these runs are equal, those first ones
  /// are looked at.
  private func difference(_ token: Token, _ first: SimReport, _ second: SimReport) -> SimDifference {
    program.tellsAllEvents = true
    let reports = (0..<2).compactMap { _ in
      _ = program.attempt(token.schedule, token, limit: options.steps)
      return program.last?.report
    }
    if reports.count == 2, reports[0].hash != reports[1].hash { return SimDifference(reports[0], reports[1]) }
    return SimDifference(first, second)
  }

  private func tellOutside(of report: SimReport?, _ run: String) {
    guard let outside = report?.outside, !outside.isEmpty else { return }
    Self.tell("read from outside in \(run): " + TextLayout.printable(outside.joined(separator: "; ")))
  }

  // MARK: A failure

  private func tellFailure(_ reason: SimulationFailure.Reason, _ attempt: Attempt, _ found: Token, shrinks: Bool) {
    var token = found
    var run = program.last
    var shrunk = ""
    if shrinks, options.shrinks {
      var shrinking = Shrinking(attempt, program, found)
      if let result = shrinking?.result(), result.token.text.utf8.count <= Token.mostCharacters {
        // What it leaves is that of its last run.
        let last = program.attempt(result.token.schedule, result.token, limit: options.steps)
        if last.reason != nil {
          (token, run) = (result.token, program.last)
          let count = result.switches == 1 ? "1 forced switch is" : "\(result.switches) forced switches are"
          shrunk = "; \(count) left, after \(result.runs) more runs"
        }
      }
    }
    if options.trace != nil, options.replay == nil {
      program.leavesTrace = true
      _ = program.attempt(token.schedule, token, limit: options.steps)
    }
    writeTrace()
    if let output = run?.output, !output.isEmpty {
      Terminal.write("--- what the program has written ---\n", to: .output)
      Self.write(output)
    }
    if let timeline = run?.report?.timeline, !timeline.isEmpty {
      Terminal.write("--- the last events: step, virtual time, thread, event ---\n\(timeline)---\n", to: .output)
    }
    Self.tell("simulation: " + TextLayout.printable(run?.sentence ?? ""))
    for place in places(of: run?.report, token) { Self.tell(TextLayout.printable(place)) }
    let before = runs - 1
    let count = before == 1 ? "1 schedule" : "\(before) schedules"
    if options.replay == nil {
      Self.tell("after \(count) without a failure (seed \(seed))\(shrunk)")
      Self.tell("replay it by: " + TextLayout.printable(options.replaying(token)))
    }
  }

  /// Where the threads of a deadlock wait, a sentence for each. The schedule runs once more for that.
  private func places(of report: SimReport?, _ token: Token) -> [String] {
    guard let report, !report.waits.isEmpty else { return [] }
    program.locatedWaits = report.waits
    _ = program.attempt(token.schedule, token, limit: options.steps)
    guard let again = program.last?.report, again.hash == report.hash else { return [] }
    return SimPlaces(again).sentences
  }

  /// The trace that the last run has left.
  private func writeTrace() {
    guard let file = options.trace, program.notStarted == nil else { return }
    do throws(TraceOutput.Failure) {
      let output = try TraceOutput(file)
      output.write(program.traceOfLast)
      output.flush()
      if let failure = output.failure { Self.tell(output.report(failure, whole: true)) }
    } catch {
      Self.tell("\(TextLayout.printable(file)): \(ProgramRun.words(error.code))")
    }
  }

  private func writeOutputOfProgram() {
    if let output = program.last?.output { Self.write(output) }
  }

  private static func write(_ bytes: [UInt8]) {
    guard Terminal.write(bytes, to: .output) else { return }
    if bytes.last != UInt8(ascii: "\n") { Terminal.write("\n", to: .output) }
  }

  private static func tell(_ text: String) { Terminal.write("gcd: \(text)\n", to: .error) }

  private static func fail(_ text: String, _ code: Int32) -> Never {
    tell(text)
    exit(code)
  }
}
