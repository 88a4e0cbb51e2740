// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// The files with code in a process, and the names of their functions.
///
/// When the process has ended, what was read last stays.
final class ProcessCode {
  /// Nil: it is known from a core file alone.
  private let process: pid_t?
  /// The number of the file that the program has mapped as its region; nil: any program of the process will do.
  private let region: UInt64?
  /// Whether the process was still the program when the list was read last.
  private(set) var isCurrent = true
  private var mappings: [Mapping] = []
  private var tables: [String: SymbolTable?] = [:]

  struct Mapping {
    let start: UInt64
    let end: UInt64
    /// Of the start, in the file.
    let offset: UInt64
    /// Exact text.
    let path: String
  }

  /// - Parameters:
  ///   - region: What tells the program from others: by `exec` a process becomes another one, and the number that a process in
  ///     a container has for itself is another process's here.
  ///   - list: The list of mapped files of an earlier moment, in case the process has ended, or is another program now.
  init(_ process: pid_t, region: UInt64? = nil, list: @autoclosure () -> String = "") {
    self.process = process
    self.region = region
    read()
    if mappings.isEmpty { mappings = Self.mappings(list().split(separator: "\n")) }
  }

  /// Of a process that a core file is of.
  init(_ files: [Mapping]) {
    process = nil
    region = nil
    mappings = files.sorted { $0.start < $1.start }
  }

  /// Reads the list of files again: libraries are loaded at any time. An empty one is that of a process that has ended.
  func read() {
    guard let process else { return }
    let lines = ProcessFile.lines(ProcessFile.folder(process) + "/maps")
    isCurrent = region.map { region in lines.contains { Self.isRegion($0, region) } } ?? true
    let read = isCurrent ? Self.mappings(lines) : []
    if !read.isEmpty { mappings = read }
  }

  /// Whether a line of the list is that of the region with this file.
  private static func isRegion(_ line: Substring, _ file: UInt64) -> Bool {
    guard line.hasSuffix(RegionFinder.link) else { return false }
    let words = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
    return words.count == 6 && UInt64(words[4]) == file
  }

  /// The file that stands first, which is the program's in most processes.
  var program: String? { mappings.first?.path.split(separator: "/").last.map { TextLayout.printable(String($0)) } }

  private static func mappings(_ lines: [Substring]) -> [Mapping] {
    lines.compactMap { parse($0) }.sorted { $0.start < $1.start }
  }

  /// A line of the list, if it is that of a file with code.
  static func parse(_ line: Substring) -> Mapping? {
    let words = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
    guard words.count == 6, words[1].dropFirst(2).first == "x" else { return nil }
    // The path stands in a column of its own.
    let path = words[5].drop { $0 == " " }
    guard path.first == "/" else { return nil }
    let range = words[0].split(separator: "-")
    guard range.count == 2, let start = UInt64(range[0], radix: 16), let end = UInt64(range[1], radix: 16),
      start < end, let offset = UInt64(words[2], radix: 16)
    else { return nil }
    // A line feed is the one byte that the kernel writes in another way.
    let name = path.contains("\\") ? path.replacing("\\012", with: "\n") : path
    return Mapping(start: start, end: end, offset: offset, path: String(name))
  }

  func mapping(of address: UInt64) -> Mapping? {
    var (low, high) = (0, mappings.count)
    while low < high {
      let middle = (low + high) / 2
      if mappings[middle].end <= address { low = middle + 1 } else { high = middle }
    }
    guard low < mappings.count, mappings[low].start <= address else { return nil }
    return mappings[low]
  }

  /// The function that an address is in, or the file and the place in it.
  func name(of address: UInt64, in mapping: Mapping) -> String {
    let offset = mapping.fileOffset(address)
    if let name = table(mapping.path)?.name(at: offset) { return Self.words(name) }
    let file = mapping.path.split(separator: "/").last.map(String.init) ?? mapping.path
    return "\(TextLayout.printable(file))+0x" + String(offset, radix: 16)
  }

  /// What a function is called where it is known by its name. A closure may be called by a function that fits its calling convention:
  /// that one's name says nothing of the closure.
  static func words(_ name: String) -> String {
    let forwarder = "partial apply forwarder for "
    let name = name.hasPrefix(forwarder) ? String(name.dropFirst(forwarder.count)) : name
    return name.hasPrefix("reabstraction thunk helper ") ? "a Swift closure (thunk)" : name
  }

  /// The file through the process's /proc folder, because its root may differ from the tool's; else the path in the list.
  private func table(_ path: String) -> SymbolTable? {
    if let known = tables[path] { return known }
    let file =
      process.flatMap { isCurrent ? MappedFile(ProcessFile.folder($0) + "/root" + path) : nil } ?? MappedFile(path)
    let table = file.flatMap { SymbolTable($0) }
    tables[path] = .some(table)
    return table
  }
}

extension ProcessCode.Mapping {
  func fileOffset(_ address: UInt64) -> UInt64 { address - start &+ offset }
}
