// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// This file knows the argument parser and no queues: the parser's own dependencies bring a Dispatch of their own.
import ArgumentParser
import IndexKit

/// `gcd index [FOLDER]`
struct IndexCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "index",
    abstract: "Read all files of a folder at once: count their words, find duplicates.",
    discussion: """
      Walks the folder, reads every file on a concurrent queue, and sums up on a serial one. A semaphore bounds how many \
      files are open, a group tells when the last one is done, a repeating timer draws the progress.

      A word is a run of letters, digits and underscores; case does not matter. Symbolic links are not followed. Files \
      with a zero byte near their beginning count as binary: they are hashed, their words are not counted. The hash is \
      128 bits, of the tool's own making, and not cryptographic.

      Ctrl-C stops and tells how far the work got; the exit code is then 130. Files that cannot be read are listed.
      """
  )

  @Argument(help: ArgumentHelp("The folder to index.", valueName: "folder"), completion: .directory)
  var folder = Path(".")

  @Option(name: .shortAndLong, help: "How many files may be open at once. (default: twice the cores)")
  var jobs: Int?

  @Flag(help: "Read one file after the other on one thread, for comparison.")
  var serial = false

  @Flag(help: "Print the report as JSON.")
  var json = false

  @Option(name: .shortAndLong, help: "How many of the most frequent words to show.")
  var top = 10

  @Flag(name: .customLong("no-progress"), help: "Show no progress, even on a terminal.")
  var hidesProgress = false

  func validate() throws {
    if folder.bytes.isEmpty { throw ValidationError("The folder's name is empty.") }
    if let jobs {
      if serial { throw ValidationError("--serial reads one file at a time: it goes with no --jobs.") }
      if !(1...1024).contains(jobs) { throw ValidationError("--jobs takes a number from 1 to 1024, not \(jobs).") }
    }
    if !(0...1_000_000).contains(top) { throw ValidationError("--top takes a number from 0 to 1000000, not \(top).") }
  }

  func run() {
    IndexRun.start(
      IndexOptions(
        folder: folder, jobs: jobs, isSerial: serial, printsJSON: json, top: top, showsProgress: !hidesProgress))
  }
}

/// What was asked for.
struct IndexOptions: Sendable {
  let folder: Path
  let jobs: Int?
  let isSerial: Bool
  let printsJSON: Bool
  let top: Int
  let showsProgress: Bool
}
