// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A strict reader of JSON, so that the tool's output is judged by other code than that which wrote it.
indirect enum JSON: Equatable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  struct Malformed: Error {
    let offset: Int
    let expected: String
  }

  static func parse(_ text: String) throws -> JSON {
    var parser = Parser(bytes: Array(text.utf8))
    let value = try parser.value()
    parser.skipBlanks()
    guard parser.position == parser.bytes.count else { throw parser.malformed("the end") }
    return value
  }

  subscript(_ key: String) -> JSON? {
    if case .object(let members) = self { return members[key] }
    return nil
  }

  var number: Double? { if case .number(let value) = self { value } else { nil } }
  var string: String? { if case .string(let value) = self { value } else { nil } }
  var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  var array: [JSON]? { if case .array(let value) = self { value } else { nil } }
}

private struct Parser {
  let bytes: [UInt8]
  var position = 0

  func malformed(_ expected: String) -> JSON.Malformed { JSON.Malformed(offset: position, expected: expected) }

  mutating func skipBlanks() {
    while position < bytes.count, [0x20, 0x0a, 0x0d, 0x09].contains(bytes[position]) { position += 1 }
  }

  mutating func takes(_ text: String) -> Bool {
    guard bytes[position...].starts(with: text.utf8) else { return false }
    position += text.utf8.count
    return true
  }

  mutating func value() throws -> JSON {
    skipBlanks()
    if takes("null") { return .null }
    if takes("true") { return .bool(true) }
    if takes("false") { return .bool(false) }
    if takes("\"") { return .string(try restOfString()) }
    if takes("[") {
      var elements: [JSON] = []
      try list(until: "]") { elements.append(try $0.value()) }
      return .array(elements)
    }
    if takes("{") {
      var members: [String: JSON] = [:]
      try list(until: "}") { parser in
        parser.skipBlanks()
        guard parser.takes("\"") else { throw parser.malformed("a name") }
        let name = try parser.restOfString()
        parser.skipBlanks()
        guard parser.takes(":"), members[name] == nil else { throw parser.malformed("a colon and a new name") }
        members[name] = try parser.value()
      }
      return .object(members)
    }
    return .number(try number())
  }

  private mutating func list(until end: String, _ element: (inout Parser) throws -> Void) throws {
    skipBlanks()
    if takes(end) { return }
    while true {
      try element(&self)
      skipBlanks()
      if takes(end) { return }
      guard takes(",") else { throw malformed("a comma or \(end)") }
    }
  }

  private mutating func number() throws -> Double {
    let start = position
    while position < bytes.count, "+-.eE0123456789".utf8.contains(bytes[position]) { position += 1 }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    guard let value = Double(text) else { throw malformed("a value") }
    return value
  }

  private mutating func restOfString() throws -> String {
    var text: [UInt8] = []
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let string = String(validating: text, as: UTF8.self) else { throw malformed("UTF-8") }
        return string
      case UInt8(ascii: "\\"): text += try escape()
      case 0..<0x20: throw malformed("an escaped control character")
      default: text.append(byte)
      }
    }
    throw malformed("a closing quote")
  }

  private mutating func escape() throws -> [UInt8] {
    for (name, byte) in [("\"", 0x22), ("\\", 0x5c), ("/", 0x2f), ("n", 0x0a), ("r", 0x0d), ("t", 0x09)] {
      if takes(name) { return [UInt8(byte)] }
    }
    guard takes("u"), position + 4 <= bytes.count,
      let value = UInt32(String(decoding: bytes[position..<position + 4], as: UTF8.self), radix: 16),
      let scalar = Unicode.Scalar(value)
    else { throw malformed("an escape") }
    position += 4
    return Array(String(Character(scalar)).utf8)
  }
}
