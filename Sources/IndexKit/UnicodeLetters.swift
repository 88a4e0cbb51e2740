// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Which characters beyond ASCII belong to words, and their lower case: looked up once per character, then kept in
/// pages of 256. Letters, marks, digits and numbers that are letters belong to words.
struct UnicodeLetters: ~Copyable {
  private static let pageCount = 0x110000 >> 8

  /// A page holds the lower-case scalar of a word character, and zero for everything else.
  private let pages: UnsafeMutablePointer<UnsafeMutablePointer<UInt32>?>

  init() {
    pages = .allocate(capacity: Self.pageCount)
    pages.initialize(repeating: nil, count: Self.pageCount)
  }

  deinit {
    for index in 0..<Self.pageCount { pages[index]?.deallocate() }
    pages.deallocate()
  }

  /// What was found where a byte is not ASCII.
  struct Sequence {
    /// The number of bytes it takes: 2...4, or 1 if it is not UTF-8.
    let length: Int
    let isWord: Bool
    var isValid: Bool { length > 1 }

    static let invalid = Sequence(length: 1, isWord: false)
  }

  /// Decodes the sequence at `start`, and turns it into lower case in place.
  // unsafe: bytes are read only while they are continuation bytes; a zero byte follows the contents.
  mutating func fold(_ start: UnsafeMutableRawPointer) -> Sequence {
    let bytes = start.assumingMemoryBound(to: UInt8.self)
    let lead = bytes[0]
    let length: Int
    var scalar: UInt32
    switch lead {
    case 0xc2...0xdf: (length, scalar) = (2, UInt32(lead & 0x1f))
    case 0xe0...0xef: (length, scalar) = (3, UInt32(lead & 0x0f))
    case 0xf0...0xf4: (length, scalar) = (4, UInt32(lead & 0x07))
    default: return .invalid
    }
    for index in 1..<length {
      guard bytes[index] & 0xc0 == 0x80 else { return .invalid }
      scalar = scalar << 6 | UInt32(bytes[index] & 0x3f)
    }
    // Neither longer than need be, nor a surrogate, nor beyond Unicode.
    guard Self.encodedLength(scalar) == length, Unicode.Scalar(scalar) != nil else { return .invalid }
    let lowered = page(scalar >> 8)[Int(scalar & 0xff)]
    if lowered != scalar, lowered != 0 { Self.encode(lowered, length: length, at: bytes) }
    return Sequence(length: length, isWord: lowered != 0)
  }

  /// How many of the last bytes before `end` begin a sequence that later bytes may complete: 0...3.
  // unsafe: looks back at most `available` bytes.
  static func incompleteTail(before end: UnsafeRawPointer, available: Int) -> Int {
    for length in 1...3 where length <= available {
      let byte = end.load(fromByteOffset: -length, as: UInt8.self)
      switch byte {
      case 0x80...0xbf: continue
      case 0xc2...0xdf: return length < 2 ? length : 0
      case 0xe0...0xef: return length < 3 ? length : 0
      case 0xf0...0xf4: return length
      default: return 0
      }
    }
    return 0
  }

  @inline(__always)
  private mutating func page(_ index: UInt32) -> UnsafeMutablePointer<UInt32> {
    if let page = pages[Int(index)] { return page }
    return makePageSlow(index)
  }

  @inline(never)
  private mutating func makePageSlow(_ index: UInt32) -> UnsafeMutablePointer<UInt32> {
    let page = UnsafeMutablePointer<UInt32>.allocate(capacity: 256)
    for offset in 0..<256 {
      page.advanced(by: offset).initialize(to: Self.folded(index << 8 | UInt32(offset)))
    }
    pages[Int(index)] = page
    return page
  }

  private static func folded(_ value: UInt32) -> UInt32 {
    guard let scalar = Unicode.Scalar(value), belongsToWord(scalar) else { return 0 }
    let lower = scalar.properties.lowercaseMapping.unicodeScalars
    // In place there is room only for a form of the same length: a few letters keep their case.
    guard lower.count == 1, let only = lower.first?.value, encodedLength(only) == encodedLength(value) else {
      return value
    }
    return only
  }

  private static func belongsToWord(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.properties.isAlphabetic { return true }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark, .decimalNumber, .letterNumber: return true
    default: return false
    }
  }

  private static func encodedLength(_ scalar: UInt32) -> Int {
    scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4
  }

  private static func encode(_ scalar: UInt32, length: Int, at bytes: UnsafeMutablePointer<UInt8>) {
    var rest = scalar
    for index in stride(from: length - 1, to: 0, by: -1) {
      bytes[index] = 0x80 | UInt8(rest & 0x3f)
      rest >>= 6
    }
    bytes[0] = (length == 2 ? 0xc0 : length == 3 ? 0xe0 : 0xf0) | UInt8(rest)
  }
}
