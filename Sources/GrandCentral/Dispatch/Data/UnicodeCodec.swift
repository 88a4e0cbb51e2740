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

  /// Writes ASCII bytes in groups of eight, up to the first group that has another byte.
  ///
  /// - Returns: how many, a multiple of eight.
  func writeASCII(_ bytes: UnsafePointer<UInt8>, _ count: Int, into sink: inout TransformSink) -> Int {
    var done = 0
    let isWide = form != .utf8
    sink.put(upTo: isWide ? 2 * count : count) { target in
      let raw = UnsafeRawPointer(bytes)
      while count - done >= 8, raw.loadUnaligned(fromByteOffset: done, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 {
        let eight = raw.loadUnaligned(fromByteOffset: done, as: SIMD8<UInt8>.self)
        if isWide {
          let units = SIMD8<UInt16>(truncatingIfNeeded: eight)
          let place = UnsafeMutableRawPointer(target + 2 * done)
          place.storeBytes(of: form == .big ? units &<< 8 : units, as: SIMD8<UInt16>.self)
        } else {
          UnsafeMutableRawPointer(target + done).storeBytes(of: eight, as: SIMD8<UInt8>.self)
        }
        done &+= 8
      }
      return isWide ? 2 * done : done
    }
    return done
  }

  /// As `writeASCII`, of units of two bytes; the count is that of the bytes.
  func writeASCIIUnits(
    _ bytes: UnsafePointer<UInt8>, _ count: Int, isBigEndian: Bool, into sink: inout TransformSink
  ) -> Int {
    var done = 0
    sink.put(upTo: count / 2) { target in
      let raw = UnsafeRawPointer(bytes)
      while count - done >= 16 {
        var units = raw.loadUnaligned(fromByteOffset: done, as: SIMD8<UInt16>.self)
        if isBigEndian { units = units &>> 8 | units &<< 8 }
        if units & 0xFF80 != SIMD8(repeating: 0) { break }
        UnsafeMutableRawPointer(target + done / 2).storeBytes(
          of: SIMD8<UInt8>(truncatingIfNeeded: units), as: SIMD8<UInt8>.self)
        done &+= 16
      }
      return done / 2
    }
    return done
  }

  /// Whether a character of ASCII is one byte in the output.
  var isNarrow: Bool { form == .utf8 }

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
    /// The range of the next byte: narrower after some first bytes, which would otherwise begin overlong forms or surrogates.
    var low: UInt8 = 0x80
    var high: UInt8 = 0xBF
    var isFirst = true
    var isBroken = false
    data.enumerateBytes { bytes, _, stop in
      var index = 0
      while index < bytes.count {
        if missing == 0 {
          // unsafe: at least one byte is left from the index on.
          let run = writer.writeASCII(
            bytes.baseAddress.unsafelyUnwrapped + index, bytes.count - index, into: &sink)
          isFirst = isFirst && run == 0
          index += run
          if index == bytes.count { return }
        }
        let byte = bytes[index]
        index += 1
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
      var index = 0
      while index < bytes.count {
        if writer.isNarrow, !isOdd, leading == 0 {
          // unsafe: at least one byte is left from the index on.
          let run = writer.writeASCIIUnits(
            bytes.baseAddress.unsafelyUnwrapped + index, bytes.count - index, isBigEndian: isBigEndian, into: &sink)
          isFirst = isFirst && run == 0
          index += run
          if index == bytes.count { return }
        }
        let byte = bytes[index]
        index += 1
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
