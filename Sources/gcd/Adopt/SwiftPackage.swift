// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// A package as SwiftPM describes it.
struct SwiftPackage {
  /// Its folder, absolute.
  let path: String
  let name: String
  /// The names of the packages that it depends on, as `.product(name:package:)` takes them.
  let dependencies: [String]
  /// Those of Swift sources.
  let targets: [Target]

  struct Target {
    let name: String
    /// Its folder, seen from the package's.
    let path: String
    /// Its files, seen from its own folder.
    let sources: [String]
    /// The products and targets that it depends on.
    let dependencies: [String]

    /// The file of names: where it is, or where it belongs.
    var namesFile: String {
      if let present = sources.first(where: { $0 == NamesFile.name || $0.hasSuffix("/" + NamesFile.name) }) {
        return path + "/" + present
      }
      return ([path] + commonFolders + [NamesFile.name]).joined(separator: "/")
    }

    var hasNamesFile: Bool { sources.contains { Path($0).name == NamesFile.name } }

    /// The folders that all of its files are in: a manifest that names the sources names those.
    private var commonFolders: [String] {
      var common: [Substring]?
      for source in sources {
        let folders = source.split(separator: "/").dropLast()
        common = common.map { known in zip(known, folders).prefix { $0 == $1 }.map(\.0) } ?? Array(folders)
      }
      return common?.map(String.init) ?? []
    }
  }

  enum Failure: Error {
    case noManifest(String)
    case noSwift(code: Int32)
    case refused(String)
    case unintelligible
  }

  /// Asks SwiftPM.
  static func describe(_ folder: String) throws(Failure) -> SwiftPackage {
    guard access(folder + "/Package.swift", R_OK) == 0 else { throw .noManifest(folder) }
    let result: CapturedCommand.Result
    do {
      result = try CapturedCommand.run(["swift", "package", "--package-path", folder, "describe", "--type", "json"])
    } catch { throw .noSwift(code: error.code) }
    guard result.status == 0 else { throw .refused(String(decoding: result.error, as: UTF8.self)) }
    // Some versions print what they fetch before the description.
    guard let start = result.output.firstIndex(of: UInt8(ascii: "{")),
      let package = JSONValue(Array(result.output[start...])).flatMap(SwiftPackage.init)
    else { throw .unintelligible }
    return package
  }

  private init?(_ value: JSONValue) {
    guard let path = value["path"]?.string, let name = value["name"]?.string, let targets = value["targets"]?.array
    else {
      return nil
    }
    self.path = path
    self.name = name
    dependencies = value["dependencies"]?.array?.compactMap { $0["identity"]?.string } ?? []
    self.targets = targets.compactMap(Target.init)
  }
}

extension SwiftPackage.Target {
  /// Nil for one that is not of Swift sources.
  init?(_ value: JSONValue) {
    guard value["module_type"]?.string == "SwiftTarget", let name = value["name"]?.string,
      let path = value["path"]?.string
    else { return nil }
    self.name = name
    self.path = path
    sources = Self.strings(value["sources"])
    dependencies = Self.strings(value["product_dependencies"]) + Self.strings(value["target_dependencies"])
  }

  private static func strings(_ value: JSONValue?) -> [String] { value?.array?.compactMap(\.string) ?? [] }
}
