// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Classifies 64 bytes at a time, eight in a register: which belong to a word, which are not ASCII.
enum ByteClasses {
  static let blockSize = 64

  struct Block {
    /// Bit *i* is set if byte *i* is an ASCII letter, digit or underscore.
    var word: UInt64 = 0
    /// Bit *i* is set if byte *i* is not ASCII.
    var nonASCII: UInt64 = 0
  }

  private static let ones: UInt64 = 0x0101_0101_0101_0101
  private static let tops: UInt64 = 0x8080_8080_8080_8080

  /// Classifies the block at `start`, and turns its ASCII letters into lower case in place.
  // unsafe: the caller vouches for 64 readable and writable bytes.
  @inline(__always)
  static func classify(_ start: UnsafeMutableRawPointer) -> Block {
    var block = Block()
    for index in 0..<8 {
      let place = start + index &* 8
      let bytes = UInt64(littleEndian: place.loadUnaligned(as: UInt64.self))
      let high = bytes & tops
      // Seven bits a byte, so that no sum below carries into the neighbour.
      let low = bytes & ~tops
      let lowered = low | (ones &* 0x20)
      let letters = range(lowered, from: 0x61, through: 0x7a) & ~high
      let digits = range(low, from: 0x30, through: 0x39)
      let underscores = range(low, from: 0x5f, through: 0x5f)
      place.storeBytes(of: (bytes | (letters &>> 2)).littleEndian, as: UInt64.self)
      let shift = UInt64(truncatingIfNeeded: index &* 8)
      block.word |= gathered((letters | digits | underscores) & ~high) &<< shift
      block.nonASCII |= gathered(high) &<< shift
    }
    return block
  }

  /// The top bit of every byte that lies in the range; all bytes are below 0x80.
  @inline(__always)
  private static func range(_ bytes: UInt64, from first: UInt64, through last: UInt64) -> UInt64 {
    let reachesFirst = bytes &+ ones &* (0x80 &- first)
    let passesLast = bytes &+ ones &* (0x7f &- last)
    return reachesFirst & ~passesLast & tops
  }

  /// The eight top bits, side by side: byte *i* gives bit *i*.
  @inline(__always)
  private static func gathered(_ topBits: UInt64) -> UInt64 {
    ((topBits &>> 7) &* 0x0102_0408_1020_4080) &>> 56
  }
}
