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
      IndexCommand.self, CatCommand.self, CopyCommand.self, WatchCommand.self, WaitCommand.self, RunCommand.self,
      DoctorCommand.self, AdoptCommand.self,
    ]
  )

  static func main() { main(Arguments.exact) }
}
