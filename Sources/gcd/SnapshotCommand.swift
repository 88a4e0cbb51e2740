// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// This file knows the argument parser and no queues: the parser's own dependencies bring a Dispatch of their own.
import ArgumentParser

/// `gcd snapshot PID`
struct SnapshotCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "snapshot",
    abstract: "Show what a process does at this moment: its threads, what they wait for, its queues.",
    discussion: """
      The process is read, by memory that the library shows of itself: it is not stopped and not woken, and it need not run. \
      So the tool can look at a process that hangs, and at one that is stopped. The kernel permits that to the same user and to \
      the administrator. It works for programs that use GrandCentral, and for those that "gcd run" has put on it.

      A thread is active (it runs, or blocks outside of the library), asleep (a worker without work), or waiting in one of the \
      library's calls. Queues, sources, timers, groups and channels are listed if the program was started with \
      GRANDCENTRAL_INSPECT=1; otherwise queues that a thread has waited for or has suspended, or that were made inactive, and what was \
      used while something was recorded.

      \(Snapshot.jsonHelp)

      The exit code is 0, or \(RegionFailure.help).
      """
  )

  @Flag(help: "Print one JSON object.")
  var json = false

  @Argument(help: ArgumentHelp("The number of the process.", valueName: "pid"))
  var process: Int32

  func validate() throws { try Self.check(process) }

  static func check(_ process: Int32) throws {
    if process < 1 { throw ValidationError("\(process) is not the number of a process.") }
  }

  func run() { SnapshotRun.start(process: process, printsJSON: json) }
}
