// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Compresses data quickly, in the format of zlib (RFC 1950 and 1951): repetitions are replaced by references, and all symbols
/// use the fixed code. Events of a trace are much alike: they shrink to a fifth.
struct Deflate {
  /// The last place of each hash of four bytes, and one.
  private var places = [Int32](repeating: 0, count: 1 << hashBits)
  private var bits: UInt64 = 0
  private var count: UInt64 = 0

  private static let hashBits = 15
  private static let window = 32_768
  private static let shortest = 4
  private static let longest = 258

  /// A word of the fixed code, with the bits that follow it.
  private struct Word {
    var bits: UInt64 = 0
    var width: UInt64 = 0
  }

  private static let literals: [Word] = (0..<256).map { word($0) }
  private static let lengths: [Word] = (0...longest).map { lengthWord($0) }
  /// The symbol of each distance up to 256, and behind that of each 128 of them.
  private static let distanceSymbols: [UInt8] = (0..<512).map { index in
    let distance = index < 256 ? index + 1 : (index - 256) * 128 + 1
    return UInt8(DeflateTables.distances.lastIndex { $0.base <= distance } ?? 0)
  }
  private static let distances: [Word] = (0..<30).map { Word(bits: reversed(UInt64($0), 5), width: 5) }

  private static func word(_ symbol: Int) -> Word {
    switch symbol {
    case ..<144: Word(bits: reversed(UInt64(0x30 + symbol), 8), width: 8)
    case ..<256: Word(bits: reversed(UInt64(0x190 + symbol - 144), 9), width: 9)
    case ..<280: Word(bits: reversed(UInt64(symbol - 256), 7), width: 7)
    default: Word(bits: reversed(UInt64(0xc0 + symbol - 280), 8), width: 8)
    }
  }

  private static func lengthWord(_ length: Int) -> Word {
    if length < 3 { return Word() }
    // The longest length has a symbol of its own.
    let index = DeflateTables.lengths.lastIndex { $0.base <= length } ?? 0
    let (base, more) = DeflateTables.lengths[index]
    var word = word(257 + index)
    word.bits |= UInt64(length - base) << word.width
    word.width += UInt64(more)
    return word
  }

  /// The code's words begin with their most significant bit.
  private static func reversed(_ value: UInt64, _ width: UInt64) -> UInt64 {
    (0..<width).reduce(0) { $0 | (value >> $1 & 1) << (width - 1 - $1) }
  }

  mutating func zlib(_ input: [UInt8]) -> [UInt8] {
    (bits, count) = (0, 0)
    // The method and the window, and a check of both; the last block, of the fixed code.
    var output: [UInt8] = [0x78, 0x01]
    output.reserveCapacity(input.count / 3 + 64)
    put(Word(bits: 0b011, width: 3), &output)
    input.withUnsafeBufferPointer { body($0, &output) }
    put(Self.word(256), &output)
    if count > 0 { output.append(UInt8(truncatingIfNeeded: bits)) }
    let sum = Adler.sum(input)
    for shift in [24, 16, 8, 0] as [UInt32] { output.append(UInt8(truncatingIfNeeded: sum >> shift)) }
    return output
  }

  private mutating func body(_ input: UnsafeBufferPointer<UInt8>, _ output: inout [UInt8]) {
    for index in places.indices { places[index] = 0 }
    var place = 0
    while place < input.count {
      let length = match(input, place)
      guard length.count > 0 else {
        put(Self.literals[Int(input[place])], &output)
        place += 1
        continue
      }
      put(Self.lengths[length.count], &output)
      let distance = length.distance
      let symbol = Int(
        Self.distanceSymbols[distance <= 256 ? distance - 1 : 256 + (distance - 1) >> 7])
      put(Self.distances[symbol], &output)
      let (base, more) = DeflateTables.distances[symbol]
      if more > 0 { put(Word(bits: UInt64(distance - base), width: UInt64(more)), &output) }
      place += length.count
    }
  }

  /// The length and the distance of an earlier match for the bytes at a place; remembers the place.
  private mutating func match(_ input: UnsafeBufferPointer<UInt8>, _ place: Int) -> (count: Int, distance: Int) {
    guard place + Self.shortest <= input.count else { return (0, 0) }
    let start = UnsafeRawPointer(input.baseAddress!) + place
    let four = start.loadUnaligned(as: UInt32.self)
    let hash = Int((four &* 2_654_435_761) >> UInt32(32 - Self.hashBits))
    let before = Int(places[hash]) - 1
    places[hash] = Int32(place + 1)
    guard before >= 0, place - before <= Self.window else { return (0, 0) }
    let old = UnsafeRawPointer(input.baseAddress!) + before
    guard old.loadUnaligned(as: UInt32.self) == four else { return (0, 0) }
    let most = min(Self.longest, input.count - place)
    var length = Self.shortest
    while length < most, input[before + length] == input[place + length] { length += 1 }
    return (length, place - before)
  }

  @inline(__always)
  private mutating func put(_ word: Word, _ output: inout [UInt8]) {
    bits |= word.bits << count
    count += word.width
    while count >= 8 {
      output.append(UInt8(truncatingIfNeeded: bits))
      bits >>= 8
      count -= 8
    }
  }
}
