// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// This file knows the argument parser and no queues: the parser's own dependencies bring a Dispatch of their own.
import ArgumentParser
import IndexKit

/// `gcd copy SRC DST`
struct CopyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "copy",
    abstract: "Copy a file or a folder through channels, several files at once.",
    discussion: """
      What is copied into a folder that exists keeps its name. Folders are copied with all that is in them; permissions \
      and times are kept, symbolic links stay links, holes in files stay holes. Files that exist are written over. Pipes, \
      sockets and devices in folders are left out, and told of; as SRC itself a pipe or a device is read to its end.

      With --verify each file is read again on both sides when it has been written, the copy from the disk where the \
      kernel lets go of it, and compared by a 128-bit hash.

      The exit code is 1 if anything could not be copied, or differs; Ctrl-C ends it with 130, and leaves the files that \
      were under way incomplete, which it says.
      """
  )

  @Argument(help: ArgumentHelp("What to copy.", valueName: "src"), completion: .file())
  var source: Path

  @Argument(help: ArgumentHelp("Where to, or the folder to copy it into.", valueName: "dst"), completion: .file())
  var destination: Path

  @Flag(help: "Compare each copy with its original.")
  var verify = false

  @Option(name: .shortAndLong, help: "How many files to copy at once.")
  var jobs = 4

  @Flag(name: .customLong("no-progress"), help: "Show no progress, even on a terminal.")
  var hidesProgress = false

  func validate() throws {
    if source.bytes.isEmpty || destination.bytes.isEmpty { throw ValidationError("A name is empty.") }
    if !(1...64).contains(jobs) { throw ValidationError("--jobs takes a number from 1 to 64, not \(jobs).") }
  }

  func run() {
    CopyRun.start(
      CopyOptions(
        source: source, destination: destination, verifies: verify, jobs: jobs, showsProgress: !hidesProgress))
  }
}

/// What was asked for.
struct CopyOptions: Sendable {
  let source: Path
  let destination: Path
  let verifies: Bool
  let jobs: Int
  let showsProgress: Bool
}
