// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Writes scalars in one Unicode format.
struct ScalarWriter {
  private enum Form { case utf8, little, big }
  private let form: Form

  init(_ format: DispatchData.Format) {
    form = format == .utf8 ? .utf8 : format == .utf16LittleEndian ? .little : .big
  }

  /// A scalar takes up at most four bytes in each format.
  @inline(__always)
  func write(_ scalar: UInt32, into sink: inout TransformSink) {
    sink.reserve(4)
    switch form {
    case .utf8: writeUTF8(scalar, &sink)
    case .little, .big:
      if scalar < 0x1_0000 { return writeUnit(scalar, &sink) }
      writeUnit(0xD7C0 + scalar >> 10, &sink)
      writeUnit(0xDC00 | scalar & 0x3FF, &sink)
    }
  }

  @inline(__always)
  private func writeUnit(_ unit: UInt32, _ sink: inout TransformSink) {
    let low = UInt8(truncatingIfNeeded: unit)
    let high = UInt8(truncatingIfNeeded: unit >> 8)
    sink.put(form == .big ? high : low)
    sink.put(form == .big ? low : high)
  }

  @inline(__always)
  private func writeUTF8(_ scalar: UInt32, _ sink: inout TransformSink) {
    if scalar < 0x80 { return sink.put(UInt8(truncatingIfNeeded: scalar)) }
    if scalar < 0x800 {
      sink.put(UInt8(truncatingIfNeeded: 0xC0 | scalar >> 6))
    } else {
      if scalar < 0x1_0000 {
        sink.put(UInt8(truncatingIfNeeded: 0xE0 | scalar >> 12))
      } else {
        sink.put(UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18))
        sink.put(UInt8(truncatingIfNeeded: 0x80 | scalar >> 12 & 0x3F))
      }
      sink.put(UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 0x3F))
    }
    sink.put(UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F))
  }
}

/// Reads UTF-8. A scalar that a region's end splits waits in the state.
enum UTF8Reader {
  /// False if the bytes are not well-formed.
  static func read(_ data: DispatchData, _ writer: ScalarWriter, into sink: inout TransformSink) -> Bool {
    var scalar: UInt32 = 0
    var missing = 0
    /// What the next byte may be: narrower after some first bytes, which else begin overlong forms or surrogates.
    var low: UInt8 = 0x80
    var high: UInt8 = 0xBF
    var isFirst = true
    var isBroken = false
    data.enumerateBytes { bytes, _, stop in
      for byte in bytes {
        if missing == 0 {
          switch byte {
          case 0..<0x80:
            writer.write(UInt32(byte), into: &sink)
            isFirst = false
            continue
          case 0xC2...0xDF: (scalar, missing) = (UInt32(byte & 0x1F), 1)
          case 0xE0...0xEF:
            (scalar, missing) = (UInt32(byte & 0x0F), 2)
            low = byte == 0xE0 ? 0xA0 : 0x80
            high = byte == 0xED ? 0x9F : 0xBF
          case 0xF0...0xF4:
            (scalar, missing) = (UInt32(byte & 0x07), 3)
            low = byte == 0xF0 ? 0x90 : 0x80
            high = byte == 0xF4 ? 0x8F : 0xBF
          default:
            (isBroken, stop) = (true, true)
            return
          }
          continue
        }
        guard byte >= low, byte <= high else {
          (isBroken, stop) = (true, true)
          return
        }
        (low, high) = (0x80, 0xBF)
        scalar = scalar << 6 | UInt32(byte & 0x3F)
        missing -= 1
        if missing == 0 {
          if !isFirst || scalar != 0xFEFF { writer.write(scalar, into: &sink) }
          isFirst = false
        }
      }
    }
    return !isBroken && missing == 0
  }
}

/// Reads UTF-16. A unit or a pair that a region's end splits waits in the state.
enum UTF16Reader {
  /// False if the bytes are not well-formed.
  static func read(
    _ data: DispatchData, isBigEndian: Bool, _ writer: ScalarWriter, into sink: inout TransformSink
  ) -> Bool {
    if data.length % 2 != 0 { return false }
    var half: UInt8 = 0
    var isOdd = false
    var leading: UInt32 = 0
    var isFirst = true
    var isBroken = false
    data.enumerateBytes { bytes, _, stop in
      for byte in bytes {
        isOdd.toggle()
        if isOdd {
          half = byte
          continue
        }
        let unit = isBigEndian ? UInt32(half) << 8 | UInt32(byte) : UInt32(byte) << 8 | UInt32(half)
        let isTrailing = unit & 0xFC00 == 0xDC00
        guard isTrailing == (leading != 0) else {
          (isBroken, stop) = (true, true)
          return
        }
        if isTrailing {
          writer.write(0x1_0000 + (leading & 0x3FF) << 10 + unit & 0x3FF, into: &sink)
          leading = 0
        } else if unit & 0xFC00 == 0xD800 {
          leading = unit
        } else if !isFirst || unit != 0xFEFF {
          writer.write(unit, into: &sink)
        }
        isFirst = false
      }
    }
    return !isBroken && leading == 0
  }
}
