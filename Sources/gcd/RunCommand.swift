// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// This file knows the argument parser and no queues: the parser's own dependencies bring a Dispatch of their own.
import ArgumentParser

/// `gcd run -- PROGRAM ARGUMENT…`
struct RunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run an existing program on this library instead of its own libdispatch.",
    discussion: """
      The library is put before the program's own by LD_LIBRARY_PATH, or by LD_PRELOAD where that would not be enough. \
      The dynamic loader is asked which library the program then gets; if it is another one, nothing is run. The tool then \
      becomes the program, so signals and the exit code are the program's own. What the program starts inherits the setting.

      The library is looked for beside the tool, in ../lib, and in .build-dropin/lib of the folders above the tool.

      Exit codes of the tool's own, as of env: 125 if the program would not run on the library, 126 if it cannot be run, \
      127 if there is none. "gcd doctor" tells more.
      """
  )

  @Option(
    help: ArgumentHelp("The library, or the folder that it is in.", valueName: "path"), completion: .file())
  var library: String?

  @Flag(help: "Say which library the program runs on, and how.")
  var verbose = false

  @Argument(
    parsing: .captureForPassthrough,
    help: ArgumentHelp("The program and its arguments.", valueName: "program"))
  var command: [String]

  /// The command without the "--" that may stand before it.
  private var words: [String] { Array(command.first == "--" ? command.dropFirst() : command[...]) }

  func validate() throws {
    // What passes words through passes these as well; before the program they are meant for the tool.
    if let first = command.first, ["-h", "--help"].contains(first) { throw CleanExit.helpRequest(self) }
    if command.first == "--version" { throw CleanExit.message(Version.text) }
    guard let program = words.first, !program.isEmpty else { throw ValidationError("Which program?") }
    if command.first != "--", program.hasPrefix("-") { throw ValidationError("Unknown option '\(program)'.") }
  }

  func run() {
    ProgramRun.start(RunOptions(command: words, library: library, isVerbose: verbose))
  }
}

/// What was asked for.
struct RunOptions {
  let command: [String]
  let library: String?
  let isVerbose: Bool
}
