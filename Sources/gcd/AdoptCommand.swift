// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// This file knows the argument parser and no queues: the parser's own dependencies bring a Dispatch of their own.
import ArgumentParser

/// `gcd adopt`
struct AdoptCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "adopt",
    abstract: "Make the names of Dispatch mean GrandCentral's in targets of a package.",
    discussion: """
      In a file that imports Foundation on Linux, DispatchQueue has two meanings, because Foundation brings the \
      toolchain's Dispatch along. A module's own names win over imported ones. So the tool writes one small file of \
      type aliases, \(NamesFile.name), into the target: there the names mean GrandCentral's. The other files stay as \
      they are.

      The tool shows first what it would write, and asks on a terminal. It does not change Package.swift, but says \
      what is missing there. --remove takes the file away again. A file of that name that the tool has not written \
      stays as it is.

      The exit code is 0 if the work is done or there is none, 1 if the tool has only shown what there is to do, and 2 \
      if it cannot be done.
      """
  )

  @Option(help: ArgumentHelp("The target; can be given more than once.", valueName: "name"))
  var target: [String] = []

  @Option(
    name: .customLong("package-path"), help: ArgumentHelp("The package's folder.", valueName: "folder"),
    completion: .directory)
  var package = "."

  @Flag(help: "Make the names public: for a target whose public declarations have them.")
  var `public` = false

  @Flag(help: "Take the file away again; without --target from every target that has it.")
  var remove = false

  @Flag(name: .shortAndLong, help: "Do it without asking.")
  var yes = false

  @Flag(name: .customLong("dry-run"), help: "Only show it.")
  var dryRun = false

  func validate() throws {
    if yes && dryRun { throw ValidationError("--yes and --dry-run contradict each other.") }
    if remove && `public` { throw ValidationError("--public says how to write the file, --remove takes it away.") }
    if package.isEmpty || target.contains("") { throw ValidationError("A name is empty.") }
  }

  func run() {
    AdoptRun.start(
      AdoptOptions(
        package: package, targets: target, isPublic: `public`, removes: remove,
        consent: yes ? .given : dryRun ? .refused : .asked))
  }
}

/// What was asked for.
struct AdoptOptions {
  enum Consent {
    case given
    case refused
    case asked
  }

  let package: String
  let targets: [String]
  let isPublic: Bool
  let removes: Bool
  let consent: Consent
}
