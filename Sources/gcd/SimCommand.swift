// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// This file knows the argument parser and no queues: the parser's own dependencies bring a Dispatch of their own.
import ArgumentParser

/// `gcd sim -- PROGRAM ARGUMENT…`
struct SimCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sim",
    abstract: "Run an existing program in simulated schedules, under virtual time, and replay the one that fails.",
    discussion: """
      The program runs once in each schedule, in a process of its own, on a library that simulates: one thread goes on at a \
      time, and at each operation of a queue, group, semaphore, timer or source another one may go on instead. Time stands \
      still while anything can run, and then jumps to the next deadline. So it is for the program's own threads, mutexes, \
      conditions, semaphores, sleeps and clocks. The program is not built again; it may be in C or in Swift.

      A schedule has failed if the program does not end with the exit code 0: by another code, by a signal, because all \
      threads wait for ever, because the library is used in a way that cannot work, or because it takes too many steps or \
      too long. The tool shrinks the first schedule that fails, and prints what the program has written, the last events, \
      and the token that replays it. If it waits for something that is not simulated, a read for example, that is an \
      escape, and a failure as well.

      The command must be the program itself: what the program starts is not simulated. Its input is empty.

      The tool's exit codes: 0 if no schedule has failed, 1 if one has, or if exhaustive has not run all of them, 125 if \
      the program would not run on the library, 126 if it cannot be run, 127 if there is no such program. \
      "Scripts/build-dropin --simulation" builds the library; the tool looks for it in grandcentral/sim, below the folders \
      where "gcd run" looks.
      """
  )

  @Option(help: ArgumentHelp("How many schedules are run; exhaustive runs all, up to 100,000.", valueName: "count"))
  var runs = 100

  @Option(
    help: ArgumentHelp(
      "How they are chosen: random; pct or pct:DEPTH, by priorities that change; exhaustive or exhaustive:SWITCHES, "
        + "all with so many interruptions.", valueName: "name"))
  var strategy = "random"

  @Option(
    help: ArgumentHelp("What all schedules follow from; another one each time if it is left out.", valueName: "number"))
  var seed: UInt64?

  @Option(help: ArgumentHelp("Run this schedule alone, which a failure has printed.", valueName: "token"))
  var replay: String?

  @Option(help: ArgumentHelp("What the program takes for the number of processors.", valueName: "count"))
  var processors = 2

  @Option(help: ArgumentHelp("How many seconds a run may take, in real time.", valueName: "seconds"))
  var timeLimit = SimOptions.longestTime

  @Option(help: ArgumentHelp("How many points a run may pass.", valueName: "count"))
  var stepLimit = SimOptions.longestRun

  @Flag(help: "Run each schedule twice, and fail if the events are not the same.")
  var check = false

  @Flag(help: "Leave the schedule that fails as it was found.")
  var noShrink = false

  @Option(
    help: ArgumentHelp(
      "Write the last events of the schedule that fails, or of the one that is replayed, to a file of the format of gcd trace.",
      valueName: "file"),
    completion: .file())
  var trace: String?

  @Option(
    help: ArgumentHelp("The library that simulates, or the folder that it is in.", valueName: "path"),
    completion: .file())
  var library: String?

  @Argument(
    parsing: .captureForPassthrough,
    help: ArgumentHelp("The program and its arguments.", valueName: "program"))
  var command: [String]

  func validate() throws {
    try PassedCommand(command).validate(for: self)
    if runs < 1 { throw ValidationError("There is no run with --runs \(runs).") }
    if timeLimit < 1 || stepLimit < 1 { throw ValidationError("A limit is at least 1.") }
    if timeLimit > SimOptions.mostSeconds {
      throw ValidationError("--time-limit is at most \(SimOptions.mostSeconds).")
    }
    if !SimOptions.processorRange.contains(processors) { throw ValidationError("--processors is from 1 to 64.") }
    if SimOptions.strategy(strategy) == nil { throw ValidationError("There is no strategy '\(strategy)'.") }
    if let replay, !SimOptions.isToken(replay) { throw ValidationError("'\(replay)' is no token of a simulation.") }
  }

  func run() {
    SimRun.start(
      SimOptions(
        command: PassedCommand(command).words, runs: runs, strategy: strategy, seed: seed, replay: replay,
        processors: processors,
        seconds: timeLimit, steps: stepLimit, checks: check, shrinks: !noShrink, trace: trace, library: library))
  }
}
