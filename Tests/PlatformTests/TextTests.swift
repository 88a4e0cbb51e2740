// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GrandCentral

@Suite("Text as bytes")
struct TextTests {
  private func parts(_ text: String, most: Int = .max, keepsEmpty: Bool = false) -> [String] {
    // A slice that does not begin at 0, as a part of a part does not.
    let bytes = Array("#\(text)".utf8)[1...]
    return Text.parts(bytes, UInt8(ascii: ":"), most: most, keepsEmpty: keepsEmpty)
      .map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(
    "is divided as the standard library divides it",
    arguments: ["", ":", "a", "a:b", ":a", "a:", "a::b", "::", "a:b:c:d"])
  func divides(text: String) {
    #expect(parts(text) == text.split(separator: ":").map(String.init))
    #expect(
      parts(text, keepsEmpty: true) == text.split(separator: ":", omittingEmptySubsequences: false).map(String.init))
    #expect(
      parts(text, most: 3, keepsEmpty: true)
        == text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init))
  }

  @Test("is compared byte by byte")
  func compares() {
    let word = Array("-word-".utf8)[1...4]
    #expect(Text.equal(word, "word"))
    #expect(!Text.equal(word, "words"))
    #expect(!Text.equal(word, "wort"))
    #expect(Text.equal(word, Array("word".utf8)[...]))
    #expect(!Text.equal(word, Array("wor".utf8)[...]))
    // One letter, spelt in two ways: the same to `==`.
    #expect(!Text.equal("\u{E9}", "e\u{301}"))
    #expect(Text.equal("\u{E9}", "\u{E9}"))
  }

  @Test("may be a number", arguments: [("7", 7), ("120\n", 120), ("", nil), ("-1", nil), ("7x", nil), (" 7", nil)])
  func number(text: String, value: Int?) {
    #expect(Text.number(Array(text.utf8)[...]) == value)
  }

  @Test("may be a number too large to count")
  func overflow() {
    #expect(Text.number(Array("\(Int.max)".utf8)[...]) == .max)
    #expect(Text.number(Array("\(Int.max)0".utf8)[...]) == nil)
    #expect(Text.number(Array("9223372036854775808".utf8)[...]) == nil)
  }
}
