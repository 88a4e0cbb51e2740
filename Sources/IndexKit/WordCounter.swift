// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

// Counts the words of contents that arrive in chunks. A word is a run of letters, digits, marks and underscores; case
// does not matter. Whatever is not UTF-8 separates words.
//
//   buffer   | carried | new bytes ...           | room for reading ahead |
//            0                      cut   filled                          size
//
// 1. Bytes before `cut` are complete characters; up to three after it may begin one that the next chunk completes.
// 2. A word that reaches the cut may go on: it is carried to the front of the buffer and seen again with the next chunk.
//    Lower case is made in place; made again, it changes nothing.
// 3. A word longer than the table holds is not carried: `insideOverlong` remembers that it goes on. It counts as a word,
//    but is not told apart from others.
// 4. The edges of a block's bit pattern are where words begin and end, in turn. No byte is looked at alone.

/// Counts words over any number of files.
package struct WordCounter: ~Copyable {
  /// How often each word occurs, over all files.
  package private(set) var table = WordTable()
  /// The words of the current file.
  package private(set) var words: UInt64 = 0
  /// The words of the current file that are too long to be told apart.
  package private(set) var overlongWords: UInt64 = 0
  /// Whether the current file has been UTF-8 so far.
  package private(set) var isUTF8 = true

  private var letters = UnicodeLetters()
  private let buffer: UnsafeMutableRawPointer
  private let size: Int
  private var filled = 0
  private var insideOverlong = false

  private static let carryRoom = 320
  private static let slack = ByteClasses.blockSize + WordTable.readAhead

  /// - Parameter chunkSize: how many bytes can be handed over at a time.
  package init(chunkSize: Int = 256 * 1024) {
    size = chunkSize + Self.carryRoom
    buffer = .allocate(byteCount: size + Self.slack, alignment: 64)
    buffer.initializeMemory(as: UInt8.self, repeating: 0, count: size + Self.slack)
  }

  deinit { buffer.deallocate() }

  /// Hands over the words of all files, and begins with none.
  package mutating func takeTable() -> WordTable {
    var taken = WordTable()
    swap(&taken, &table)
    return taken
  }

  /// Begins another file.
  package mutating func begin() {
    words = 0
    overlongWords = 0
    isUTF8 = true
    filled = 0
    insideOverlong = false
  }

  /// Where the next chunk is to be written, before `consume`.
  package var space: UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(start: buffer + filled, count: size - filled)
  }

  /// Counts the words of the `count` bytes that were written to `space`.
  package mutating func consume(_ count: Int) {
    filled += count
    let tail = UnicodeLetters.incompleteTail(before: UnsafeRawPointer(buffer + filled), available: filled)
    let cut = filled - tail
    let open = scan(upTo: cut)
    let keep = carry(open, cut: cut)
    memmove(buffer, buffer + keep, filled - keep)
    filled -= keep
  }

  /// Ends the file: what was carried is complete.
  package mutating func finish() {
    let open = scan(upTo: filled)
    if let open { count(from: open, to: filled) }
    filled = 0
    insideOverlong = false
  }

  /// The first byte to carry over, given where the word that reaches the cut began.
  private mutating func carry(_ open: Int?, cut: Int) -> Int {
    insideOverlong = false
    guard let open else { return cut }
    if cut - open <= WordTable.longestWord { return open }
    insideOverlong = true
    return cut
  }

  /// Counts the words that end before `cut`; returns where the one that reaches it began.
  // unsafe: blocks begin before `cut`, and the slack behind the buffer makes the last one whole.
  private mutating func scan(upTo cut: Int) -> Int? {
    (buffer + filled).storeBytes(of: 0, as: UInt32.self)
    var open = insideOverlong ? -WordTable.longestWord - 1 : nil
    var previous: UInt64 = insideOverlong ? 1 : 0
    var spill = Spill()
    var base = 0
    while base < cut {
      var block = ByteClasses.classify(buffer + base)
      let valid = cut &- base >= 64 ? UInt64.max : (1 &<< UInt64(truncatingIfNeeded: cut &- base)) &- 1
      block.word &= valid
      block.nonASCII &= valid
      if block.nonASCII != 0 { markNonASCII(&block, base: base, spill: &spill) }
      var edges = block.word ^ (block.word &<< 1 | previous)
      // A word open at the cut stays open: the zeros that follow in the last block are not its end.
      edges &= valid
      previous = block.word &>> 63
      if let start = open, edges != 0 {
        count(from: start, to: base &+ edges.trailingZeroBitCount)
        edges &= edges &- 1
        open = nil
      }
      while edges != 0 {
        let start = base &+ edges.trailingZeroBitCount
        edges &= edges &- 1
        if edges == 0 {
          open = start
          break
        }
        count(from: start, to: base &+ edges.trailingZeroBitCount)
        edges &= edges &- 1
      }
      base &+= ByteClasses.blockSize
    }
    return open
  }

  @inline(__always)
  private mutating func count(from start: Int, to end: Int) {
    words &+= 1
    if end &- start <= WordTable.longestWord {
      table.add(UnsafeRawPointer(buffer + start), length: end &- start)
    } else {
      overlongWords &+= 1
    }
  }

  /// The part of a character that lies in the next block.
  private struct Spill {
    var bytes: UInt64 = 0
    var isWord = false
  }

  @inline(never)
  private mutating func markNonASCII(_ block: inout ByteClasses.Block, base: Int, spill: inout Spill) {
    if spill.isWord { block.word |= spill.bytes }
    var left = block.nonASCII & ~spill.bytes
    spill = Spill()
    while left != 0 {
      let index = left.trailingZeroBitCount
      let found = letters.fold(buffer + base + index)
      if !found.isValid { isUTF8 = false }
      let ones: UInt64 = 1 << UInt64(found.length) - 1
      left &= ~(ones << UInt64(index))
      if found.isWord { block.word |= ones << UInt64(index) }
      if index + found.length > 64 {
        spill = Spill(bytes: ones >> UInt64(64 - index), isWord: found.isWord)
      }
    }
  }
}
