// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// This file knows the argument parser and no queues: the parser's own dependencies bring a Dispatch of their own.
import ArgumentParser

/// `gcd wait PID…`
struct WaitCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "wait",
    abstract: "Wait until processes have ended, children or not.",
    discussion: """
      The tool has one event source for each process, and polls nothing. It can tell how a process has ended if the \
      process is a child of the tool (as after "exec gcd wait" in a shell), or if the kernel tells other processes \
      (from Linux 6.15 on). Otherwise it says "ended".

      The exit code is 0 when all processes have ended, 1 when the time is over before, and 2 if one of the numbers is \
      no process; the tool waits for the others all the same. It is 6 if what the tool says cannot be written.
      """
  )

  @Argument(help: ArgumentHelp("The numbers of the processes.", valueName: "pid"))
  var processes: [Int32]

  @Option(name: .shortAndLong, help: ArgumentHelp("How long to wait at most.", valueName: "seconds"))
  var timeout: Double?

  @Flag(help: "Print each process as one line of JSON.")
  var json = false

  func validate() throws {
    if let wrong = processes.first(where: { $0 < 1 }) {
      throw ValidationError("\(wrong) is not the number of a process.")
    }
    if let timeout, !(0...1e9).contains(timeout) {
      throw ValidationError("--timeout takes a number from 0 to 1000000000, not \(timeout).")
    }
  }

  func run() {
    WaitRun.start(WaitOptions(processes: processes, seconds: timeout, printsJSON: json))
  }
}

/// What was asked for.
struct WaitOptions: Sendable {
  let processes: [Int32]
  let seconds: Double?
  let printsJSON: Bool
}
