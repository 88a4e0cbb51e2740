// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// This file knows the argument parser and no queues: the parser's own dependencies bring a Dispatch of their own.
import ArgumentParser
import IndexKit

/// `gcd cat FILE…`
struct CatCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cat",
    abstract: "Write files to standard output, one after the other, through channels.",
    discussion: """
      Reads with one channel and writes with another, so that neither waits for the other; what is on its way is bounded. \
      "-" is standard input. Pipes, devices and terminals are read like files.

      A file that cannot be read is told of, and the others are written; the exit code is then 1. Ctrl-C ends it with 130.
      """
  )

  @Argument(help: ArgumentHelp("The files.", valueName: "file"), completion: .file())
  var files: [Path]

  @Flag(name: .customLong("no-progress"), help: "Show no progress, even on a terminal.")
  var hidesProgress = false

  func run() { CatRun.start(files, showsProgress: !hidesProgress) }
}
