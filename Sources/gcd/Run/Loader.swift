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
    /// Why there is no list, or what is not loaded: what the loader says or does; empty if it does not complain.
    var complaint = ""

    /// At least a part of a list.
    var isList: Bool { complaint.isEmpty || !libraries.isEmpty || !missing.isEmpty }

    /// The files that are a libdispatch, under any name.
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

  /// Whether asking it runs nothing that came with the program, which names its loader: it is root's file, and nobody else may write
  /// to it, or it has loaded the tool. A file that is not there does not run.
  var isTrusted: Bool {
    guard let status = Path(exactly: interpreter).status else { return true }
    if status.st_uid == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o022 == 0 { return true }
    let own = MappedFile("/proc/self/exe").flatMap { ElfFile($0) }?.interpreter
    return own.map { Files.areSame($0, interpreter) } ?? false
  }

  /// Nil if the loader could not be asked. A list without an entry has a complaint.
  func list(_ binary: String, environment: [String]) -> Listing? {
    guard let result = try? CapturedCommand.run([interpreter, "--list", binary], environment: environment) else {
      return nil
    }
    var listing = Listing()
    for line in ExactText.text(result.output).split(separator: "\n") {
      var words = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)
      if words.last?.hasPrefix("(0x") == true { words.removeLast() }
      if let arrow = words.firstIndex(of: "=>"), arrow > 0 {
        let path = words[(arrow + 1)...].joined(separator: " ")
        if path.hasPrefix("/") { listing.libraries.append(path) } else { listing.missing.append(words[0]) }
      } else if words.first?.hasPrefix("/") == true {
        listing.libraries.append(words.joined(separator: " "))
      }
    }
    // A missing library makes the loader fail, after the list or before it; what there is of a list is enough.
    let words = ExactText.text(result.error).split(separator: "\n").last.map(String.init) ?? ""
    if result.output.isEmpty { listing.missing = Self.missing(words) }
    if !words.isEmpty {
      listing.complaint = "says: " + Self.withoutPrefix(words)
    } else if result.output.isEmpty {
      listing.complaint = "says nothing (\(EndOfProcess.words(EndOfProcess.status(result.status))))"
    }
    return listing
  }

  /// Without the names that begin the line: those of the loader and of the program.
  private static func withoutPrefix(_ complaint: String) -> String {
    let parts = complaint.split(separator: ": ")
    let own = parts.firstIndex { $0 == "error while loading shared libraries" || $0 == "ld.so" } ?? -1
    return parts[(own + 1)...].joined(separator: ": ")
  }

  /// The library of "PROGRAM: error while loading shared libraries: NAME: cannot open shared object file: …".
  private static func missing(_ complaint: String) -> [String] {
    let parts = complaint.split(separator: ": ")
    guard let phrase = parts.firstIndex(of: "error while loading shared libraries"), phrase + 2 < parts.count else {
      return []
    }
    return [String(parts[phrase + 1])]
  }
}

/// Exact texts as strings for C, followed by a null pointer.
final class CStrings {
  let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  private let count: Int

  init(_ strings: [String]) {
    count = strings.count
    pointers = .allocate(capacity: count + 1)
    for (index, string) in strings.enumerated() {
      (pointers + index).initialize(to: Path(exactly: string).withCString { strdup($0) })
    }
    (pointers + count).initialize(to: nil)
  }

  deinit {
    for index in 0..<count { free(pointers[index]) }
    pointers.deallocate()
  }
}
