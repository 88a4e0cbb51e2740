// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Encodings of data: what C calls dispatch_data_create_with_transform.
extension DispatchData {
  /// What the bytes of data mean.
  ///
  /// Formats of one group turn into each other: the base encodings and `none` among themselves, the Unicode ones among
  /// themselves.
  public enum Format: Sendable {
    /// Any bytes.
    case none
    /// RFC 4648 section 6, with padding.
    case base32
    /// RFC 4648 section 7, with padding.
    case base32Hex
    /// RFC 4648 section 4, with padding.
    case base64
    /// UTF-8. A byte order mark at the beginning of input is left out.
    case utf8
    /// UTF-16, least significant byte first. Output begins with a byte order mark; that of input is left out.
    case utf16LittleEndian
    /// UTF-16, most significant byte first. Output begins with a byte order mark; that of input is left out.
    case utf16BigEndian
    /// For input only: UTF-16 if it begins with a byte order mark, else UTF-8.
    case utfAny
  }

  /// The same content in another format, or nil if the formats do not go together, or the bytes are not well-formed.
  ///
  /// ```swift
  /// let text = picture.transformed(from: .none, to: .base64)
  /// ```
  ///
  /// Decoding base encodings skips white space (space, tab, line feed, carriage return) and wants complete padding.
  /// Nothing else outside the alphabet, no overlong or surrogate UTF-8 and no unpaired surrogate passes. Regions are read
  /// one after the other; nothing is flattened. Input and output of the same Unicode format are checked all the same.
  ///
  /// Complexity: O(count) time and new memory. Blocking: never.
  public func transformed(from input: Format, to output: Format) -> DispatchData? {
    guard input.isUnicode == output.isUnicode else { return nil }
    return input.isUnicode ? recoded(input, output) : rebased(input, output)
  }

  private func rebased(_ input: Format, _ output: Format) -> DispatchData? {
    guard let plain = input.base.map({ BaseDecoder.decode(self, $0) }) ?? self else { return nil }
    return output.base.map { BaseEncoder.encode(plain, $0) } ?? plain
  }

  private func recoded(_ input: Format, _ output: Format) -> DispatchData? {
    let found = input == .utfAny ? detectedFormat : input
    var sink = TransformSink(
      expecting: found == .utf8 ? (output == .utf8 ? length : 2 * length + 2) : length + length / 2)
    switch output {
    case .utf16LittleEndian: sink.append(0xFF, 0xFE)
    case .utf16BigEndian: sink.append(0xFE, 0xFF)
    case .utf8: break
    default:
      sink.discard()
      return nil
    }
    let writer = ScalarWriter(output)
    let isWellFormed =
      found == .utf8
      ? UTF8Reader.read(self, writer, into: &sink)
      : UTF16Reader.read(self, isBigEndian: found == .utf16BigEndian, writer, into: &sink)
    guard isWellFormed else {
      sink.discard()
      return nil
    }
    return sink.finish()
  }

  /// By the byte order mark.
  private var detectedFormat: Format {
    guard length >= 2 else { return .utf8 }
    return switch (self[0], self[1]) {
    case (0xFF, 0xFE): .utf16LittleEndian
    case (0xFE, 0xFF): .utf16BigEndian
    default: .utf8
    }
  }
}

extension DispatchData.Format {
  fileprivate var isUnicode: Bool {
    switch self {
    case .none, .base32, .base32Hex, .base64: false
    case .utf8, .utf16LittleEndian, .utf16BigEndian, .utfAny: true
    }
  }

  /// The alphabet of a base encoding.
  fileprivate var base: BaseAlphabet? {
    switch self {
    case .base32: .base32
    case .base32Hex: .base32Hex
    case .base64: .base64
    default: nil
    }
  }
}
