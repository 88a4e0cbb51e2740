// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IndexKit

@Suite("A word counter")
struct WordCounterTests {
  @Test("counts runs of letters, digits and underscores, whatever their case")
  func words() {
    #expect(counts("The cat, the_cat; THE 42 cats!") == ["the": 2, "cat": 1, "the_cat": 1, "42": 1, "cats": 1])
  }

  @Test("finds nothing in nothing")
  func empty() {
    #expect(counts("") == [:])
    #expect(counts(" \n\t.,;") == [:])
  }

  @Test("knows letters beyond ASCII and their lower case")
  func unicode() {
    #expect(
      counts("Ärger ärger ÄRGER — “naïve” Ωmega ωMEGA привет ПРИВЕТ 東京") == [
        "ärger": 3, "naïve": 1, "ωmega": 2, "привет": 2, "東京": 1,
      ])
  }

  @Test("takes whatever is not UTF-8 as the end of a word")
  func invalid() {
    let bytes: [UInt8] = Array("one".utf8) + [0xff] + Array("two".utf8) + [0xc3, 0x28, 0xe2, 0x82] + Array("x".utf8)
    let result = count(bytes, chunks: { _ in bytes.count })
    #expect(result.words == ["one": 1, "two": 1, "x": 1])
    #expect(!result.isUTF8)
  }

  @Test("tells a file that ends in the middle of a character")
  func truncated() {
    #expect(!count(Array("é".utf8.dropLast()), chunks: { _ in 1 }).isUTF8)
    #expect(count(Array("é".utf8), chunks: { _ in 1 }).isUTF8)
  }

  @Test("counts a word of 255 bytes as itself, a longer one as a word only")
  func overlong() {
    let longest = String(repeating: "a", count: 255)
    let text = "\(longest) \(longest)a \(String(repeating: "b", count: 100_000)) end"
    for size in [1, 7, 64, 255, 256, 257, 4096, 200_000] {
      let result = count(Array(text.utf8), chunks: { _ in size })
      #expect(result.words == [longest: 1, "end": 1], "chunks of \(size)")
      #expect(result.total == 4, "chunks of \(size)")
      #expect(result.overlong == 2, "chunks of \(size)")
    }
  }

  @Test("counts the same however the contents are cut into chunks, and the same as a naive count")
  func chunks() {
    var random = SeededGenerator.fresh("word counter chunks")
    for round in 0..<60 {
      let bytes = Self.randomText(&random, pieces: 400)
      let expected = Self.naive(bytes)
      for limit in [1, 3, 64, 300, 5000] {
        var cuts = random
        let result = count(bytes, chunks: { _ in Int.random(in: 1...limit, using: &cuts) })
        #expect(result.words == expected, "round \(round), chunks up to \(limit)")
        #expect(result.total == UInt64(expected.values.reduce(0, +)) + result.overlong)
      }
    }
  }

  @Test("keeps the words of one file apart from the next")
  func files() {
    var counter = WordCounter(chunkSize: 16)
    for text in ["half", "way"] {
      counter.begin()
      feed(Array(text.utf8), to: &counter, chunks: { _ in 16 })
      counter.finish()
      #expect(counter.words == 1)
    }
    #expect(Self.dictionary(counter.takeTable()) == ["half": 1, "way": 1])
  }

  // MARK: Helpers

  private struct Outcome {
    var words: [String: Int]
    var total: UInt64
    var overlong: UInt64
    var isUTF8: Bool
  }

  private func counts(_ text: String) -> [String: Int] {
    count(Array(text.utf8), chunks: { _ in 1000 }).words
  }

  private func count(_ bytes: [UInt8], chunks: (Int) -> Int) -> Outcome {
    var counter = WordCounter(chunkSize: 4096)
    counter.begin()
    feed(bytes, to: &counter, chunks: chunks)
    counter.finish()
    let (total, overlong, isUTF8) = (counter.words, counter.overlongWords, counter.isUTF8)
    return Outcome(
      words: Self.dictionary(counter.takeTable()), total: total, overlong: overlong, isUTF8: isUTF8)
  }

  private func feed(_ bytes: [UInt8], to counter: inout WordCounter, chunks: (Int) -> Int) {
    var position = 0
    while position < bytes.count {
      let space = counter.space
      let size = min(chunks(position), bytes.count - position, space.count)
      space.copyBytes(from: bytes[position..<position + size])
      counter.consume(size)
      position += size
    }
  }

  static func dictionary(_ table: consuming WordTable) -> [String: Int] {
    // Words that differ in bytes may be equal as strings.
    Dictionary(table.mostFrequent(.max).map { ($0.word, Int($0.count)) }, uniquingKeysWith: +)
  }

  private static let unusual = ["É", "ß", "я", "Ж", "語", "𐐀", "—", "\u{301}", "😀", "İ"]
  private static let plain = Array("aBc_9zZ".utf8)
  private static let separators = Array(" \n,.@[`{/:\u{7f}".utf8)

  private static func randomText(_ random: inout SeededGenerator, pieces: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    for _ in 0..<pieces {
      switch Int.random(in: 0..<10, using: &random) {
      case 0: bytes.append(UInt8.random(in: 0x80...0xff, using: &random))
      case 1: bytes += Array(String(Character(randomScalar(&random))).utf8)
      case 2: bytes += Array(unusual.randomElement(using: &random)!.utf8)
      case 3...6:
        for _ in 0..<Int.random(in: 1...20, using: &random) { bytes.append(plain.randomElement(using: &random)!) }
      default: bytes.append(separators.randomElement(using: &random)!)
      }
    }
    return bytes
  }

  private static func randomScalar(_ random: inout SeededGenerator) -> Unicode.Scalar {
    while true {
      if let scalar = Unicode.Scalar(UInt32.random(in: 0x80...0x10ffff, using: &random)) { return scalar }
    }
  }

  /// Counts with the standard library's own idea of UTF-8, one scalar at a time.
  private static func naive(_ bytes: [UInt8]) -> [String: Int] {
    var counts: [String: Int] = [:]
    var word = ""
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      let properties = scalar.properties
      let isMark = [.nonspacingMark, .spacingMark, .enclosingMark].contains(properties.generalCategory)
      let isNumber = [.decimalNumber, .letterNumber].contains(properties.generalCategory)
      if scalar == "_" || properties.isAlphabetic || isMark || isNumber {
        let lower = properties.lowercaseMapping.unicodeScalars
        let keeps = lower.count == 1 && String(lower).utf8.count == String(Character(scalar)).utf8.count
        word.unicodeScalars.append(keeps ? lower.first! : scalar)
      } else if !word.isEmpty {
        counts[word, default: 0] += 1
        word = ""
      }
    }
    if !word.isEmpty { counts[word, default: 0] += 1 }
    return counts.filter { $0.key.utf8.count <= 255 }
  }
}
