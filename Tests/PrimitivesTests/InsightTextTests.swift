// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GrandCentral

@Suite("Texts of the insight region")
struct InsightTextTests {
  @Test(
    "a text is cut between characters",
    arguments: ["", "seven b", "eight by", "sixbyté", "fivebé", "four€€", "one😀😀", "é"])
  func cut(text: String) {
    var field = [UInt8](repeating: 0xEE, count: 8)
    field.withUnsafeMutableBytes { InsightText.copy(text, to: $0) }
    let bytes = field.prefix { $0 != 0 }
    #expect(bytes.count < 8, "it ends with a zero")
    let copied = String(validating: bytes, as: UTF8.self)
    #expect(copied.map { text.hasPrefix($0) } == true, "\(bytes)")
    // As much as there is room for.
    let more = text.unicodeScalars.prefix((copied ?? "").unicodeScalars.count + 1)
    #expect(copied == text || String(String.UnicodeScalarView(more)).utf8.count > 7)
  }
}
