// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Bytes in the encoding of protocol buffers: fields of a number each, messages within messages.
struct ProtoBuffer {
  private(set) var bytes: [UInt8] = []

  mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  mutating func reserve(_ count: Int) { bytes.reserveCapacity(count) }

  @inline(__always)
  private mutating func varint(_ value: UInt64) {
    var rest = value
    while rest > 127 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  @inline(__always)
  private mutating func tag(_ field: UInt32, _ type: UInt64) { varint(UInt64(field) << 3 | type) }

  @inline(__always)
  mutating func integer(_ field: UInt32, _ value: UInt64) {
    tag(field, 0)
    varint(value)
  }

  mutating func signed(_ field: UInt32, _ value: Int64) { integer(field, UInt64(bitPattern: value)) }

  mutating func fixed(_ field: UInt32, _ value: UInt64) {
    tag(field, 1)
    var rest = value
    for _ in 0..<8 {
      bytes.append(UInt8(truncatingIfNeeded: rest))
      rest >>= 8
    }
  }

  mutating func double(_ field: UInt32, _ value: Double) { fixed(field, value.bitPattern) }

  mutating func text(_ field: UInt32, _ value: String) {
    var value = value
    value.withUTF8 { utf8 in
      tag(field, 2)
      varint(UInt64(utf8.count))
      bytes.append(contentsOf: utf8)
    }
  }

  mutating func data(_ field: UInt32, _ value: some Collection<UInt8>) {
    tag(field, 2)
    varint(UInt64(value.count))
    bytes.append(contentsOf: value)
  }

  /// A message, whose fields `body` writes. Most are shorter than 128 bytes: the length is one byte, which is there already.
  @inline(__always)
  mutating func message(_ field: UInt32, _ body: (inout ProtoBuffer) -> Void) {
    tag(field, 2)
    let place = bytes.count
    bytes.append(0)
    body(&self)
    let length = bytes.count - place - 1
    if length < 128 { bytes[place] = UInt8(truncatingIfNeeded: length) } else { widen(place, length) }
  }

  private mutating func widen(_ place: Int, _ length: Int) {
    var prefix = ProtoBuffer()
    prefix.varint(UInt64(length))
    bytes.replaceSubrange(place...place, with: prefix.bytes)
  }
}
