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

  @Test("functions of a file in a folder of any name have theirs")
  func foldersOfBytes() throws {
    let folder = TemporaryFolder()
    // "n\xFF", a line feed, "m"
    let name = ExactText.text([0x6e, 0xff, 0x0a, 0x6d])
    folder.folder(name)
    folder.file(name + "/library", try Self.library())
    let path = folder.path + "/" + name + "/library"
    let file = try #require(MappedFile(path))
    let place = try Self.place(of: "qsort", in: file)
    let table = try #require(SymbolTable(file))
    let known = try #require(table.name(at: place))

    let descriptor = Path(exactly: path).withCString { open($0, O_RDONLY | O_CLOEXEC) }
    defer { close(descriptor) }
    let mapped = mmap(nil, file.count, PROT_READ | PROT_EXEC, MAP_PRIVATE, descriptor, 0)
    let start = try #require(mapped == MAP_FAILED ? nil : mapped)
    defer { munmap(start, file.count) }
    let address = UInt64(UInt(bitPattern: start)) + place
    let code = ProcessCode(getpid())
    let mapping = try #require(code.mapping(of: address))
    #expect(mapping.path.hasSuffix("/" + name + "/library"))
    #expect(code.name(of: address, in: mapping) == ProcessCode.words(known))
    // What a trace is called that has no other name for its process.
    let program = ProcessCode.Mapping(start: 0, end: 1, offset: 0, path: "/bin/" + name)
    #expect(ProcessCode([program]).program == "n\\xFF\\nm")
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
