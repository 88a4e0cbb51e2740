// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

private func data(_ text: String) -> DispatchData { DispatchData(Array(text.utf8)) }
private func text(_ data: DispatchData?) -> String? { data.map { String(decoding: $0.array, as: UTF8.self) } }

/// Ways to cut data into regions: the lengths of the regions, over and over.
private let cuts = [[1], [2], [3], [5], [7], [1, 4], [1000]]

@Suite("Transforms of data")
struct CodecTests {
  @Test(
    "D4: the vectors of RFC 4648, both ways, wherever regions end",
    arguments: [
      ("", "", "", ""), ("f", "Zg==", "MY======", "CO======"), ("fo", "Zm8=", "MZXQ====", "CPNG===="),
      ("foo", "Zm9v", "MZXW6===", "CPNMU==="), ("foob", "Zm9vYg==", "MZXW6YQ=", "CPNMUOG="),
      ("fooba", "Zm9vYmE=", "MZXW6YTB", "CPNMUOJ1"), ("foobar", "Zm9vYmFy", "MZXW6YTBOI======", "CPNMUOJ1E8======"),
    ])
  func vectors(_ plain: String, _ base64: String, _ base32: String, _ base32Hex: String) {
    let encodings: [(DispatchData.Format, String)] = [(.base64, base64), (.base32, base32), (.base32Hex, base32Hex)]
    for (format, encoded) in encodings {
      for cut in cuts {
        #expect(text(data(plain).inRegions(of: cut).transformed(from: .none, to: format)) == encoded)
        #expect(text(data(encoded).inRegions(of: cut).transformed(from: format, to: .none)) == plain)
      }
    }
    #expect(text(data(base64).transformed(from: .base64, to: .base32)) == base32)
  }

  @Test("D4: white space between the digits is skipped")
  func whiteSpace() {
    #expect(text(data(" Zm9v\r\nYm\tE=\n").transformed(from: .base64, to: .none)) == "fooba")
  }

  @Test(
    "D4: bad base encodings are nil",
    arguments: [
      (DispatchData.Format.base64, "Zg"), (.base64, "Zg="), (.base64, "Zg==="), (.base64, "Z==="), (.base64, "===="),
      (.base64, "Zh=="), (.base64, "Zm9="), (.base64, "Zg==Zg=="), (.base64, "Zg=g"), (.base64, "Zm9*"),
      (.base64, "Zm-_"),
      (.base64, "="), (.base64, "Zm9v="), (.base64, "Zm9v\u{0}"), (.base32, "MY"), (.base32, "MY====="),
      (.base32, "M======="),
      (.base32, "MZX====="), (.base32, "MZXW6Y=="), (.base32, "MZ======"), (.base32, "my======"), (.base32, "M1======"),
      (.base32Hex, "CW======"), (.base32Hex, "CP======"), (.base32Hex, "CO======A"),
    ])
  func badBase(_ format: DispatchData.Format, _ encoded: String) {
    for cut in cuts { #expect(data(encoded).inRegions(of: cut).transformed(from: format, to: .none) == nil) }
  }

  @Test("D4: UTF-8 and UTF-16 both ways, wherever regions end")
  func unicode() {
    let text = "a\u{7F}\u{80}é\u{7FF}\u{800}\u{D7FF}\u{E000}\u{FFFD}\u{FFFF}\u{10000}😀\u{10FFFF}z"
    let little: [UInt8] =
      [0xFF, 0xFE] + text.utf16.flatMap { (unit: UInt16) -> [UInt8] in [UInt8(unit & 0xFF), UInt8(unit >> 8)] }
    let big: [UInt8] =
      [0xFE, 0xFF] + text.utf16.flatMap { (unit: UInt16) -> [UInt8] in [UInt8(unit >> 8), UInt8(unit & 0xFF)] }
    let all: [(DispatchData.Format, [UInt8])] = [
      (.utf8, Array(text.utf8)), (.utf16LittleEndian, little), (.utf16BigEndian, big),
    ]
    for (from, input) in all {
      for (to, output) in all {
        for cut in cuts {
          let regions = DispatchData(input).inRegions(of: cut)
          #expect(regions.transformed(from: from, to: to)?.array == output, "\(from) to \(to)")
          #expect(regions.transformed(from: .utfAny, to: to)?.array == output, "any to \(to)")
        }
      }
    }
  }

  @Test("D4: a byte order mark is left out at the beginning only, and written before UTF-16 only")
  func marks() {
    let marked: [UInt8] = [0xEF, 0xBB, 0xBF, 0x61, 0xEF, 0xBB, 0xBF]
    #expect(DispatchData(marked).transformed(from: .utf8, to: .utf8)?.array == [0x61, 0xEF, 0xBB, 0xBF])
    #expect(
      DispatchData(marked).transformed(from: .utfAny, to: .utf16BigEndian)?.array == [0xFE, 0xFF, 0, 0x61, 0xFE, 0xFF])
    #expect(DispatchData([0x61, 0]).transformed(from: .utf16LittleEndian, to: .utf8)?.array == [0x61])
    #expect(DispatchData.empty.transformed(from: .utf8, to: .utf16LittleEndian)?.array == [0xFF, 0xFE])
    #expect(DispatchData.empty.transformed(from: .utfAny, to: .utf8)?.array == [])
  }

