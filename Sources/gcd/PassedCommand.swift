// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// This file knows the argument parser and no queues: the parser's own dependencies bring a Dispatch of their own.
import ArgumentParser

/// A program and its arguments, as the parser passes them through.
struct PassedCommand {
  private let passed: [String]

  init(_ passed: [String]) { self.passed = passed }

  /// The command without the "--" that may stand before it.
  var words: [String] { Array(passed.first == "--" ? passed.dropFirst() : passed[...]) }

  /// Options that the parser has passed through are meant for the tool where they stand before the program's name.
  func validate(for tool: some ParsableCommand) throws {
    if let first = passed.first, ["-h", "--help"].contains(first) { throw CleanExit.helpRequest(tool) }
    if passed.first == "--version" { throw CleanExit.message(Version.text) }
    guard let program = words.first, !program.isEmpty else { throw ValidationError("Which program?") }
    if passed.first != "--", program.hasPrefix("-") { throw ValidationError("Unknown option '\(program)'.") }
  }
}
