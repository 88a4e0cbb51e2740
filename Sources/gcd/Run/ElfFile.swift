// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What the dynamic loader reads in a program or a library.
struct ElfFile {
  private(set) var isExecutable = false
  private(set) var machine: UInt16 = 0
  /// The loader that the program asks for; nil for a library, and for a program that is linked statically.
  private(set) var interpreter: String?
  private(set) var needed: [String] = []
  /// Where its libraries are looked for before the environment is asked…
  private(set) var rpath: String?
  /// … and after that.
  private(set) var runpath: String?
  /// Names of libdispatch that it needs from other files, without weak references.
  private(set) var wanted: Set<String> = []
  /// Names of libdispatch that others find in it.
  private(set) var defined: Set<String> = []
  /// Names of libdispatch that are in it, found by others or not.
  private(set) var contained: Set<String> = []

  /// Nil for anything but a program or a library for a 64-bit machine with the least significant byte first.
  init?(_ file: MappedFile) {
    guard let tables = ElfTables(file), tables.type == 2 || tables.type == 3 else { return nil }
    machine = tables.machine
    interpreter = tables.segments.last { $0.type == ElfTables.Segment.interpreter }.flatMap { file.text(at: $0.offset) }
    isExecutable = tables.type == 2 || interpreter != nil
    readDynamic(tables)
    tables.forEachSymbol { note($0, in: file) }
  }

  // MARK: The dynamic section

  private mutating func readDynamic(_ tables: ElfTables) {
    let file = tables.file
    guard let section = tables.segments.last(where: { $0.type == ElfTables.Segment.dynamic }) else { return }
    let isProgram: UInt64 = 0x0800_0000
    var texts: [(tag: UInt64, value: UInt64)] = []
    var strings: UInt64?
    for index in 0..<(section.size / 16) {
      guard let tag: UInt64 = file.integer(at: section.offset &+ index * 16),
        let value: UInt64 = file.integer(at: section.offset &+ index * 16 &+ 8), tag != 0
      else { break }
      switch tag {
      case 5: strings = tables.fileOffset(of: value)
      // A program that relocates itself has no loader, but has this mark.
      case 0x6fff_fffb: if value & isProgram != 0 { isExecutable = true }
      default: texts.append((tag, value))
      }
    }
    guard let strings else { return }
    for (tag, value) in texts {
      guard [1, 15, 29].contains(tag), let text = file.text(at: strings &+ value) else { continue }
      switch tag {
      case 1: needed.append(text)
      case 15: rpath = text
      default: runpath = text
      }
    }
  }

  // MARK: Symbols

  /// Of all tables, so that what was linked statically is seen too.
  private mutating func note(_ symbol: ElfTables.Symbol, in file: MappedFile) {
    guard Self.prefixes.contains(where: { file.hasText($0, at: symbol.name) }), let text = file.text(at: symbol.name)
    else { return }
    let weak: UInt8 = 2
    if symbol.section != 0 {
      contained.insert(text)
      if symbol.isDynamic { defined.insert(text) }
    } else if symbol.isDynamic, symbol.info >> 4 != weak {
      wanted.insert(text)
    }
  }

  /// What the names of libdispatch begin with.
  private static let prefixes: [StaticString] = ["dispatch_", "_dispatch_", "_os_object_"]
}
