// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import gcd

@Suite("Numbers and text for people")
struct FormatTests {
  @Test("groups digits by three")
  func grouped() {
    #expect(
      [0, 12, 999, 1000, 1_234_567, -4321].map { NumberFormat.grouped($0) } == [
        "0", "12", "999", "1,000", "1,234,567", "-4,321",
      ])
    #expect(NumberFormat.grouped(UInt64.max) == "18,446,744,073,709,551,615")
  }

  @Test("rounds, and survives what is not a number")
  func fixed() {
    #expect(NumberFormat.fixed(1.005, decimals: 1) == "1.0")
    #expect(NumberFormat.fixed(0.05, decimals: 1) == "0.1")
    #expect(NumberFormat.fixed(-0.25, decimals: 2) == "-0.25")
    #expect(NumberFormat.fixed(0, decimals: 3) == "0.000")
    #expect(NumberFormat.fixed(.nan, decimals: 3) == "0")
    #expect(NumberFormat.fixed(.infinity, decimals: 3) == "0")
  }

  @Test("tells times from microseconds to hours")
  func duration() {
    #expect(
      [0.000_35, 0.0123, 0.9999, 1.234, 61, 125, 3600].map(NumberFormat.duration) == [
        "0.35 ms", "12.3 ms", "1.00 s", "1.23 s", "61.0 s", "2 min 05 s", "60 min 00 s",
      ])
  }

  @Test("aligns by columns, not by characters")
  func alignment() {
    #expect(TextLayout.width("東京") == 4)
    #expect(TextLayout.width("e\u{301}") == 1)
    for picture in ["🚀", "🛒", "✅", "⭐", "⏰", "🟢", "🇩🇪"] {
      #expect(TextLayout.width(picture) == 2, "\(picture)")
    }
    for letter in ["✓", "★", "→", "🛠"] { #expect(TextLayout.width(letter) == 1, "\(letter)") }
    #expect(TextLayout.left("東京", 6) == "東京  ")
    #expect(TextLayout.right("é", 3) == "  é")
  }

  @Test("lets nothing reach the terminal that would steer it")
  func printable() {
    #expect(TextLayout.printable("a\u{1B}[31m\nb") == "a\\u{1B}[31m\\nb")
    #expect(TextLayout.printable("right\u{202E}left") == "right\\u{202E}left")
    #expect(TextLayout.printable("harmless – ünïcode") == "harmless – ünïcode")
  }

  @Test("uses colour on a terminal only, and not against NO_COLOR or TERM=dumb")
  func colour() {
    func colour(_ isTerminal: Bool, _ environment: [String: String]) -> Bool {
      Style(isTerminal: isTerminal, columns: 80, environment: { environment[$0] }).usesColour
    }
    #expect(colour(true, [:]))
    #expect(!colour(false, [:]))
    #expect(!colour(true, ["NO_COLOR": "1"]))
    #expect(colour(true, ["NO_COLOR": ""]))
    #expect(!colour(true, ["TERM": "dumb"]))
  }
}

@Suite("JSON")
struct JSONTests {
  @Test("escapes what must be escaped, and reads back as what was written")
  func escapes() throws {
    let nasty = "quote \" backslash \\ tab \t feed \n bell \u{7} delete \u{7F} é 😀"
    let value = JSONValue.object([
      ("text", .string(nasty)), ("none", .array([])), ("more", .array([.integer(-1), .bool(false)])),
    ])
    let parsed = try JSON.parse(value.text)
    #expect(parsed["text"]?.string == nasty)
    #expect(parsed["none"]?.array?.isEmpty == true)
    #expect(parsed["more"]?.array?.first?.number == -1)
  }
}
