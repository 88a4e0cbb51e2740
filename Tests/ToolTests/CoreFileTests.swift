// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import gcd

@Suite("The reader of core files")
struct CoreFileTests {
  /// A core file that a test makes up: one note about the process, one about a file that was mapped, and memory.
  private struct MadeUp {
    var process: Int32 = 77
    /// Where the region was mapped.
    var mapping: (start: UInt64, end: UInt64) = (0x10000, 0x11000)
    /// Where memory was that is in the file, a page each; the first one is the region's.
    var pages: [UInt64] = [0x10000]

    private static let page: UInt64 = 4096

    private static func bytes(_ value: some FixedWidthInteger) -> [UInt8] {
      withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }

    private static func padded(_ bytes: [UInt8], to multiple: Int) -> [UInt8] {
      bytes + [UInt8](repeating: 0, count: (multiple - bytes.count % multiple) % multiple)
    }

    private static func note(_ kind: UInt32, _ content: [UInt8]) -> [UInt8] {
      var note = bytes(UInt32(5))
      note += bytes(UInt32(content.count))
      note += bytes(kind)
      note += padded(Array("CORE\0".utf8), to: 4)
      return note + padded(content, to: 4)
    }

    private var notes: [UInt8] {
      var info = [UInt8](repeating: 0, count: 136)
      info.replaceSubrange(24..<28, with: Self.bytes(process))
      var files: [UInt8] = []
      for number in [1, Self.page, mapping.start, mapping.end, 0] { files += Self.bytes(number) }
      files += Array(RegionFinder.link.utf8)
      files.append(0)
      return Self.note(3, info) + Self.note(0x4649_4c45, files)
    }

    private static func segment(_ kind: UInt32, _ offset: UInt64, _ address: UInt64, _ size: UInt64) -> [UInt8] {
      var segment = bytes(kind) + bytes(UInt32(0))
      for number in [offset, address, 0, size, size, 0] { segment += bytes(number) }
      return segment
    }

    /// The head, the table of segments, the notes, and the pages, which have nothing in them.
    var contents: [UInt8] {
      let notes = notes
      let table = 64 + 56 * UInt64(pages.count + 1)
      var head = [UInt8](repeating: 0, count: 64)
      head.replaceSubrange(0..<6, with: Array("\u{7F}ELF\u{2}\u{1}".utf8))
      // A core file; where the table lies, and of what size it is.
      head.replaceSubrange(16..<18, with: Self.bytes(UInt16(4)))
      head.replaceSubrange(32..<40, with: Self.bytes(UInt64(64)))
      head.replaceSubrange(54..<56, with: Self.bytes(UInt16(56)))
      head.replaceSubrange(56..<58, with: Self.bytes(UInt16(pages.count + 1)))
      var all = head + Self.segment(4, table, 0, UInt64(notes.count))
      for (index, address) in pages.enumerated() {
        let place = table + UInt64(notes.count) + UInt64(index) * Self.page
        all += Self.segment(1, place, address, Self.page)
      }
      return all + notes + [UInt8](repeating: 0, count: Int(Self.page) * pages.count)
    }

    func failure(_ folder: borrowing TemporaryFolder) -> RegionFailure? {
      folder.file("core", contents)
      do throws(RegionFailure) {
        _ = try CoreFile(folder.path + "/core")
        return nil
      } catch { return error }
    }
  }

  @Test("memory that is no region is damaged, and a number that no process has makes the file none")
  func processes() {
    let folder = TemporaryFolder()
    #expect(MadeUp().failure(folder) == .damaged("it does not begin as it should"))
    for number in [0, -1, .min] as [Int32] {
      #expect(MadeUp(process: number).failure(folder) == .notCore(folder.path + "/core"))
    }
  }

  @Test("a mapping may end where addresses end")
  func lastPage() {
    let folder = TemporaryFolder()
    let last: UInt64 = .max - 4095
    let made = MadeUp(mapping: (last, .max), pages: [last, .max - 10])
    #expect(made.failure(folder) == .damaged("it does not begin as it should"))
  }
}
