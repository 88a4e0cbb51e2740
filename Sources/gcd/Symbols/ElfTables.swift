// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The tables of an ELF file: its segments, and its symbols. The file may be anything: every access is checked.
struct ElfTables {
  let file: MappedFile
  /// Program, library, and so on.
  let type: UInt16
  let machine: UInt16
  let segments: [Segment]

  struct Segment {
    let type: UInt32
    let offset: UInt64
    let address: UInt64
    /// In the file.
    let size: UInt64

    static let loaded: UInt32 = 1
    static let dynamic: UInt32 = 2
    static let interpreter: UInt32 = 3
  }

  struct Symbol {
    let info: UInt8
    /// 0: it is looked for elsewhere.
    let section: UInt16
    let address: UInt64
    let size: UInt64
    /// Where its name stands in the file.
    let name: UInt64
    /// Whether it stands in the table for the loader.
    let isDynamic: Bool
  }

  /// No valid table has more entries; a larger count would take all memory.
  private static let most: UInt64 = 1 << 24

  /// Nil for anything but a 64-bit ELF file with the least significant byte first.
  init?(_ file: MappedFile) {
    guard file.hasText("\u{7F}ELF\u{2}\u{1}", at: 0), let type: UInt16 = file.integer(at: 16),
      let machine: UInt16 = file.integer(at: 18)
    else { return nil }
    self.file = file
    self.type = type
    self.machine = machine
    segments = Self.segments(file)
  }

  private static func segments(_ file: MappedFile) -> [Segment] {
    guard let table: UInt64 = file.integer(at: 32), let size: UInt16 = file.integer(at: 54),
      let count: UInt16 = file.integer(at: 56)
    else { return [] }
    return (0..<UInt64(count)).compactMap { index in
      let entry = table &+ index * UInt64(size)
      guard let type: UInt32 = file.integer(at: entry), let offset: UInt64 = file.integer(at: entry &+ 8),
        let address: UInt64 = file.integer(at: entry &+ 16), let length: UInt64 = file.integer(at: entry &+ 32)
      else { return nil }
      return Segment(type: type, offset: offset, address: address, size: length)
    }
  }

  func loadedSegments() -> [Segment] { segments.filter { $0.type == Segment.loaded } }

  /// Where in the file the bytes are that are loaded at an address.
  func fileOffset(of address: UInt64) -> UInt64? {
    for segment in segments
    where segment.type == Segment.loaded && address >= segment.address && address - segment.address < segment.size {
      return segment.offset &+ (address - segment.address)
    }
    return nil
  }

  /// Calls `body` for the symbols of all tables: that of the loader, and that of all symbols, which a file may be stripped of.
  func forEachSymbol(_ body: (Symbol) -> Void) {
    guard let table: UInt64 = file.integer(at: 40), let size: UInt16 = file.integer(at: 58),
      let count: UInt16 = file.integer(at: 60)
    else { return }
    let (all, dynamic): (UInt32, UInt32) = (2, 11)
    for index in 0..<UInt64(count) {
      let entry = table &+ index * UInt64(size)
      guard let type: UInt32 = file.integer(at: entry &+ 4), type == all || type == dynamic,
        let offset: UInt64 = file.integer(at: entry &+ 24), let length: UInt64 = file.integer(at: entry &+ 32),
        let link: UInt32 = file.integer(at: entry &+ 40),
        let strings: UInt64 = file.integer(at: table &+ UInt64(link) &* UInt64(size) &+ 24)
      else { continue }
      let symbols = min(min(length, UInt64(file.count)) / 24, Self.most)
      for index in 0..<symbols {
        let place = offset &+ index * 24
        guard let name: UInt32 = file.integer(at: place), let info: UInt8 = file.integer(at: place &+ 4),
          let section: UInt16 = file.integer(at: place &+ 6), let address: UInt64 = file.integer(at: place &+ 8),
          let size: UInt64 = file.integer(at: place &+ 16)
        else { break }
        body(
          Symbol(
            info: info, section: section, address: address, size: size, name: strings &+ UInt64(name),
            isDynamic: type == dynamic))
      }
    }
  }
}
