// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// An alphabet of RFC 4648 and how its digits group.
struct BaseAlphabet {
  let digits: StaticString
  /// Bits of a digit; digits and bytes of a group.
  let bits: Int
  let groupDigits: Int
  let groupBytes: Int

  static let base64 = BaseAlphabet(
    digits: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", bits: 6, groupDigits: 4, groupBytes: 3)
  static let base32 = BaseAlphabet(
    digits: "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", bits: 5, groupDigits: 8, groupBytes: 5)
  static let base32Hex = BaseAlphabet(
    digits: "0123456789ABCDEFGHIJKLMNOPQRSTUV", bits: 5, groupDigits: 8, groupBytes: 5)

  static let padding = UInt8(ascii: "=")
  /// Of a byte that is no digit; of one that decoding skips.
  static let invalid: UInt8 = 0xFF
  static let skipped: UInt8 = 0xFE

  /// Calls `body` with the value of each byte.
  func withValues<R>(_ body: (UnsafeMutablePointer<UInt8>) -> R) -> R {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { values in
      values.initialize(repeating: Self.invalid)
      for digit in 0..<(1 << bits) { values[Int(digits.utf8Start[digit])] = UInt8(digit) }
      for space: UInt8 in [0x20, 0x09, 0x0A, 0x0D] { values[Int(space)] = Self.skipped }
      return body(values.baseAddress.unsafelyUnwrapped)
    }
  }
}

// Groups in one piece of memory, with sizes that the compiler knows.
extension BaseAlphabet {
  /// Writes the digits of `groups` groups of bytes.
  func encode(_ groups: Int, of bytes: UnsafePointer<UInt8>, into sink: inout TransformSink) {
    sink.put(groups * groupDigits) { target in
      if bits == 6 {
        encode(groups, of: bytes, to: target, bits: 6, groupBytes: 3, groupDigits: 4)
      } else {
        encode(groups, of: bytes, to: target, bits: 5, groupBytes: 5, groupDigits: 8)
      }
    }
  }

  @inline(__always)
  private func encode(
    _ groups: Int, of bytes: UnsafePointer<UInt8>, to target: UnsafeMutablePointer<UInt8>, bits: Int, groupBytes: Int,
    groupDigits: Int
  ) {
    let digits = digits.utf8Start
    for group in 0..<groups {
      let (source, target) = (bytes + group &* groupBytes, target + group &* groupDigits)
      var word: UInt64 = 0
      for byte in 0..<groupBytes { word = word << 8 | UInt64(source[byte]) }
      for digit in 0..<groupDigits {
        target[digit] = digits[Int(word &>> UInt64((groupDigits &- 1 &- digit) &* bits)) & (1 &<< bits &- 1)]
      }
    }
  }

  /// Writes the bytes of up to `groups` groups of digits.
  ///
  /// - Returns: how many groups came before one with another byte.
  func decode(
    _ groups: Int, of bytes: UnsafePointer<UInt8>, _ values: UnsafePointer<UInt8>, into sink: inout TransformSink
  ) -> Int {
    var done = 0
    sink.put(upTo: groups * groupBytes) { target in
      done =
        bits == 6
        ? decode(groups, of: bytes, values, to: target, bits: 6, groupBytes: 3, groupDigits: 4)
        : decode(groups, of: bytes, values, to: target, bits: 5, groupBytes: 5, groupDigits: 8)
      return done * groupBytes
    }
    return done
  }

