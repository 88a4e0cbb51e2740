// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Which targets are meant.
enum TargetChoice {
  static func targets(of package: SwiftPackage, _ options: AdoptOptions) throws -> [SwiftPackage.Target] {
    if !options.targets.isEmpty {
      var chosen: [SwiftPackage.Target] = []
      for name in options.targets where !chosen.contains(where: { $0.name == name }) {
        guard let target = package.targets.first(where: { $0.name == name }) else {
          throw AdoptProblem.noSuchTarget(name, package: package.name, targets: package.targets.map(\.name))
        }
        chosen.append(target)
      }
      return chosen
    }
    if options.removes { return package.targets.filter(\.hasNamesFile) }
    guard let only = package.targets.first else { throw AdoptProblem.noTargets(package.name) }
    if package.targets.count > 1 {
      let verdicts = try package.targets.map { "\($0.name) \(try SourceHints($0, in: package).verdict)" }
      throw AdoptProblem.severalTargets(package.name, targets: verdicts)
    }
    return [only]
  }
}

/// Why it cannot be done.
enum AdoptProblem: Error {
  case noSuchTarget(String, package: String, targets: [String])
  case noTargets(String)
  case severalTargets(String, targets: [String])
  case notOurs(String)
  case notCompiled(String, String)

  /// What is told of any error of a run.
  static func words(_ error: any Error) -> String {
    switch error {
    case let error as AdoptProblem: error.words
    case let error as SwiftPackage.Failure: error.words
    case let error as TextFile.Failure: error.words
    default: "\(error)"
    }
  }

  private var words: String {
    switch self {
    case .noSuchTarget(let name, let package, let targets):
      "the package \(package) has no target of Swift sources called \(name): it has " + Self.list(targets)
    case .noTargets(let package): "the package \(package) has no target of Swift sources"
    case .severalTargets(let package, let targets):
      "the package \(package) has several targets, --target says which: " + Self.list(targets)
    case .notOurs(let path):
      "\(path) is not the tool's: its first line says otherwise. Rename it, or take it away"
    case .notCompiled(let path, let target):
      "\(path) is written, but \(target) does not compile it: add it to the target's sources in Package.swift"
    }
  }

  private static func list(_ names: [String]) -> String { names.isEmpty ? "none" : names.joined(separator: ", ") }
}

extension SwiftPackage.Failure {
  var words: String {
    switch self {
    case .noManifest(let folder):
      "there is no Package.swift in \(folder == "." ? "this folder" : folder): run it in a package, or give --package-path"
    case .noSwift(let code): "swift cannot be run, which is asked for the package's targets: \(ProgramRun.words(code))"
    case .refused(let text): "swift package describe failed:\n\(text)"
    case .unintelligible: "what swift package describe says of the package cannot be understood"
    }
  }
}
