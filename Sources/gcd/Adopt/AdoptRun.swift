// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// One run of `gcd adopt`, from the options to the exit code.
struct AdoptRun {
  private static let onlyShown: Int32 = 1
  private static let impossible: Int32 = 2

  private let options: AdoptOptions
  private let package: SwiftPackage
  private let targets: [SwiftPackage.Target]

  /// Does it, and ends the process.
  static func start(_ options: AdoptOptions) -> Never {
    EndOfProcess.keepAll()
    do {
      let package = try SwiftPackage.describe(options.package)
      let targets = try TargetChoice.targets(of: package, options)
      exit(try AdoptRun(options: options, package: package, targets: targets).run())
    } catch {
      let text = AdoptProblem.words(error)
      Terminal.write("gcd: \(text)\(text.hasSuffix("\n") ? "" : "\n")", to: .error)
      exit(impossible)
    }
  }

  private func run() throws -> Int32 {
    let changes = try targets.map { try change($0) }
    let pending = changes.filter { !$0.isNone }
    let style = Terminal.style(of: .output)
    for (target, change) in zip(targets, changes) {
      say(change.isNone ? "\(target.name): \(wordsForNothing(change))\n" : change.patch(style))
    }
    if !options.removes { try advise() }
    if pending.isEmpty { return EXIT_SUCCESS }
    guard isWanted(pending) else { return Self.onlyShown }
    for change in pending { try change.make(in: package.path) }
    let verb = options.removes ? "removed" : "wrote"
    for change in pending { say("\(verb) \(change.path)\n") }
    if options.removes { say("Package.swift may still have the lines for GrandCentral.\n") }
    try check()
    return EXIT_SUCCESS
  }

  private func change(_ target: SwiftPackage.Target) throws -> NamesChange {
    let path = target.namesFile
    let old = try TextFile.read(package.path + "/" + path)
    if let old, !NamesFile.isOurs(old) { throw AdoptProblem.notOurs(path) }
    let new = options.removes ? nil : Array(NamesFile.text(isPublic: options.isPublic).utf8)
    return NamesChange(path: path, old: old, new: new)
  }

  private func wordsForNothing(_ change: NamesChange) -> String {
    options.removes ? "has no \(NamesFile.name)" : "\(change.path) is as it should be"
  }

  private func advise() throws {
    let hints = try targets.map { try SourceHints($0, in: package) }
    for (target, hints) in zip(targets, hints) { say("\(target.name) \(hints.verdict).\n") }
    for line in ManifestAdvice.lines(package, targets) { say(line + "\n") }
    let (publicUses, foundationUses) = (hints.flatMap(\.publicUses), hints.flatMap(\.foundationUses))
    if !options.isPublic, !publicUses.isEmpty {
      say("Public declarations seem to have these names, which takes --public: \(Self.list(publicUses))\n")
    }
    if !foundationUses.isEmpty {
      say(
        "Foundation wants a queue of Dispatch's here, Dispatch.DispatchQueue from now on: "
          + Self.list(foundationUses) + "\n")
    }
  }

  /// At most three of the places, and how many more there are.
  private static func list(_ places: [String]) -> String {
    let shown = places.prefix(3).map { TextLayout.printable($0) }.joined(separator: ", ")
    return places.count > 3 ? shown + " and \(places.count - 3) more" : shown
  }

  private func isWanted(_ changes: [NamesChange]) -> Bool {
    switch options.consent {
    case .given: return true
    case .asked where isatty(0) == 1 && Terminal.isTerminal(.output):
      say(options.removes ? "Remove it? [y/N] " : "Write it? [y/N] ")
      if ["y", "yes"].contains(readLine()?.lowercased()) { return true }
      say("Nothing has been changed.\n")
    case .asked: say("Nothing has been changed: --yes does it.\n")
    case .refused: say("Nothing has been changed.\n")
    }
    return false
  }

  /// A manifest that lists the sources one by one does not know of a new one.
  private func check() throws {
    if options.removes { return }
    let now = try SwiftPackage.describe(options.package)
    for target in targets {
      if now.targets.first(where: { $0.name == target.name })?.hasNamesFile != true {
        throw AdoptProblem.notCompiled(target.namesFile, target.name)
      }
    }
  }

  private func say(_ text: String) { Terminal.write(text, to: .output) }
}
