// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IndexKit

@Suite("A word table")
struct WordTableTests {
  @Test("counts words of every length, also when it has grown many times")
  func everyLength() {
    var table = WordTable(minimumCapacity: 1)
    for round in 1...3 {
      for length in 1...255 {
        for letter in "abcdef".utf8 { add([UInt8](repeating: letter, count: length), to: &table) }
      }
      #expect(table.distinct == 6 * 255)
      #expect(table.mostFrequent(.max).allSatisfy { $0.count == UInt64(round) })
    }
  }

  @Test("tells words apart that differ in one byte or in length only")
  func neighbours() {
    for length in [1, 7, 8, 9, 15, 16, 17, 24, 25, 254] {
      var table = WordTable()
      let word = [UInt8](repeating: UInt8(ascii: "x"), count: length)
      add(word, to: &table)
      add(word + [UInt8(ascii: "x")], to: &table)
      for position in 0..<length {
        var other = word
        other[position] = UInt8(ascii: "y")
        add(other, to: &table)
      }
      #expect(table.distinct == length + 2, "length \(length)")
    }
  }

  @Test("does not look at what follows a word")
  func surroundings() {
    var table = WordTable()
    for filler in 0..<UInt8(100) {
      let bytes = Array("word".utf8) + [UInt8](repeating: filler, count: 32)
      bytes.withUnsafeBytes { table.add($0.baseAddress!, length: 4) }
    }
    #expect(table.distinct == 1)
    #expect(table.mostFrequent(1).map(\.count) == [100])
  }

  @Test("adds another table, whichever is larger")
  func merge() {
    for (left, right) in [(10, 1000), (1000, 10)] {
      var table = numbers(0..<left)
      table.merge(numbers(0..<right))
      #expect(table.distinct == 1000)
      let counts = WordCounterTests.dictionary(table)
      #expect(counts["word_with_a_long_name_5"] == 2)
      #expect(counts["n5"] == nil && counts["5"] == nil)
      #expect(counts["word_with_a_long_name_999"] == 1)
    }
  }

  @Test("orders by count, then by bytes, and gives as many as were asked for")
  func order() {
    var table = WordTable()
    for (word, count) in [("pear", 2), ("apple", 2), ("fig", 7), ("quince", 1), ("medlar", 1)] {
      add(Array(word.utf8), to: &table, count: UInt64(count))
    }
    #expect(table.mostFrequent(4).map(\.word) == ["fig", "apple", "pear", "medlar"])
    #expect(table.mostFrequent(0).isEmpty)
    #expect(table.mostFrequent(99).count == 5)
  }

  private func add(_ word: [UInt8], to table: inout WordTable, count: UInt64 = 1) {
    (word + [UInt8](repeating: 0xee, count: WordTable.readAhead)).withUnsafeBytes {
      table.add($0.baseAddress!, length: word.count, count: count)
    }
  }

  private func numbers(_ range: Range<Int>) -> WordTable {
    var table = WordTable()
    for number in range { add(Array("word_with_a_long_name_\(number)".utf8), to: &table) }
    return table
  }
}
