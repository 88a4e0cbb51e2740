// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

extension JSONValue {
  /// The value that `text` is; nil if it is not one.
  package init?(_ text: [UInt8]) {
    var reader = JSONReader(bytes: text)
    guard let value = reader.value(depth: 0) else { return nil }
    reader.skipBlanks()
    guard reader.isAtEnd else { return nil }
    self = value
  }

  /// The first member of this name, if the value is an object that has one.
  package subscript(_ name: String) -> JSONValue? {
    if case .object(let members) = self { return members.first { $0.0 == name }?.1 }
    return nil
  }

  package var string: String? { if case .string(let value) = self { value } else { nil } }
  package var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
}

private struct JSONReader {
  let bytes: [UInt8]
  private var position = 0
  /// Text from elsewhere must not overflow the stack.
  private static let deepest = 200

  init(bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { position == bytes.count }

  mutating func skipBlanks() {
    while !isAtEnd, [0x20, 0x0a, 0x0d, 0x09].contains(bytes[position]) { position += 1 }
  }

  /// Null reads as an empty object: nothing can be found in either.
  mutating func value(depth: Int) -> JSONValue? {
    guard depth < Self.deepest else { return nil }
    skipBlanks()
    if takes("null") { return .object([]) }
    if takes("true") { return .bool(true) }
    if takes("false") { return .bool(false) }
    if takes("\"") { return restOfString().map { .string($0) } }
    if takes("[") {
      var elements: [JSONValue] = []
      let isWhole = list(until: "]") { reader in
        guard let element = reader.value(depth: depth + 1) else { return false }
        elements.append(element)
        return true
      }
      return isWhole ? .array(elements) : nil
    }
    if takes("{") {
      var members: [(String, JSONValue)] = []
      let isWhole = list(until: "}") { reader in
        reader.skipBlanks()
        guard reader.takes("\""), let name = reader.restOfString() else { return false }
        reader.skipBlanks()
        guard reader.takes(":"), let member = reader.value(depth: depth + 1) else { return false }
        members.append((name, member))
        return true
      }
      return isWhole ? .object(members) : nil
    }
    return number()
  }

  private mutating func takes(_ text: String) -> Bool {
    guard bytes[position...].starts(with: text.utf8) else { return false }
    position += text.utf8.count
    return true
  }

  private mutating func list(until end: String, _ element: (inout JSONReader) -> Bool) -> Bool {
    skipBlanks()
    if takes(end) { return true }
    while element(&self) {
      skipBlanks()
      if takes(end) { return true }
      guard takes(",") else { return false }
    }
    return false
  }

  private mutating func number() -> JSONValue? {
    let start = position
    while !isAtEnd, "+-.eE0123456789".utf8.contains(bytes[position]) { position += 1 }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    return Int(text).map { .integer($0) } ?? Double(text).map { .number($0) }
  }

  private mutating func restOfString() -> String? {
    var units: [UInt8] = []
    while !isAtEnd {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return String(validating: units, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let scalar = escape() else { return nil }
        units += Array(String(Character(scalar)).utf8)
      case 0..<0x20: return nil
      default: units.append(byte)
      }
    }
    return nil
  }

  private mutating func escape() -> Unicode.Scalar? {
    for (name, scalar) in [
      ("\"", "\""), ("\\", "\\"), ("/", "/"), ("n", "\n"), ("r", "\r"), ("t", "\t"), ("b", "\u{8}"), ("f", "\u{c}"),
    ] as [(String, Unicode.Scalar)] where takes(name) { return scalar }
    guard let first = codeUnit() else { return nil }
    if let scalar = Unicode.Scalar(first) { return scalar }
    // The first of a pair that is one scalar together.
    guard (0xd800..<0xdc00).contains(first), takes("\\"), let second = codeUnit(), (0xdc00..<0xe000).contains(second)
    else { return nil }
    return Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
  }

  private mutating func codeUnit() -> UInt32? {
    guard takes("u"), position + 4 <= bytes.count else { return nil }
    let digits = String(decoding: bytes[position..<position + 4], as: UTF8.self)
    position += 4
    return UInt32(digits, radix: 16)
  }
}
