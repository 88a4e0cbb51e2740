// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// This file knows the argument parser and no queues: the parser's own dependencies bring a Dispatch of their own.
import ArgumentParser

/// `gcd trace convert`
struct TraceConvertCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gcd trace convert",
    abstract: "Make another format of a timeline that gcd trace has written.",
    discussion: """
      json is the format of Chrome's tracing. stacks is a line for each function of each queue, "queue;function", with the \
      microseconds that its items took, for flame graphs. csv is a table of all slices, instants and counters.

      The exit code is 0 if it is written, 1 if it could not be, 5 if the file is no timeline or damaged, 6 if it cannot be \
      read.
      """
  )

  @Argument(help: ArgumentHelp("The timeline; - is standard input.", valueName: "file"), completion: .file())
  var input: String

  @Option(name: .shortAndLong, help: ArgumentHelp("Where to write; - is standard output.", valueName: "file"))
  var output: String

  @Option(help: ArgumentHelp("json, stacks or csv.", valueName: "format"))
  var format: ConversionOptions.Format = .json

  func run() {
    ConversionRun.start(ConversionOptions(input: input, output: output, format: format))
  }
}

extension ConversionOptions.Format: ExpressibleByArgument {}
