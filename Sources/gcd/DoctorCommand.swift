// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// This file knows the argument parser and no queues: the parser's own dependencies bring a Dispatch of their own.
import ArgumentParser

/// `gcd doctor PROGRAM`
struct DoctorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Tell which libdispatch a program uses, and whether it would run on this one.",
    discussion: """
      The tool does not run the program. It reads the files of the program and its libraries, and asks the dynamic \
      loader what it would load. It tells which libdispatch the program uses, how that can be replaced, which names \
      the library lacks that the program or its libraries want, and what keeps the environment from having an effect: \
      static linking, set-user-id and capabilities, RPATH, a path in place of a name.

      The exit code is 0 if the program would run on this library or uses no libdispatch, 1 if it would not run, and 2 \
      if the tool cannot examine it.
      """
  )

  @Option(
    help: ArgumentHelp("The library, or the folder that it is in.", valueName: "path"), completion: .file())
  var library: String?

  @Flag(help: "Print one line of JSON.")
  var json = false

  @Argument(help: "The program.", completion: .file())
  var program: String

  func run() {
    DoctorRun.start(DoctorOptions(program: program, library: library, printsJSON: json))
  }
}

/// What was asked for.
struct DoctorOptions {
  let program: String
  let library: String?
  let printsJSON: Bool
}
