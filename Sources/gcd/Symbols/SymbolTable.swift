// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc

/// The functions of an ELF file, by their places in it. All of it is copied: the file may be cut off later, while the process runs that it
/// is of.
struct SymbolTable {
  private struct Function {
    let address: UInt64
    let size: UInt64
    /// Where its name stands: in the file, and then in `names`.
    var name: UInt64
  }

  /// Texts that end with a zero byte.
  private var names: [UInt8] = []
  private let segments: [ElfTables.Segment]
  private var functions: [Function] = []

  /// Nil for anything but a 64-bit ELF file with the least significant byte first.
  init?(_ file: MappedFile) {
    guard let tables = ElfTables(file) else { return nil }
    segments = tables.loadedSegments()
    let function: UInt8 = 2
    tables.forEachSymbol { symbol in
      guard symbol.info & 0xf == function, symbol.section != 0, symbol.name < UInt64(file.count) else { return }
      functions.append(Function(address: symbol.address, size: symbol.size, name: symbol.name))
    }
    functions.sort { ($0.address, $0.size, $0.name) < ($1.address, $1.size, $1.name) }
    // Many symbols may have one name, but together their names are not much longer than the file.
    for index in functions.indices {
      let place = names.count
      guard file.append(textAt: functions[index].name, to: &names, atMost: 2 * file.count - place) else {
        functions.removeSubrange(index...)
        break
      }
      functions[index].name = UInt64(place)
    }
  }

  /// The name of the function whose code is at a place in the file.
  func name(at offset: UInt64) -> String? {
    guard let segment = segments.first(where: { offset >= $0.offset && offset - $0.offset < $0.size }) else {
      return nil
    }
    let address = segment.address &+ (offset - segment.offset)
    var (low, high) = (0, functions.count)
    while low < high {
      let middle = (low + high) / 2
      if functions[middle].address <= address { low = middle + 1 } else { high = middle }
    }
    guard low > 0 else { return nil }
    let found = functions[low - 1]
    // Assembler's functions have no size.
    guard found.size == 0 || address - found.address < found.size else { return nil }
    return Self.demangled(ExactText.text(names[Int(found.name)...].prefix { $0 != 0 }))
  }

  /// A name as people write it.
  private static func demangled(_ name: String) -> String {
    guard name.hasPrefix("$s") || name.hasPrefix("_$s"), name.utf8.count < 4000 else {
      return TextLayout.printable(name)
    }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
      // unsafe: the name and its zero are shorter than the buffer.
      let place = buffer.baseAddress!
      for (index, byte) in name.utf8CString.enumerated() { place[index] = byte }
      gc_demangle(place, Int32(buffer.count))
      return TextLayout.printable(String(cString: place))
    }
  }
}
