// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// How a program is made to run on the library.
enum Replacement: String, CaseIterable {
  /// The library's folder is searched before the others: only programs that need the library load it.
  case libraryPath = "LD_LIBRARY_PATH"
  /// The library is loaded first, into this program and every program that it starts.
  case preload = "LD_PRELOAD"

  /// The environment with the library in it; nil if its path cannot be written there.
  func environment(_ library: DropIn) -> [String]? {
    let (value, separators): (String, String) =
      switch self {
      case .libraryPath: (library.folder, ":;")
      case .preload: (library.path, ": \t\n")
      }
    if value.contains(where: { separators.contains($0) }) { return nil }
    // A library of another name is not found by the name that programs ask for.
    if self == .libraryPath, !library.path.hasSuffix("/" + DropIn.name) { return nil }
    let others = Files.variable(rawValue).map { $0.isEmpty ? "" : ":" + $0 } ?? ""
    return Self.environment.filter { !$0.hasPrefix(rawValue + "=") } + ["\(rawValue)=\(value)\(others)"]
  }

  /// The tool's own.
  static var environment: [String] {
    var strings: [String] = []
    var next = environ
    while let entry = next.pointee {
      strings.append(Files.text(entry))
      next += 1
    }
    return strings
  }
}

/// Whether and how a program can run on the library.
struct Examination {
  /// Why it cannot.
  enum Obstacle: Equatable {
    case linkedStatically
    case hasItsOwn
    case gainsRights
    case otherMachine
    case otherLoader(String)
    /// It would have to be run, and is not to be trusted.
    case untrustedLoader(String)
    case librariesMissing([String])
    /// The loader takes this library, regardless of the environment.
    case staysWith([String])
    /// The loader does not load the library, for a reason of its own.
    case loaderRefuses(String)
    case namesMissing([String])
  }

  let program: Program
  let library: DropIn
  /// What the program would load now; nil if that cannot be known.
  private(set) var now: Loader.Listing?
  /// What it would load then.
  private(set) var then: Loader.Listing?
  private(set) var replacement: Replacement?
  private(set) var obstacles: [Obstacle] = []
  /// How many names of libdispatch the program and its libraries want.
  private(set) var wanted = 0

  /// - Parameter isToRun: The program is run afterwards, and its loader with it, whatever that is.
  init(_ program: Program, _ library: DropIn, isToRun: Bool = true) {
    self.program = program
    self.library = library
    if program.elf.interpreter == nil { obstacles.append(.linkedStatically) }
    if program.hasItsOwn { obstacles.append(.hasItsOwn) }
    if program.elf.machine != library.elf.machine { obstacles.append(.otherMachine) }
    if program.gainsRights { obstacles.append(.gainsRights) }
    guard program.elf.interpreter != nil else { return }
    guard let loader = Loader(program) else {
      obstacles.append(.otherLoader(program.elf.interpreter ?? ""))
      return
    }
    guard isToRun || loader.isTrusted else {
      obstacles.append(.untrustedLoader(loader.interpreter))
      return
    }
    now = loader.list(program.binary, environment: Replacement.environment)
    if let missing = now?.missing.filter({ $0 != DropIn.name }), !missing.isEmpty {
      obstacles.append(.librariesMissing(missing))
    }
    choose(loader)
  }

  /// Whether the program itself, or a library it is linked with, asks for libdispatch.
  var needsDispatch: Bool { now.map { !$0.dispatch.isEmpty || $0.missing.contains(DropIn.name) } ?? false }

  private mutating func choose(_ loader: Loader) {
    var stays: [String] = []
    var complaint = ""
    for candidate in Replacement.allCases {
      guard let environment = candidate.environment(library),
        let listing = loader.list(program.binary, environment: environment)
      else { continue }
      // What asks for no libdispatch may load one later, or start a program that does.
      let takes = listing.dispatch.allSatisfy { Files.areSame($0, library.path) }
      if takes, listing.isList, !listing.dispatch.isEmpty || !needsDispatch {
        (replacement, then) = (candidate, listing)
        return
      }
      stays = listing.dispatch
      if complaint.isEmpty { complaint = listing.complaint }
    }
    // What the loader says without the library as well is an obstacle of the program's.
    if !complaint.isEmpty, complaint != now?.complaint || stays.isEmpty && obstacles.isEmpty {
      obstacles.append(.loaderRefuses(complaint))
    } else if complaint.isEmpty || !stays.isEmpty {
      obstacles.append(.staysWith(stays))
    }
  }

  /// Compares the names, which takes reading all libraries.
  mutating func compareNames() {
    guard let then else { return }
    var (wanted, defined) = (program.elf.wanted, program.elf.defined.union(library.elf.defined))
    for path in then.libraries {
      guard let elf = MappedFile(path).flatMap({ ElfFile($0) }) else { continue }
      wanted.formUnion(elf.wanted)
      defined.formUnion(elf.defined)
    }
    self.wanted = wanted.count
    let missing = wanted.subtracting(defined)
    if !missing.isEmpty { obstacles.append(.namesMissing(missing.sorted())) }
  }
}
