// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import gcd

@Suite("Names that are not UTF-8")
struct NamesOfBytesTests {
  /// "n\xFFme"
  private static let name = ExactText.text([0x6e, 0xff, 0x6d, 0x65])

  @Test("exact text gives back any bytes, and is the text itself where there is one")
  func exactText() {
    var random = SeededGenerator.fresh("exact text")
    for _ in 0..<2000 {
      // Bytes that begin, continue and break characters, those of the range for bytes among them.
      let pieces: [[UInt8]] = [
        [0x61], [0xff], [0xc3], [0xc3, 0xa9], [0xf4, 0x8f, 0xba, 0x80], [0xf4, 0x8f], [0xed, 0xa0, 0x80], [0x80],
        [0xf0],
      ]
      let bytes = (0..<Int.random(in: 0...6, using: &random)).flatMap { _ in pieces.randomElement(using: &random)! }
      #expect(ExactText.bytes(ExactText.text(bytes)) == bytes)
    }
    for text in ["", "plain", "Grüße, 世界 🙂", "a\u{0301}"] {
      #expect(ExactText.text(Array(text.utf8)) == text && ExactText.bytes(text) == Array(text.utf8))
    }
    #expect(TextLayout.printable(Self.name + "\n") == "n\\xFFme\\n")
  }

  @Test("watch watches them")
  func watch() {
    let folder = Self.sampleFolder()
    let process = ToolProcess(["watch", "--count", "1", "d" + Self.name], folder: folder.path)
    #expect(process.read { _, error in error.contains("watching 2 files and 1 folder") })
    folder.file("d" + Self.name + "/" + Self.name, "changed")
    let result = process.wait()
    #expect(result.code == 0)
    #expect(result.output.contains(" dn\\xFFme/n\\xFFme\n"), "\(result.output)")
  }

  @Test("run hands arguments and the environment on as they are")
  func run() throws {
    let folder = TemporaryFolder()
    let line = "printf '%s|%s' \"$1\" \"$OTHER\" | od -An -tx1"
    // Any libdispatch does: the one that these tests use.
    let maps = SmallPackage.text("/proc/self/maps") ?? ""
    let found = maps.split(separator: "\n").first { $0.hasSuffix("/libdispatch.so") }
    let library = try #require(found.map { String($0[$0.firstIndex(of: "/")!...]) })
    let result = ToolProcess.run(
      ["run", "--library", library, "sh", "-c", line, "zero", Self.name], folder: folder.path,
      environment: ["OTHER=" + Self.name])
    #expect(result.code == 0, "\(result.error)")
    #expect(result.output == " 6e ff 6d 65 7c 6e ff 6d 65\n")
  }

  @Test("top starts a program of such a name, with the environment as it is")
  func top() {
    let folder = TemporaryFolder()
    folder.file(Self.name, "#!/bin/sh\nprintf %s \"$OTHER\" | od -An -tx1\nexit 7\n")
    #expect(Path(exactly: folder.path + "/" + Self.name).withCString { chmod($0, 0o755) } == 0)
    let result = ToolProcess.run(
      ["top", "--once", "--output", "output", "--", "./" + Self.name], folder: folder.path,
      environment: ["OTHER=" + Self.name])
    #expect(result.code == 7, "\(result.error)")
    #expect(ProcessFile.text(folder.path + "/output") == " 6e ff 6d 65\n")
  }

  /// Two files of five bytes, the same, in a folder.
  private static func sampleFolder() -> TemporaryFolder {
    let folder = TemporaryFolder()
    folder.folder("d" + name)
    folder.file("d" + name + "/" + name, "hello")
    folder.file("d" + name + "/b", "hello")
    return folder
  }
}