  @Test(
    "D4: what is not well-formed UTF-8 is nil",
    arguments: [
      [0x80], [0xC3], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
      [0xE2, 0x82],
      [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x98], [0xFF],
      [0x61, 0xC3, 0x61],
    ] as [[UInt8]])
  func badUTF8(_ bytes: [UInt8]) {
    for cut in cuts {
      #expect(DispatchData(bytes).inRegions(of: cut).transformed(from: .utf8, to: .utf16LittleEndian) == nil)
      #expect(DispatchData(bytes).inRegions(of: cut).transformed(from: .utf8, to: .utf8) == nil)
    }
  }

  @Test(
    "D4: half units and unpaired surrogates are nil",
    arguments: [[0x61], [0xD8, 0], [0xDC, 0], [0xD8, 0, 0, 0x61], [0xD8, 0, 0xD8, 0], [0xD8, 0x3D, 0xDE]] as [[UInt8]])
  func badUTF16(_ bytes: [UInt8]) {
    for cut in cuts {
      #expect(DispatchData(bytes).inRegions(of: cut).transformed(from: .utf16BigEndian, to: .utf8) == nil)
    }
  }

  @Test("D4: formats that do not go together are nil")
  func mixedFormats() {
    #expect(data("Zg==").transformed(from: .base64, to: .utf8) == nil)
    #expect(data("Zg==").transformed(from: .utf8, to: .none) == nil)
    #expect(data("Zg==").transformed(from: .utf8, to: .utfAny) == nil)
    #expect(text(data("Zg==").transformed(from: .none, to: .none)) == "Zg==")
  }

  @Test("D4: random bytes in random regions, there and back, and as the standard library reads them")
  func randomBytes() {
    let seed = Stress.seed("data transforms")
    var random = SeededRandom(seed: seed)
    let deadline = Stress.deadline()
    var rounds = 0
    repeat {
      rounds += 1
      let bytes = (0..<random.below(300)).map { _ in
        random.oneIn(3) ? UInt8(truncatingIfNeeded: random.next()) : UInt8(0x60 + random.below(32))
      }
      let cut = (0..<3).map { _ in 1 + random.below(20) }
      let regions = DispatchData(bytes).inRegions(of: cut)
      for format in [DispatchData.Format.base64, .base32, .base32Hex] {
        let encoded = regions.transformed(from: .none, to: format)
        let again = encoded?.inRegions(of: cut).transformed(from: format, to: .none)
        #expect(again?.array == bytes, "seed \(seed), round \(rounds)")
        // Text that can be decoded equals the encoding of its bytes, white space aside. So no two texts stand for the same bytes.
        if let decoded = regions.transformed(from: format, to: .none) {
          let text = bytes.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
          #expect(decoded.transformed(from: .none, to: format)?.array == text, "seed \(seed), round \(rounds)")
        }
      }
      let expected = String(validating: bytes, as: UTF8.self).map { text in
        (bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(text.utf8.dropFirst(3)) : bytes)
      }
      #expect(regions.transformed(from: .utf8, to: .utf8)?.array == expected, "seed \(seed), round \(rounds)")
      let units = stride(from: 0, to: bytes.count / 2 * 2, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
      let wide = DispatchData(Array(bytes.prefix(units.count * 2))).inRegions(of: cut)
      let narrow = String(validating: units, as: UTF16.self).map {
        Array($0.utf8.dropFirst(units.first == 0xFEFF ? 3 : 0))
      }
      #expect(wide.transformed(from: .utf16BigEndian, to: .utf8)?.array == narrow, "seed \(seed), round \(rounds)")
    } while Stress.runs(until: deadline)
    #expect(rounds > 0)
  }
}
