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
  /// Names of libdispatch that it wants from others; those that it can do without are left out.
  private(set) var wanted: Set<String> = []
  /// Names of libdispatch that others find in it.
  private(set) var defined: Set<String> = []
  /// Names of libdispatch that are in it, found by others or not.
  private(set) var contained: Set<String> = []

  private struct Segment {
    let offset: UInt64
    let address: UInt64
    let size: UInt64
  }

  /// Nil for anything but a program or a library for a 64-bit machine with the least significant byte first.
  init?(_ file: MappedFile) {
    guard file.hasText("\u{7F}ELF\u{2}\u{1}", at: 0), let type: UInt16 = file.integer(at: 16), type == 2 || type == 3,
      let machine: UInt16 = file.integer(at: 18)
    else { return nil }
    self.machine = machine
    let dynamic = readSegments(file)
    isExecutable = type == 2 || interpreter != nil
    readDynamic(file, dynamic)
    readSymbols(file)
  }

  // MARK: Segments

  private var loaded: [Segment] = []

  /// The dynamic section, if there is one.
  private mutating func readSegments(_ file: MappedFile) -> Segment? {
    var dynamic: Segment?
    guard let table: UInt64 = file.integer(at: 32), let size: UInt16 = file.integer(at: 54),
      let count: UInt16 = file.integer(at: 56)
    else { return nil }
    for index in 0..<UInt64(count) {
      let entry = table &+ index * UInt64(size)
      guard let type: UInt32 = file.integer(at: entry), let offset: UInt64 = file.integer(at: entry &+ 8),
        let address: UInt64 = file.integer(at: entry &+ 16), let length: UInt64 = file.integer(at: entry &+ 32)
      else { continue }
      let segment = Segment(offset: offset, address: address, size: length)
      switch type {
      case 1: loaded.append(segment)
      case 2: dynamic = segment
      case 3: interpreter = file.text(at: offset)
      default: break
      }
    }
    return dynamic
  }

  /// Where in the file the bytes are that are loaded at an address.
  private func offset(of address: UInt64) -> UInt64? {
    for segment in loaded where address >= segment.address && address - segment.address < segment.size {
      return segment.offset &+ (address - segment.address)
    }
    return nil
  }

  // MARK: The dynamic section

  private mutating func readDynamic(_ file: MappedFile, _ section: Segment?) {
    guard let section else { return }
    let isProgram: UInt64 = 0x0800_0000
    var texts: [(tag: UInt64, value: UInt64)] = []
    var strings: UInt64?
    for index in 0..<(section.size / 16) {
      guard let tag: UInt64 = file.integer(at: section.offset &+ index * 16),
        let value: UInt64 = file.integer(at: section.offset &+ index * 16 &+ 8), tag != 0
      else { break }
      switch tag {
      case 5: strings = offset(of: value)
      // A program that moves itself has no loader, but this mark.
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
  private mutating func readSymbols(_ file: MappedFile) {
    guard let table: UInt64 = file.integer(at: 40), let size: UInt16 = file.integer(at: 58),
      let count: UInt16 = file.integer(at: 60)
    else { return }
    for index in 0..<UInt64(count) {
      let entry = table &+ index * UInt64(size)
      guard let type: UInt32 = file.integer(at: entry &+ 4), type == 2 || type == 11,
        let offset: UInt64 = file.integer(at: entry &+ 24), let length: UInt64 = file.integer(at: entry &+ 32),
        let link: UInt32 = file.integer(at: entry &+ 40),
        let strings: UInt64 = file.integer(at: table &+ UInt64(link) * UInt64(size) &+ 24)
      else { continue }
      // A table cannot be longer than the file.
      for symbol in 0..<(min(length, UInt64(file.count)) / 24) {
        readSymbol(file, at: offset &+ symbol * 24, strings: strings, isDynamic: type == 11)
      }
    }
  }

  private mutating func readSymbol(_ file: MappedFile, at place: UInt64, strings: UInt64, isDynamic: Bool) {
    guard let name: UInt32 = file.integer(at: place), let info: UInt8 = file.integer(at: place &+ 4),
      let section: UInt16 = file.integer(at: place &+ 6)
    else { return }
    let start = strings &+ UInt64(name)
    guard Self.prefixes.contains(where: { file.hasText($0, at: start) }), let text = file.text(at: start) else {
      return
    }
    let weak: UInt8 = 2
    if section != 0 {
      contained.insert(text)
      if isDynamic { defined.insert(text) }
    } else if isDynamic, info >> 4 != weak {
      wanted.insert(text)
    }
  }

  /// What the names of libdispatch begin with.
  private static let prefixes: [StaticString] = ["dispatch_", "_dispatch_", "_os_object_"]
}
