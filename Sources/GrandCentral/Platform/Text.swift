// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What the kernel's files and the environment say.
///
/// It is bytes, not strings: it need not be UTF-8, and comparing or hashing strings would pull the Unicode tables into a
/// library that has no other use for them.
enum Text {
  typealias Bytes = ArraySlice<UInt8>

  /// The parts between the separators; empty ones are left out unless `keepsEmpty`.
  /// - Parameter most: The greatest number of parts. The last one is the rest of the text, separators and all.
  @inline(never)
  @_optimize(size)
  static func parts(_ text: Bytes, _ separator: UInt8, most: Int = .max, keepsEmpty: Bool = false) -> [Bytes] {
    var result = [Bytes]()
    var start = text.startIndex
    var index = start
    while index < text.endIndex, result.count < most - 1 {
      if text[index] == separator {
        if keepsEmpty || start < index { result.append(text[start..<index]) }
        start = index + 1
      }
      index += 1
    }
    if keepsEmpty || start < text.endIndex { result.append(text[start...]) }
    return result
  }

  @inline(never)
  @_optimize(size)
  static func lines(_ text: Bytes) -> [Bytes] { parts(text, UInt8(ascii: "\n")) }

  @inline(never)
  @_optimize(size)
  static func words(_ line: Bytes) -> [Bytes] { parts(line, UInt8(ascii: " ")) }

  @inline(never)
  @_optimize(size)
  static func equal(_ text: Bytes, _ word: StaticString) -> Bool {
    guard text.count == word.utf8CodeUnitCount else { return false }
    var start = word.utf8Start
    for byte in text {
      // unsafe: as many bytes as the literal has.
      if byte != start.pointee { return false }
      start += 1
    }
    return true
  }

  @inline(never)
  @_optimize(size)
  static func equal(_ text: Bytes, _ other: Bytes) -> Bool {
    guard text.count == other.count else { return false }
    let shift = other.startIndex - text.startIndex
    for index in text.indices where text[index] != other[index + shift] { return false }
    return true
  }

  /// Whether both are the same bytes, which is less than what `==` asks: that they mean the same.
  @inline(never)
  @_optimize(size)
  static func equal(_ text: String, _ other: String) -> Bool {
    equal(Array(text.utf8)[...], Array(other.utf8)[...])
  }

  /// A decimal number without a sign, perhaps before a line break; nil for anything else.
  @inline(never)
  @_optimize(size)
  static func number(_ text: Bytes) -> Int? {
    var digits = text
    while let last = digits.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: " ") { digits.removeLast() }
    guard !digits.isEmpty else { return nil }
    var value = 0
    for byte in digits {
      guard byte >= 0x30, byte <= 0x39 else { return nil }
      let (product, tooBig) = value.multipliedReportingOverflow(by: 10)
      let (sum, carries) = product.addingReportingOverflow(Int(byte) - 0x30)
      if tooBig || carries { return nil }
      value = sum
    }
    return value
  }
}
