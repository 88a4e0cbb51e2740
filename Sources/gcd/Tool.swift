// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The command-line tool.
@main
struct Tool: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gcd",
    abstract: "Grand Central Dispatch at work.",
    version: Version.text,
    subcommands: [
      WatchCommand.self, WaitCommand.self, RunCommand.self, SimCommand.self, DoctorCommand.self, AdoptCommand.self,
      SnapshotCommand.self, WhyCommand.self, TopCommand.self, TraceCommand.self,
    ]
  )

  static func main() {
    Terminal.fillClosedPlaces()
    main(Arguments.exact)
  }
}
