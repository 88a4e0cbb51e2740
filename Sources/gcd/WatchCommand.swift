// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// This file knows the argument parser and no queues: the parser's own dependencies bring a Dispatch of their own.
import ArgumentParser

/// `gcd watch PATH…`
struct WatchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Tell what happens to files and folders, as it happens.",
    discussion: """
      The tool has one event source for each file and folder. It watches a folder with everything below it, also with \
      what is created there later. It does not follow symbolic links in folders. It compares listings to find entries \
      that came, went or were renamed, so it may miss an entry that comes and goes again at once.

      When an editor saves by replacing a file, the tool goes on with the file that has the name now. When a path is \
      gone, the tool waits for it, as long as its folder is there.

      Events: create, write, extend, attrib, link, rename, delete, revoke.

      With --exec the shell runs a command after changes, one command at a time; changes during a run cause one more \
      run. GCD_PATHS has the changed paths, one in a line, up to 100,000 bytes. A command that changes what is watched \
      runs again and again. The command's input is empty. When the tool ends it asks the command to end.

      Ctrl-C ends the tool with exit code 0. If nothing is left to watch, or the output cannot be written, the exit code \
      is 1.
      """
  )

  @Argument(help: ArgumentHelp("Files and folders.", valueName: "path"), completion: .file())
  var paths: [Path]

  @Flag(help: "Print each event as one line of JSON.")
  var json = false

  @Option(name: .customLong("exec"), help: ArgumentHelp("Run this with /bin/sh after changes.", valueName: "command"))
  var command: String?

  @Option(help: ArgumentHelp("How long no further change must come before the command is run.", valueName: "ms"))
  var debounce = 100

  @Option(name: .shortAndLong, help: "End after this many events; a command that is due is run first.")
  var count: Int?

  @Flag(name: .customLong("no-recursive"), help: "Watch a folder and the files in it, and not what is in its folders.")
  var isFlat = false

  @Option(help: "How many files and folders may be watched; further ones are seen only as entries of their folders.")
  var limit = 8192

  func validate() throws {
    if paths.contains(where: \.bytes.isEmpty) { throw ValidationError("A path is empty.") }
    if let command, command.isEmpty { throw ValidationError("--exec takes a command, not nothing.") }
    if !(0...3_600_000).contains(debounce) {
      throw ValidationError("--debounce takes a number from 0 to 3600000, not \(debounce).")
    }
    if let count, count < 1 { throw ValidationError("--count takes a number from 1 on, not \(count).") }
    if !(1...1_000_000).contains(limit) {
      throw ValidationError("--limit takes a number from 1 to 1000000, not \(limit).")
    }
  }

  func run() {
    WatchRun.start(
      WatchOptions(
        paths: paths, printsJSON: json, command: command, debounceMilliseconds: debounce, count: count,
        isRecursive: !isFlat, limit: limit))
  }
}

/// What was asked for.
struct WatchOptions: Sendable {
  let paths: [Path]
  let printsJSON: Bool
  let command: String?
  let debounceMilliseconds: Int
  let count: Int?
  let isRecursive: Bool
  let limit: Int
}
