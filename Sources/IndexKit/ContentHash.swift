// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A 128-bit fingerprint of a file's contents, to find duplicates. Our own design, not a standard one, and not for
// security: whoever may choose the contents can make two files collide. By chance they do not: 2^-128 per pair.
//
//   stripe (64 bytes)   w0 w1 | w2 w3 | w4 w5 | w6 w7        little-endian words
//                       lane a  lane b  lane c  lane d       each lane: low, high
//
// 1. A lane absorbs two words: it multiplies (w0 ^ low) by (w1 ^ high) to 128 bits, and adds both halves and both words
//    to its rotated state. The words enter a second time, so a factor of zero cannot swallow the other.
// 2. The four lanes do not depend on each other; the processor runs their multiplications at once.
// 3. The last stripe is padded with zeros. The length enters at the end, so padding is not mistaken for content.
// 4. A fifth lane absorbs the four; four Feistel rounds, which lose nothing, then spread every bit over the result.
//
// The result does not depend on how the contents were cut into chunks.
// Rejected: folding the product to 64 bits per lane, as fast hashes do; a change in one lane would then collide at 2^-64.

/// The 128-bit fingerprint of some contents.
package struct ContentHash: Hashable, Comparable, Sendable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// 32 hexadecimal digits.
  package var hexadecimal: String { Self.digits(high) + Self.digits(low) }

  private static func digits(_ word: UInt64) -> String {
    let short = String(word, radix: 16)
    return String(repeating: "0", count: 16 - short.utf8.count) + short
  }

  package static func < (left: ContentHash, right: ContentHash) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }
}

/// Computes a `ContentHash` of contents that arrive in chunks.
package struct ContentHasher: ~Copyable {
  private static let stripeSize = 64

  private var lanes = Lanes()
  private var length: UInt64 = 0
  private var pendingCount = 0
  private let pending: UnsafeMutableRawPointer

  package init() {
    pending = .allocate(byteCount: Self.stripeSize, alignment: 16)
  }

  deinit { pending.deallocate() }

  /// Forgets everything, to begin another file.
  package mutating func reset() {
    lanes = Lanes()
    length = 0
    pendingCount = 0
  }

  /// Adds the next `count` bytes.
  // unsafe: every stripe is read only when 64 bytes of it lie before `end`.
  package mutating func update(_ bytes: UnsafeRawPointer, count: Int) {
    length &+= UInt64(count)
    var next = bytes
    let end = bytes + count
    if pendingCount > 0 {
      let taken = min(Self.stripeSize - pendingCount, count)
      (pending + pendingCount).copyMemory(from: next, byteCount: taken)
      pendingCount += taken
      next += taken
      guard pendingCount == Self.stripeSize else { return }
      lanes.absorb(stripe: UnsafeRawPointer(pending))
      pendingCount = 0
    }
    var running = lanes
    while end - next >= Self.stripeSize {
      running.absorb(stripe: next)
      next += Self.stripeSize
    }
    lanes = running
    pendingCount = end - next
    if pendingCount > 0 { pending.copyMemory(from: next, byteCount: pendingCount) }
  }

  /// The hash of everything added since `reset()`.
  package borrowing func finish() -> ContentHash {
    var closing = lanes
    if pendingCount > 0 {
      // unsafe: `pending` holds a whole stripe, of which the part not yet filled is cleared here.
      (pending + pendingCount).initializeMemory(
        as: UInt8.self, repeating: 0, count: Self.stripeSize - pendingCount)
      closing.absorb(stripe: UnsafeRawPointer(pending))
    }
    return closing.mixed(length: length)
  }
}

/// 128 bits of state that absorb two words at a time.
private struct Lane {
  var low: UInt64
  var high: UInt64

  @inline(__always)
  mutating func absorb(_ first: UInt64, _ second: UInt64) {
    let product = (first ^ low).multipliedFullWidth(by: second ^ high)
    low = ((low &<< 29) | (low &>> 35)) &+ (product.low ^ second)
    high = ((high &<< 31) | (high &>> 33)) ^ (product.high &+ first)
  }
}

/// The four lanes of one stream.
private struct Lanes {
  // The fractional parts of the square roots of the first primes: numbers with nothing up their sleeve.
  private var a = Lane(low: 0x6a09_e667_f3bc_c908, high: 0xbb67_ae85_84ca_a73b)
  private var b = Lane(low: 0x3c6e_f372_fe94_f82b, high: 0xa54f_f53a_5f1d_36f1)
  private var c = Lane(low: 0x510e_527f_ade6_82d1, high: 0x9b05_688c_2b3e_6c1f)
  private var d = Lane(low: 0x1f83_d9ab_fb41_bd6b, high: 0x5be0_cd19_137e_2179)

  // unsafe: the caller vouches for 64 readable bytes.
  @inline(__always)
  mutating func absorb(stripe: UnsafeRawPointer) {
    a.absorb(Self.word(stripe, 0), Self.word(stripe, 1))
    b.absorb(Self.word(stripe, 2), Self.word(stripe, 3))
    c.absorb(Self.word(stripe, 4), Self.word(stripe, 5))
    d.absorb(Self.word(stripe, 6), Self.word(stripe, 7))
  }

  func mixed(length: UInt64) -> ContentHash {
    var sum = Lane(low: 0xcbbb_9d5d_c105_9ed8 ^ length, high: 0x629a_292a_367c_d507 &+ length)
    for lane in [a, b, c, d] { sum.absorb(lane.low, lane.high) }
    for key: UInt64 in [0x9159_015a_3070_dd17, 0x152f_ecd8_f70e_5939, 0x6733_2667_ffc0_0b31, 0x8eb4_4a87_6858_1511] {
      (sum.low, sum.high) = (sum.high, sum.low ^ Self.scrambled(sum.high &+ key))
    }
    return ContentHash(high: sum.high, low: sum.low)
  }

  /// Every bit of the result depends on every bit of `word`; no two words give the same result.
  private static func scrambled(_ word: UInt64) -> UInt64 {
    var word = word
    word = (word ^ (word &>> 32)) &* 0xdb0c_2e0d_64f9_8fa7
    word = (word ^ (word &>> 29)) &* 0x47b5_481d_befa_4fa5
    return word ^ (word &>> 32)
  }

  @inline(__always)
  private static func word(_ stripe: UnsafeRawPointer, _ index: Int) -> UInt64 {
    UInt64(littleEndian: stripe.loadUnaligned(fromByteOffset: index &* 8, as: UInt64.self))
  }
}
