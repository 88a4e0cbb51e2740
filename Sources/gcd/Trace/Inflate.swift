// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Data in the format of zlib (RFC 1950 and 1951), of which pieces of a trace may be. The bytes may be anything.
enum Inflate {
  /// Nothing that unpacks to more is unpacked.
  private static let largest = 1 << 28

  /// Nil if it is damaged.
  static func zlib(_ data: ArraySlice<UInt8>) -> [UInt8]? {
    guard data.count > 6, let first = data.first, first & 0xf == 8 else { return nil }
    var bits = BitReader(data.dropFirst(2))
    var output: [UInt8] = []
    while true {
      guard let last = bits.take(1), let kind = bits.take(2) else { return nil }
      let isGood =
        switch kind {
        case 0: stored(&bits, &output)
        case 1: block(&bits, &output, Huffman.fixedLengths, Huffman.fixedDistances)
        case 2: dynamic(&bits, &output)
        default: false
        }
      guard isGood else { return nil }
      if last == 1 { break }
    }
    guard let sum = bits.checksum, sum == Adler.sum(output) else { return nil }
    return output
  }

  private static func stored(_ bits: inout BitReader, _ output: inout [UInt8]) -> Bool {
    bits.align()
    guard let length = bits.take(16), let check = bits.take(16), length == ~check & 0xffff else { return false }
    for _ in 0..<length {
      guard let byte = bits.take(8) else { return false }
      output.append(UInt8(byte))
    }
    return output.count <= largest
  }

  private static func dynamic(_ bits: inout BitReader, _ output: inout [UInt8]) -> Bool {
    guard let literals = bits.take(5), let distances = bits.take(5), let codes = bits.take(4) else { return false }
    var lengths = [UInt8](repeating: 0, count: 19)
    for place in [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15].prefix(Int(codes) + 4) {
      guard let length = bits.take(3) else { return false }
      lengths[place] = UInt8(length)
    }
    let code = Huffman(lengths)
    let total = Int(literals) + 257 + Int(distances) + 1
    var all: [UInt8] = []
    while all.count < total {
      guard let symbol = code.next(&bits) else { return false }
      var (value, count): (UInt8, UInt32) = (UInt8(truncatingIfNeeded: symbol), 1)
      if symbol >= 16 {
        let (width, base): (Int, UInt32) = symbol == 16 ? (2, 3) : symbol == 17 ? (3, 3) : (7, 11)
        guard let more = bits.take(width), symbol > 16 || !all.isEmpty else { return false }
        value = symbol == 16 ? all[all.count - 1] : 0
        count = base + more
      }
      all += repeatElement(value, count: Int(count))
    }
    guard all.count == total else { return false }
    let border = Int(literals) + 257
    return block(&bits, &output, Huffman(Array(all[..<border])), Huffman(Array(all[border...])))
  }

  private static func block(
    _ bits: inout BitReader, _ output: inout [UInt8], _ literals: Huffman, _ distances: Huffman
  ) -> Bool {
    while let symbol = literals.next(&bits) {
      if symbol < 256 {
        output.append(UInt8(symbol))
        continue
      }
      if symbol == 256 { return true }
      guard symbol < 286 else { return false }
      let (base, width) = DeflateTables.lengths[symbol - 257]
      guard let more = bits.take(width), let code = distances.next(&bits), code < 30 else { return false }
      let (far, farWidth) = DeflateTables.distances[code]
      guard let farMore = bits.take(farWidth) else { return false }
      let (length, distance) = (base + Int(more), far + Int(farMore))
      guard distance <= output.count, output.count + length <= largest else { return false }
      for _ in 0..<length { output.append(output[output.count - distance]) }
    }
    return false
  }
}

/// Bits of a deflated piece, the least significant of a byte first.
struct BitReader {
  private var rest: ArraySlice<UInt8>
  private var held: UInt32 = 0
  private var count = 0

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// Up to 16 bits; nil at the end.
  mutating func take(_ width: Int) -> UInt32? {
    while count < width {
      guard let byte = rest.popFirst() else { return nil }
      held |= UInt32(byte) << UInt32(count)
      count += 8
    }
    let value = held & ((1 << UInt32(width)) - 1)
    held >>= UInt32(width)
    count -= width
    return value
  }

  mutating func align() { _ = take(count % 8) }

  /// The four bytes behind the piece.
  var checksum: UInt32? {
    var copy = self
    copy.align()
    var sum: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = copy.take(8) else { return nil }
      sum = sum << 8 | byte
    }
    return sum
  }
}

/// A code whose shorter words come first.
struct Huffman {
  /// How many words there are of each length, and the symbols in their order.
  private var counts = [Int](repeating: 0, count: 16)
  private var symbols: [Int] = []

  init(_ lengths: [UInt8]) {
    for length in lengths where length > 0 && length < 16 { counts[Int(length)] += 1 }
    for length in 1..<16 where counts[length] > 0 {
      symbols += lengths.indices.filter { Int(lengths[$0]) == length }
    }
  }

  func next(_ bits: inout BitReader) -> Int? {
    var (code, first, index) = (0, 0, 0)
    for length in 1..<16 {
      guard let bit = bits.take(1) else { return nil }
      code |= Int(bit)
      let count = counts[length]
      if code - count < first { return code >= first ? symbols[index + code - first] : nil }
      index += count
      first = (first + count) << 1
      code <<= 1
    }
    return nil
  }

  static let fixedLengths = Huffman((0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
  static let fixedDistances = Huffman([UInt8](repeating: 5, count: 30))
}

enum DeflateTables {
  /// Of each symbol from 257 on: the shortest length, and how many bits say more.
  static let lengths: [(base: Int, bits: Int)] = table(count: 29, first: 3, plain: 8, group: 4, last: (258, 0))
  static let distances: [(base: Int, bits: Int)] = table(count: 30, first: 1, plain: 4, group: 2, last: nil)

  private static func table(
    count: Int, first: Int, plain: Int, group: Int, last: (Int, Int)?
  ) -> [(base: Int, bits: Int)] {
    var (result, base): ([(base: Int, bits: Int)], Int) = ([], first)
    for symbol in 0..<count {
      let bits = symbol < plain ? 0 : (symbol - plain) / group + 1
      result.append((base, bits))
      base += 1 << bits
    }
    if let last { result[count - 1] = last }
    return result
  }
}

/// The sum by which zlib checks what has been unpacked.
enum Adler {
  static func sum(_ bytes: [UInt8]) -> UInt32 {
    var (a, b): (UInt32, UInt32) = (1, 0)
    // So many bytes may be added up before a sum is too large for its type.
    for start in stride(from: 0, to: bytes.count, by: 5552) {
      for byte in bytes[start..<min(bytes.count, start + 5552)] {
        a &+= UInt32(byte)
        b &+= a
      }
      a %= 65521
      b %= 65521
    }
    return b << 16 | a
  }
}
