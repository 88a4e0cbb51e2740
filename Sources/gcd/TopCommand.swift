// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// This file knows the argument parser and no queues: the parser's own dependencies bring a Dispatch of their own.
import ArgumentParser

/// `gcd top [PID | --all | -- COMMAND…]`
struct TopCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "top",
    abstract: "Show live what a process does: queue latency, queues, threads, and what each thread waits for.",
    discussion: """
      A full-screen table of 40 columns and 8 rows or more; "?" explains the columns and the keys. On top stands what "gcd why" would \
      tell. Rates and latencies need records: the tool switches the process's recording on and takes the records away, and \
      switches it off at its end; with --no-record it shows states only. A process that another tool records is shown without rates.

      With a command, the tool starts it and ends with it, with its exit code. What it writes is discarded, or goes to \
      --output. Of a program that does not use GrandCentral, "gcd top -- gcd run PROGRAM" shows the queues.

      With --web it serves the same as one page for a browser, which needs nothing else from the network: only on this machine \
      (127.0.0.1), and only at the address that it prints, which has a token in it. The same address with "json" at its \
      end gives what --once --json prints. The key Ctrl-C ends it.

      NO_COLOR switches colours off. \(TopJSON.help)

      The exit code is 0, that of the command, or \(RegionFailure.help).
      """
  )

  @Flag(help: "Show all processes that may be looked at; enter shows one of them.")
  var all = false

  @Option(help: ArgumentHelp("How long to wait between two looks.", valueName: "seconds"))
  var interval = 1.0

  @Option(
    help: ArgumentHelp(
      "Findings are of what has waited at least this long; of the main queue a tenth of it.", valueName: "seconds"))
  var after = 1.0

  @Option(help: ArgumentHelp("Leave findings of these kinds out; commas between them.", valueName: "kinds"))
  var silence: [String] = []

  @Flag(inversion: .prefixedNo, help: "Record, so that there are rates; with --no-record there are states only.")
  var record = true

  @Flag(help: "Look once, after an interval, and print.")
  var once = false

  @Flag(help: "With --once: print one JSON object.")
  var json = false

  @Flag(help: "Serve a page for a browser, and print its address.")
  var web = false

  @Option(help: ArgumentHelp("With --web: the port; 0 is one that is free.", valueName: "number"))
  var port: UInt16 = 0

  @Option(help: ArgumentHelp("Where the output of the command goes.", valueName: "path"), completion: .file())
  var output = "/dev/null"

  @Argument(
    parsing: .captureForPassthrough, help: ArgumentHelp("The process, or -- and a command.", valueName: "pid"))
  var target: [String] = []

  func validate() throws {
    if !(0.1...3600).contains(interval) {
      throw ValidationError("--interval takes a number from 0.1 to 3600, not \(interval).")
    }
    if !(0...1e9).contains(after) {
      throw ValidationError("--after takes a number from 0 to 1000000000, not \(after).")
    }
    if let unknown = FindingRules.kinds(silence).unknown {
      throw ValidationError(FindingRules.words(unknown: unknown))
    }
    if web, once || all { throw ValidationError("--web shows one process, live: it does not go with --once or --all.") }
    if port != 0, !web { throw ValidationError("--port goes with --web.") }
    if json, !once { throw ValidationError("--json goes with --once.") }
    _ = try chosen()
  }

  private func chosen() throws -> TopTarget {
    if ["-h", "--help"].contains(target.first) { throw CleanExit.helpRequest(self) }
    if target.first == "--version" { throw CleanExit.message(Version.text) }
    if all {
      guard target.isEmpty else { throw ValidationError("--all takes no process.") }
      return .all
    }
    guard let first = target.first else {
      throw ValidationError("Which process? A number, --all, or -- and a command.")
    }
    if first == "--" {
      let command = Array(target.dropFirst())
      guard command.first?.isEmpty == false else { throw ValidationError("Which command?") }
      return .command(command)
    }
    guard target.count == 1, let process = Int32(first), process > 0 else {
      throw ValidationError(
        "'\(target.joined(separator: " "))' is not the number of a process; options come before it, a command after --."
      )
    }
    return .process(process)
  }

  func run() throws {
    TopRun.start(
      TopOptions(
        target: try chosen(), interval: interval,
        rules: FindingRules(after: UInt64(after * 1e9), silenced: FindingRules.kinds(silence).kinds), records: record,
        once: once, printsJSON: json, output: output, port: web ? port : nil))
  }
}

enum TopTarget: Equatable, Sendable {
  case process(Int32)
  case all
  case command([String])
}

/// What was asked for.
struct TopOptions: Sendable {
  let target: TopTarget
  let interval: Double
  let rules: FindingRules
  let records: Bool
  let once: Bool
  let printsJSON: Bool
  let output: String
  /// Nil: no page is served.
  var port: UInt16?
}
