// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// The library that programs are to run on.
struct DropIn {
  /// Absolute.
  let path: String
  let elf: ElfFile

  static let name = "libdispatch.so"

  var folder: String { String(path[..<path.lastIndex(of: "/")!]) }

  enum Failure: Error {
    case notFound(looked: [String])
    case doesNotSimulate(String)
    case unreadable(String, code: Int32)
    case notALibrary(String)
  }

  /// The library that the user names, by its file or its folder; else the first of ours in the usual places.
  static func find(_ wish: String?) throws(Failure) -> DropIn {
    if let wish {
      let path = Files.isFolder(wish) ? wish + "/" + name : wish
      guard let absolute = Files.absolute(path) else { throw .unreadable(path, code: errno) }
      guard let file = MappedFile(absolute) else { throw .unreadable(path, code: errno) }
      guard let elf = ElfFile(file), !elf.isExecutable, elf.defined.contains("dispatch_async_f") else {
        throw .notALibrary(path)
      }
      return DropIn(path: absolute, elf: elf)
    }
    for candidate in usualPlaces {
      guard let absolute = Files.absolute(candidate), let file = MappedFile(absolute), isOurs(file),
        let elf = ElfFile(file)
      else { continue }
      return DropIn(path: absolute, elf: elf)
    }
    throw .notFound(looked: usualPlaces)
  }

  /// The library that simulates: the one that the user names, or the first one below the usual places.
  static func findSimulating(_ wish: String?) throws(Failure) -> DropIn {
    if let wish {
      let library = try find(wish)
      guard let file = MappedFile(library.path), simulates(file) else { throw .doesNotSimulate(wish) }
      return library
    }
    for place in usualPlaces.map({ String($0.dropLast(name.count)) + "grandcentral/sim/" + name }) {
      guard let absolute = Files.absolute(place), let file = MappedFile(absolute), simulates(file),
        let elf = ElfFile(file)
      else { continue }
      return DropIn(path: absolute, elf: elf)
    }
    throw .doesNotSimulate("")
  }

  /// Only a library that simulates knows the variable by which it is asked for that.
  private static func simulates(_ file: MappedFile) -> Bool { file.contains("GRANDCENTRAL_SIMULATE_REPORT") }

  /// Whether a libdispatch is ours: only ours has this in its messages.
  static func isOurs(_ file: MappedFile) -> Bool { file.contains("GrandCentral misuse") }

  /// Beside the tool, where they are installed, and where a checkout builds it.
  private static var usualPlaces: [String] {
    guard let tool = Files.absolute("/proc/self/exe"), let slash = tool.lastIndex(of: "/") else { return [] }
    var folder = String(tool[..<slash])
    var places = [folder + "/" + name, folder + "/../lib/" + name, folder + "/../lib/grandcentral/" + name]
    while !folder.isEmpty {
      places.append(folder + "/.build-dropin/lib/" + name)
      folder = String(folder[..<folder.lastIndex(of: "/")!])
    }
    return places
  }
}

/// What the tool asks the system. Paths and variables are exact text.
enum Files {
  static func isFolder(_ path: String) -> Bool {
    Path(exactly: path).status.map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
  }

  static func allows(_ path: String, _ use: Int32) -> Bool { Path(exactly: path).withCString { access($0, use) } == 0 }

  /// The exact text of a string of C.
  static func text(_ string: UnsafePointer<CChar>) -> String {
    ExactText.text(UnsafeRawBufferPointer(start: string, count: strlen(string)))
  }

  /// The path without links; nil with `errno` if there is nothing.
  static func absolute(_ path: String) -> String? {
    guard let resolved = Path(exactly: path).withCString({ realpath($0, nil) }) else { return nil }
    defer { free(resolved) }
    return text(resolved)
  }

  /// Whether two paths lead to the same file.
  static func areSame(_ one: String, _ other: String) -> Bool {
    guard let first = Path(exactly: one).status, let second = Path(exactly: other).status else { return false }
    return FileIdentity(first) == FileIdentity(second)
  }

  /// How long an extended attribute is; negative if there is none.
  static func attributeSize(_ path: String, _ name: String) -> Int {
    // Swift's module of the C library leaves sys/xattr.h out.
    typealias Function =
      @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int
    guard let address = dlsym(nil, "getxattr") else { return -1 }
    return Path(exactly: path).withCString { unsafeBitCast(address, to: Function.self)($0, name, nil, 0) }
  }

  static func variable(_ name: String) -> String? { getenv(name).map { text($0) } }
}
