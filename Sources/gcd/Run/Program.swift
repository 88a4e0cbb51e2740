// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// A program that is to be run or examined.
struct Program {
  /// What would be executed.
  let path: String
  /// The file whose libraries are examined: the program itself, or the interpreter of the script.
  let binary: String
  let elf: ElfFile

  var isScript: Bool { path != binary }

  enum Failure: Error {
    case notFound(String)
    case unreadable(String, code: Int32)
    case notAProgram(String)
  }

  /// Looks for it as a shell does.
  static func find(_ name: String) throws(Failure) -> Program {
    let path = try locate(name)
    var binary = path
    // The interpreter may be a script too; that is rare.
    for _ in 0..<4 {
      guard let file = MappedFile(binary) else { throw .unreadable(binary, code: errno) }
      guard file.hasText("#!", at: 0) else {
        guard let elf = ElfFile(file), elf.isExecutable else { throw .notAProgram(binary) }
        return Program(path: path, binary: binary, elf: elf)
      }
      let words = file.firstLine.dropFirst(2).split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)
      guard var reader = words.first else { throw .notAProgram(binary) }
      if reader.hasSuffix("/env"),
        let named = words.dropFirst().first(where: { !$0.hasPrefix("-") && !$0.contains("=") })
      {
        reader = named
      }
      binary = try locate(reader)
    }
    throw .notAProgram(path)
  }

  private static func locate(_ name: String) throws(Failure) -> String {
    if name.contains("/") {
      guard Files.allows(name, F_OK) else { throw .notFound(name) }
      return try executable(name)
    }
    var denied: String?
    for folder in (Files.variable("PATH") ?? "/usr/bin:/bin").split(separator: ":", omittingEmptySubsequences: false) {
      let path = (folder.isEmpty ? "." : String(folder)) + "/" + name
      if !Files.allows(path, F_OK) || Files.isFolder(path) { continue }
      if Files.allows(path, X_OK) { return path }
      denied = denied ?? path
    }
    if let denied { throw .unreadable(denied, code: EACCES) }
    throw .notFound(name)
  }

  private static func executable(_ path: String) throws(Failure) -> String {
    if Files.isFolder(path) { throw .unreadable(path, code: EISDIR) }
    guard Files.allows(path, X_OK) else { throw .unreadable(path, code: errno) }
    return path
  }

  // MARK: What keeps the environment from having an effect

  /// Whether the kernel runs it with other rights than ours: then the loader does not trust the environment.
  var gainsRights: Bool {
    guard let status = Path(exactly: binary).status else { return false }
    if status.st_mode & S_ISUID != 0, status.st_uid != getuid() { return true }
    if status.st_mode & S_ISGID != 0, status.st_gid != getgid() { return true }
    return getuid() != 0 && Files.attributeSize(binary, "security.capability") > 0
  }

  /// Whether libdispatch is a part of the program itself.
  var hasItsOwn: Bool { elf.contained.isSuperset(of: ["dispatch_async_f", "dispatch_queue_create"]) }
}