  @inline(__always)
  private func decode(
    _ groups: Int, of bytes: UnsafePointer<UInt8>, _ values: UnsafePointer<UInt8>,
    to target: UnsafeMutablePointer<UInt8>, bits: Int, groupBytes: Int, groupDigits: Int
  ) -> Int {
    for group in 0..<groups {
      let (source, target) = (bytes + group &* groupDigits, target + group &* groupBytes)
      var word: UInt64 = 0
      var all: UInt8 = 0
      for digit in 0..<groupDigits {
        let value = values[Int(source[digit])]
        all |= value
        word = word << UInt64(bits) | UInt64(value)
      }
      if all >= Self.skipped { return group }
      for byte in 0..<groupBytes {
        target[byte] = UInt8(truncatingIfNeeded: word &>> UInt64((groupBytes &- 1 &- byte) &* 8))
      }
    }
    return groups
  }
}

/// Bytes to digits. A group that a region's end splits waits in a word.
enum BaseEncoder {
  static func encode(_ data: DispatchData, _ alphabet: BaseAlphabet) -> DispatchData {
    let groups = (data.length + alphabet.groupBytes - 1) / alphabet.groupBytes
    var sink = TransformSink(expecting: groups * alphabet.groupDigits)
    sink.reserve(groups * alphabet.groupDigits)
    let digits = alphabet.digits.utf8Start
    let mask = UInt64(1 << alphabet.bits - 1)
    var group: UInt64 = 0
    var held = 0
    data.enumerateBytes { bytes, _, _ in
      var index = 0
      while index < bytes.count {
        if held == 0 {
          let groups = (bytes.count - index) / alphabet.groupBytes
          // unsafe: at least one byte is left from the index on.
          alphabet.encode(groups, of: bytes.baseAddress.unsafelyUnwrapped + index, into: &sink)
          index += groups * alphabet.groupBytes
          if index == bytes.count { return }
        }
        group = group << 8 | UInt64(bytes[index])
        index += 1
        held += 1
        guard held == alphabet.groupBytes else { continue }
        var shift = 8 * held
        while shift > 0 {
          shift -= alphabet.bits
          sink.put(digits[Int(group >> UInt64(shift) & mask)])
        }
        group = 0
        held = 0
      }
    }
    if held > 0 {
      let used = (8 * held + alphabet.bits - 1) / alphabet.bits
      group <<= UInt64(used * alphabet.bits - 8 * held)
      for digit in (0..<used).reversed() { sink.put(digits[Int(group >> UInt64(digit * alphabet.bits) & mask)]) }
      for _ in used..<alphabet.groupDigits { sink.put(BaseAlphabet.padding) }
    }
    return sink.finish()
  }
}

/// Digits to bytes, or nil.
enum BaseDecoder {
  static func decode(_ data: DispatchData, _ alphabet: BaseAlphabet) -> DispatchData? {
    alphabet.withValues { values in
      var sink = TransformSink(
        expecting: data.length / alphabet.groupDigits * alphabet.groupBytes + alphabet.groupBytes)
      var state = State(alphabet: alphabet, values: values)
      data.enumerateBytes { bytes, _, stop in
        var index = 0
        while index < bytes.count {
          // unsafe: at least one byte is left from the index on.
          index += state.takeGroups(bytes.baseAddress.unsafelyUnwrapped + index, bytes.count - index, &sink)
          if index == bytes.count { return }
          guard state.take(bytes[index], &sink) else {
            stop = true
            return
          }
          index += 1
        }
      }
      guard state.isComplete else {
        sink.discard()
        return nil
      }
      return sink.finish()
    }
  }

  private struct State {
    let alphabet: BaseAlphabet
    let values: UnsafeMutablePointer<UInt8>
    private var group: UInt64 = 0
    private var digits = 0
    private var padding = 0
    private var isBroken = false
    /// After the padding nothing may follow.
    private var isOver = false

    init(alphabet: BaseAlphabet, values: UnsafeMutablePointer<UInt8>) {
      self.alphabet = alphabet
      self.values = values
    }

    var isComplete: Bool { !isBroken && digits == 0 && padding == 0 }

    /// Takes whole groups of nothing but digits, if none is begun.
    ///
    /// - Returns: how many bytes these are.
    mutating func takeGroups(_ bytes: UnsafePointer<UInt8>, _ count: Int, _ sink: inout TransformSink) -> Int {
      if digits != 0 || padding != 0 || isOver { return 0 }
      let groups = count / alphabet.groupDigits
      if groups == 0 { return 0 }
      return alphabet.decode(groups, of: bytes, values, into: &sink) * alphabet.groupDigits
    }

    /// Whether the byte may stand here.
    @inline(__always)
    mutating func take(_ byte: UInt8, _ sink: inout TransformSink) -> Bool {
      let value = values[Int(byte)]
      if value < 64, padding == 0, !isOver {
        group = group << UInt64(alphabet.bits) | UInt64(value)
        digits += 1
        if digits == alphabet.groupDigits { close(&sink) }
        return true
      }
      return takeRare(byte, value, &sink)
    }

    @inline(never)
    private mutating func takeRare(_ byte: UInt8, _ value: UInt8, _ sink: inout TransformSink) -> Bool {
      if value == BaseAlphabet.skipped { return true }
      guard byte == BaseAlphabet.padding, digits > 0 else {
        isBroken = true
        return false
      }
      padding += 1
      if digits + padding < alphabet.groupDigits { return true }
      closePadded(&sink)
      return !isBroken
    }

    /// A full group.
    @inline(__always)
    private mutating func close(_ sink: inout TransformSink) {
      sink.reserve(alphabet.groupBytes)
      var shift = 8 * alphabet.groupBytes
      while shift > 0 {
        shift -= 8
        sink.put(UInt8(truncatingIfNeeded: group >> UInt64(shift)))
      }
      group = 0
      digits = 0
    }

    /// The last group: only as many digits as some number of bytes makes, and no bits beyond them.
    private mutating func closePadded(_ sink: inout TransformSink) {
      let bits = digits * alphabet.bits
      let spare = bits % 8
      guard spare < alphabet.bits, group & UInt64(1 << spare - 1) == 0 else {
        isBroken = true
        return
      }
      sink.reserve(alphabet.groupBytes)
      group >>= UInt64(spare)
      for byte in (0..<bits / 8).reversed() { sink.put(UInt8(truncatingIfNeeded: group >> UInt64(8 * byte))) }
      group = 0
      digits = 0
      padding = 0
      isOver = true
    }
  }
}
