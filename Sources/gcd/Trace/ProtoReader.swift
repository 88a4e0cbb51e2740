// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The fields of a message in the encoding of protocol buffers. The bytes may be anything: what does not fit ends the message.
struct ProtoReader {
  enum Value {
    case integer(UInt64)
    case fixed(UInt64)
    case data(ArraySlice<UInt8>)
  }

  private var rest: ArraySlice<UInt8>
  /// Whether what follows makes no sense.
  private(set) var isDamaged = false

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// The next field; nil at the end, and where it is damaged.
  mutating func next() -> (field: UInt64, value: Value)? {
    if rest.isEmpty || isDamaged { return nil }
    guard let tag = varint() else { return damaged() }
    switch tag & 7 {
    case 0:
      guard let value = varint() else { return damaged() }
      return (tag >> 3, .integer(value))
    case 1:
      guard let value = littleEndian(8) else { return damaged() }
      return (tag >> 3, .fixed(value))
    case 2:
      guard let length = varint(), length <= UInt64(rest.count) else { return damaged() }
      let data = rest.prefix(Int(length))
      rest = rest.dropFirst(Int(length))
      return (tag >> 3, .data(data))
    case 5:
      guard let value = littleEndian(4) else { return damaged() }
      return (tag >> 3, .fixed(value))
    default: return damaged()
    }
  }

  private mutating func damaged() -> (field: UInt64, value: Value)? {
    isDamaged = true
    return nil
  }

  private mutating func varint() -> UInt64? {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 70, by: 7) {
      guard let byte = rest.popFirst() else { return nil }
      value |= shift < 64 ? UInt64(byte & 0x7f) << shift : 0
      if byte < 0x80 { return value }
    }
    return nil
  }

  private mutating func littleEndian(_ count: Int) -> UInt64? {
    guard rest.count >= count else { return nil }
    var value: UInt64 = 0
    for (index, byte) in rest.prefix(count).enumerated() { value |= UInt64(byte) << UInt64(8 * index) }
    rest = rest.dropFirst(count)
    return value
  }
}

extension ProtoReader.Value {
  var integer: UInt64 {
    switch self {
    case .integer(let value), .fixed(let value): value
    case .data: 0
    }
  }

  var message: ProtoReader { ProtoReader(data) }

  var text: String { String(decoding: data, as: UTF8.self) }

  var data: ArraySlice<UInt8> {
    if case .data(let bytes) = self { return bytes }
    return []
  }
}
