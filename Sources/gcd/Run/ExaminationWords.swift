// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// An examination, in words.
extension Examination.Obstacle {
  var words: String {
    switch self {
    case .linkedStatically: "is linked statically: there is no loader that could put another library in"
    case .hasItsOwn: "has a libdispatch in itself, linked statically: link it with the shared one"
    case .gainsRights:
      "is started with other rights (set-user-id, set-group-id or capabilities): the loader ignores the environment"
    case .otherMachine: "is for another kind of machine than the library"
    case .otherLoader(let path): "is loaded by \(TextLayout.printable(path)), which is not glibc's loader"
    case .untrustedLoader(let path):
      "is loaded by \(TextLayout.printable(path)), which others than root may have written: it is not run to be asked"
    case .librariesMissing(let names): "misses " + names.map { TextLayout.printable($0) }.joined(separator: ", ")
    case .staysWith(let paths):
      paths.isEmpty
        ? "cannot be made to load the library: its path has a colon or a blank"
        : "stays with " + paths.map { TextLayout.printable($0) }.joined(separator: " and ")
          + ": RPATH, or a path in place of a name, is stronger than the environment"
    case .loaderRefuses(let complaint):
      "cannot be made to load the library: the loader \(TextLayout.printable(complaint))"
    case .namesMissing(let names): "wants what the library lacks: " + names.joined(separator: ", ")
    }
  }

  /// For programs that read.
  var name: String {
    switch self {
    case .linkedStatically: "linked-statically"
    case .hasItsOwn: "has-its-own"
    case .gainsRights: "gains-rights"
    case .otherMachine: "other-machine"
    case .otherLoader: "other-loader"
    case .untrustedLoader: "untrusted-loader"
    case .librariesMissing: "libraries-missing"
    case .staysWith: "stays-with"
    case .loaderRefuses: "loader-refuses"
    case .namesMissing: "names-missing"
    }
  }
}

extension Program.Failure {
  /// The exit code of `gcd run`, as of `env`.
  var code: Int32 {
    if case .notFound = self { return 127 }
    return 126
  }

  func words(_ describe: (Int32) -> String) -> String {
    switch self {
    case .notFound(let name): "\(TextLayout.printable(name)): no such program"
    case .unreadable(let path, let code): "\(TextLayout.printable(path)): \(describe(code))"
    case .notAProgram(let path): "\(TextLayout.printable(path)): not a program for a 64-bit machine"
    }
  }
}

extension DropIn.Failure {
  func words(_ describe: (Int32) -> String) -> String {
    switch self {
    case .notFound: "no libdispatch.so of GrandCentral found; Scripts/build-dropin makes one, --library names one"
    case .doesNotSimulate(let path):
      path.isEmpty
        ? "no libdispatch.so that simulates found; Scripts/build-dropin --simulation makes one, --library names one"
        : "\(TextLayout.printable(path)): not a libdispatch that simulates"
    case .unreadable(let path, let code): "\(TextLayout.printable(path)): \(describe(code))"
    case .notALibrary(let path): "\(TextLayout.printable(path)): not a libdispatch for a 64-bit machine"
    }
  }
}
