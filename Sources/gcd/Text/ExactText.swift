// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Text that stands for any bytes, so that names and arguments can pass through what knows only text.
//
// 1. Bytes that are UTF-8 are that text. A byte that is not, 0x80...0xFF, becomes the scalar U+10FE00 + byte, which is
//    for private use.
// 2. A scalar of that range that the bytes really spell is taken apart into its bytes, each of which becomes a scalar.
//    So every scalar of the range stands for one byte, and the way back has no choice: nothing is lost.

/// Any bytes as text, and back.
package enum ExactText {
  private static let base: UInt32 = 0x10_fe00

  /// The text of `bytes`.
  package static func text(_ bytes: some Collection<UInt8>) -> String {
    var text = String.UnicodeScalarView()
    var parser = Unicode.UTF8.ForwardParser()
    var iterator = bytes.makeIterator()
    var rest = bytes[...]
    while true {
      let length: Int
      switch parser.parseScalar(from: &iterator) {
      case .emptyInput: return String(text)
      case .valid(let encoded):
        length = encoded.count
        let scalar = Unicode.UTF8.decode(encoded)
        if byte(scalar) == nil { text.append(scalar) } else { append(rest.prefix(length), to: &text) }
      case .error(let wrong):
        length = wrong
        append(rest.prefix(length), to: &text)
      }
      rest = rest.dropFirst(length)
    }
  }

  /// The bytes that `text` stands for.
  package static func bytes(_ text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    for scalar in text.unicodeScalars {
      if let byte = byte(scalar) { bytes.append(byte) } else { bytes += UTF8.encode(scalar)! }
    }
    return bytes
  }

  /// The byte that a scalar stands for; nil if it is itself.
  package static func byte(_ scalar: Unicode.Scalar) -> UInt8? {
    (base + 0x80...base + 0xff).contains(scalar.value) ? UInt8(scalar.value - base) : nil
  }

  private static func append(_ bytes: some Sequence<UInt8>, to text: inout String.UnicodeScalarView) {
    // unsafe: every number of the range is a scalar.
    for byte in bytes { text.append(Unicode.Scalar(base + UInt32(byte))!) }
  }
}
