// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import gcd

@Suite("Names of functions")
struct SymbolTests {
  /// The bytes of the C library that this process uses.
  private static func library() throws -> [UInt8] {
    let line = try #require(ProcessFile.lines("/proc/self/maps").first { $0.hasSuffix("/libc.so.6") })
    return try #require(ProcessFile.bytes(String(line.drop { $0 != "/" })))
  }

  /// Where the code of a function stands in the file.
  private static func place(of function: String, in file: MappedFile) throws -> UInt64 {
    let tables = try #require(ElfTables(file))
    var address: UInt64?
    tables.forEachSymbol { symbol in
      if symbol.section != 0, file.text(at: symbol.name) == function { address = symbol.address }
    }
    let found = try #require(address)
    return try #require(tables.fileOffset(of: found))
  }

  @Test("names are known although the file has been cut off since")
  func cutFile() throws {
    let folder = TemporaryFolder()
    folder.file("library", try Self.library())
    let path = folder.path + "/library"
    let file = try #require(MappedFile(path))
    let place = try Self.place(of: "qsort", in: file)
    let table = try #require(SymbolTable(file))
    // The library may have another name for it, too.
    let name = try #require(table.name(at: place))
    #expect(truncate(path, 0) == 0)
    #expect(table.name(at: place) == name)
  }
}
