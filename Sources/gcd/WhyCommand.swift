// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// This file knows the argument parser and no queues: the parser's own dependencies bring a Dispatch of their own.
import ArgumentParser

/// `gcd why PID`
struct WhyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "why",
    abstract: "Tell why a process does not get on: what each thread waits for, since when, and what to do.",
    discussion: """
      Deadlocks come first, then what blocks the main queue, then everything that has waited long: for a queue and the thread \
      that holds it, a group, a semaphore, a work item, a once, the iterations of a concurrentPerform; workers that block outside \
      of the library; a pool near its limit. All of it was read from the process, or comes from the kernel; the tool says what it \
      does not know.

      The process is not stopped and not woken; the tool can look at one that hangs, and at one that is stopped. What a thread does \
      outside of the library, a lock, a read, a sleep, is what the kernel says of it.

      A core file shows the same of a process that is gone: write one of a process that hangs by "gcore PID", or by kill -ABRT \
      where core files are written. What its threads did outside of the library is not in it.

      The members of --json: pid, name, core (of --core), stopped, afterSeconds, findings, remarks. A finding: kind (\(Finding.kinds)), forSeconds, \
      sentence, details (text, and because: more of the same kind), remedy, threads, labels, blocksMainQueue.

      The exit code is 0 if nothing has waited long, 1 if something has, or \(RegionFailure.help).
      """
  )

  @Option(
    help: ArgumentHelp(
      "Tell of what has waited at least this long; of the main queue a tenth of it.", valueName: "seconds"))
  var after = 1.0

  @Option(help: ArgumentHelp("Leave findings of these kinds out; commas between them.", valueName: "kinds"))
  var silence: [String] = []

  @Flag(help: "Print one JSON object.")
  var json = false

  @Option(help: ArgumentHelp("Tell of the process that this core file is of.", valueName: "file"))
  var core: String?

  @Argument(help: ArgumentHelp("The number of the process.", valueName: "pid"))
  var process: Int32?

  func validate() throws {
    if (process == nil) == (core == nil) { throw ValidationError("Name a process, or a core file by --core.") }
    if let process { try SnapshotCommand.check(process) }
    if !(0...1e9).contains(after) {
      throw ValidationError("--after takes a number from 0 to 1000000000, not \(after).")
    }
    if let unknown = FindingRules.kinds(silence).unknown {
      throw ValidationError(FindingRules.words(unknown: unknown))
    }
  }

  func run() {
    guard let subject = core.map({ .core($0) }) ?? process.map({ WhyOptions.Subject.process($0) }) else { return }
    let rules = FindingRules(after: UInt64(after * 1e9), silenced: FindingRules.kinds(silence).kinds)
    WhyRun.start(WhyOptions(subject: subject, rules: rules, printsJSON: json))
  }
}

/// What was asked for.
struct WhyOptions: Sendable {
  enum Subject: Sendable {
    case process(Int32)
    /// The path of a core file.
    case core(String)
  }

  let subject: Subject
  let rules: FindingRules
  let printsJSON: Bool
}
