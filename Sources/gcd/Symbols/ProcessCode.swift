// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// The files with code in a process, and the names of their functions.
///
/// When the process has ended, what was read last stays.
final class ProcessCode {
  /// Nil: it is known from a core file alone.
  private let process: pid_t?
  private var mappings: [Mapping] = []
  private var tables: [String: SymbolTable?] = [:]

  struct Mapping {
    let start: UInt64
    let end: UInt64
    /// Of the start, in the file.
    let offset: UInt64
    let path: String
  }

  /// - Parameter list: The list of mapped files of an earlier moment, in case the process has ended.
  init(_ process: pid_t, list: @autoclosure () -> String = "") {
    self.process = process
    read()
    if mappings.isEmpty { mappings = Self.mappings(list().split(separator: "\n")) }
  }

  /// Of a process that a core file is of.
  init(_ files: [Mapping]) {
    process = nil
    mappings = files.sorted { $0.start < $1.start }
  }

  /// Reads the list of files again: libraries are loaded at any time. An empty one is that of a process that has ended.
  func read() {
    guard let process else { return }
    let read = Self.mappings(ProcessFile.lines("/proc/\(process)/maps"))
    if !read.isEmpty { mappings = read }
  }

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
    return Mapping(start: start, end: end, offset: offset, path: String(path))
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
    if let name = table(mapping.path)?.name(at: offset) { return name }
    let file = mapping.path.split(separator: "/").last.map(String.init) ?? mapping.path
    return "\(TextLayout.printable(file))+0x" + String(offset, radix: 16)
  }

  /// The file through the process's /proc folder, because its root may differ from the tool's; else the path in the list.
  private func table(_ path: String) -> SymbolTable? {
    if let known = tables[path] { return known }
    let file = process.flatMap { MappedFile("/proc/\($0)/root" + path) } ?? MappedFile(path)
    let table = file.flatMap { SymbolTable($0) }
    tables[path] = .some(table)
    return table
  }
}

extension ProcessCode.Mapping {
  func fileOffset(_ address: UInt64) -> UInt64 { address - start &+ offset }
}
