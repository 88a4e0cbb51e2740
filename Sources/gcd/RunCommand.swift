// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// This file knows the argument parser and no queues: the parser's own dependencies bring a Dispatch of their own.
import ArgumentParser

/// `gcd run -- PROGRAM ARGUMENT…`
struct RunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run an existing program on this library instead of its own libdispatch.",
    discussion: """
      The tool puts the library before the program's own by LD_LIBRARY_PATH, or by LD_PRELOAD where that would not be \
      enough. It asks the dynamic loader which library the program would get; if that is another one, it runs nothing. \
      Otherwise the tool becomes the program, so signals and the exit code are the program's own. Programs that the \
      program starts inherit the setting.

      The tool looks for the library beside itself, in ../lib, in ../lib/grandcentral, and in .build-dropin/lib of the \
      folders above.

      The tool's own exit codes are those of env: 125 if the program would not run on the library, 126 if it cannot be \
      run, 127 if there is no such program. "gcd doctor" says why.
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

  func validate() throws {
    try PassedCommand(command).validate(for: self)
  }

  func run() {
    ProgramRun.start(RunOptions(command: PassedCommand(command).words, library: library, isVerbose: verbose))
  }
}

/// What was asked for.
struct RunOptions {
  let command: [String]
  let library: String?
  let isVerbose: Bool
}
