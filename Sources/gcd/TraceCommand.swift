// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// This file knows the argument parser and no queues: the parser's own dependencies bring a Dispatch of their own.
import ArgumentParser

/// `gcd trace`
struct TraceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trace",
    abstract: "Record what a program's queues do, and write it as a timeline.",
    usage: """
      gcd trace [<options>] <process>
      gcd trace [<options>] -- <program> [<argument> ...]
      gcd trace [<options>] --core <file>
      gcd trace convert <file> --output <file> [--format <format>]
      """,
    discussion: """
      The timeline opens at https://ui.perfetto.dev, or in anything else that reads Perfetto's format. It has a track for \
      each queue with its items, and one for each thread with the queues that it served, its sleeps and waits; arrows lead \
      from where an item was submitted to where it began. Records that found no room are counted there.

      A process is recorded from now on, until it ends, or Ctrl-C, or as long as --seconds and --count say. It needs no \
      preparation. A process that another tool records is refused: each tool would get only a part of the records. With --last \
      nothing is switched on: the tool writes what the process's flight recorder has kept. A process has one if it was started \
      with GRANDCENTRAL_RECORD=ring in its environment. With --core the tool writes what that recorder had when a core file was \
      made. The kernel makes one when the process crashes; the library makes one at its own faults, if GRANDCENTRAL_CORE is a \
      path in the environment, and in GrandCentralRuntime.writeCore.

      A program is started as "gcd run" starts it, unless GrandCentral is in it already, and recorded from its begin. What \
      it reads and writes, its signals and its exit code stay its own.

      "gcd trace convert FILE --output FILE --format FORMAT" makes a Chrome trace (json, the default), stacks for flame graphs \
      (stacks: queue;function and microseconds) or a table (csv) of a timeline; - is standard input or output.

      The exit code is 0 if the trace is written, 1 if it could not be written whole, \(RegionFailure.help). With a program \
      it is the program's, or, as of env, 125 if the tool itself fails, 126 if the program cannot be run, 127 if there is \
      none.
      """
  )

  @Option(help: ArgumentHelp("Record for so long.", valueName: "number"))
  var seconds: Double?

  @Option(help: ArgumentHelp("Write what the flight recorder has of the last seconds.", valueName: "number"))
  var last: Double?

  @Option(help: ArgumentHelp("Write what the flight recorder had when this core file was made.", valueName: "file"))
  var core: String?

  @Option(help: ArgumentHelp("Stop after so many records.", valueName: "number"))
  var count: UInt64?

  @Option(
    help: ArgumentHelp("The library that the program runs on, or the folder that it is in.", valueName: "path"),
    completion: .file())
  var library: String?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Where to write; - is standard output. Without it a name is made up, and told.", valueName: "file"),
    completion: .file())
  var output: String?

  @Argument(
    parsing: .captureForPassthrough,
    help: ArgumentHelp("A process's number, or -- and a program with its arguments.", valueName: "process"))
  var subject: [String] = []

  func validate() throws {
    if let first = subject.first, ["-h", "--help"].contains(first) { throw CleanExit.helpRequest(self) }
    if subject.first == "--version" { throw CleanExit.message(Version.text) }
    for value in [seconds, last] {
      if let value, !(value > 0 && value < 1e9) { throw ValidationError("That is no length of time: \(value).") }
    }
    if count == 0 { throw ValidationError("A trace of 0 records is none.") }
    if last != nil, seconds != nil || count != nil {
      throw ValidationError("--last writes what there is; --seconds and --count record.")
    }
    if subject.first == "convert" { return }
    switch try subject(of: subject) {
    case .core:
      if seconds != nil || count != nil || library != nil {
        throw ValidationError("--core writes what there is, all of it or the part that --last names.")
      }
    case .process:
      if library != nil { throw ValidationError("--library is for programs that are started.") }
    case .command:
      if last != nil { throw ValidationError("--last is for processes that run.") }
    }
  }

  private func subject(of words: [String]) throws -> TraceOptions.Subject {
    if let core {
      if !words.isEmpty { throw ValidationError("--core stands alone: '\(words[0])'.") }
      return .core(core)
    }
    if words.first == "--" {
      let command = Array(words.dropFirst())
      if command.first?.isEmpty ?? true { throw ValidationError("Which program?") }
      return .command(command)
    }
    guard let word = words.first else { throw ValidationError("Which process?") }
    guard let process = Int32(word), process > 0 else {
      if word.hasPrefix("-") { throw ValidationError("Unknown option '\(word)'.") }
      throw ValidationError("'\(word)' is no number of a process. A program stands after --.")
    }
    guard words.count == 1 else { throw ValidationError("Options stand before the process: '\(words[1])'.") }
    return .process(process)
  }

  func run() throws {
    if subject.first == "convert" { return TraceConvertCommand.main(Array(subject.dropFirst())) }
    TraceRun.start(
      TraceOptions(
        subject: try subject(of: subject), seconds: seconds, last: last, count: count, library: library,
        output: output))
  }
}
