// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// The dynamic loader, asked what it would load for a program: it lists that without running the program.
struct Loader {
  /// What the loader said.
  struct Listing {
    /// The paths of the libraries, in the order of the search for names.
    var libraries: [String] = []
    /// Names for which there is no file.
    var missing: [String] = []

    /// The files that are a libdispatch, whatever they are called by.
    var dispatch: [String] { libraries.filter { Self.isDispatch($0) } }

    private static func isDispatch(_ path: String) -> Bool {
      path[(path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex)...].hasPrefix(DropIn.name)
    }
  }

  let interpreter: String

  /// Nil for a program without a loader, or with one that is not glibc's.
  init?(_ program: Program) {
    guard let interpreter = program.elf.interpreter, let slash = interpreter.lastIndex(of: "/"),
      interpreter[slash...].hasPrefix("/ld-linux") || interpreter[slash...].hasPrefix("/ld64")
    else { return nil }
    self.interpreter = interpreter
  }

  /// Nil if the loader could not be asked.
  func list(_ binary: String, environment: [String]) -> Listing? {
    guard let output = Self.output(of: [interpreter, "--list", binary], environment: environment) else { return nil }
    var listing = Listing()
    for line in output.split(separator: "\n") {
      var words = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)
      if words.last?.hasPrefix("(0x") == true { words.removeLast() }
      if let arrow = words.firstIndex(of: "=>"), arrow > 0 {
        let path = words[(arrow + 1)...].joined(separator: " ")
        if path.hasPrefix("/") { listing.libraries.append(path) } else { listing.missing.append(words[0]) }
      } else if words.first?.hasPrefix("/") == true {
        listing.libraries.append(words.joined(separator: " "))
      }
    }
    return listing
  }

  private static func output(of command: [String], environment: [String]) -> String? {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { return nil }
    defer { close(ends[0]) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    var process: pid_t = 0
    let arguments = CStrings(command)
    let variables = CStrings(environment)
    let code = posix_spawn(&process, command[0], &actions, nil, arguments.pointers, variables.pointers)
    close(ends[1])
    guard code == 0 else { return nil }
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(ends[0], &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { break }
      text += buffer[..<count]
    }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    // A missing library makes the loader fail after the list; what there is of a list is enough.
    return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
  }
}

/// Strings for C, followed by a null pointer.
final class CStrings {
  let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  private let count: Int

  init(_ strings: [String]) {
    count = strings.count
    pointers = .allocate(capacity: count + 1)
    for (index, string) in strings.enumerated() { (pointers + index).initialize(to: strdup(string)) }
    (pointers + count).initialize(to: nil)
  }

  deinit {
    for index in 0..<count { free(pointers[index]) }
    pointers.deallocate()
  }
}
