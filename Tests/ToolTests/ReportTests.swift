// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IndexKit

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

  @Test("gives sizes three digits and a unit, also next to the border of a unit")
  func bytes() {
    #expect(
      [0, 999, 1000, 1234, 99_949, 99_950, 999_499, 999_500, 1 << 40].map(NumberFormat.bytes) == [
        "0 B", "999 B", "1.00 kB", "1.23 kB", "99.9 kB", "100 kB", "999 kB", "1.00 MB", "1.10 TB",
      ])
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
    #expect(TextLayout.left("東京", 6) == "東京  ")
    #expect(TextLayout.right("é", 3) == "  é")
  }

  @Test("lets nothing reach the terminal that would steer it")
  func printable() {
    #expect(TextLayout.printable("a\u{1B}[31m\nb") == "a\\u{1B}[31m\\nb")
    #expect(TextLayout.printable("right\u{202E}left") == "right\\u{202E}left")
    #expect(TextLayout.printable("harmless – ünïcode") == "harmless – ünïcode")
  }

  @Test("shortens in the middle, to the columns there are")
  func shortened() {
    #expect(TextLayout.shortened("short", 10) == "short")
    #expect(TextLayout.shortened("/a/very/long/path/file.swift", 16) == "/a/ve…file.swift")
    #expect(TextLayout.width(TextLayout.shortened("東京都千代田区丸の内", 9)) <= 9)
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

  @Test("draws with blocks where the locale has them")
  func bars() {
    let unicode = Style(isTerminal: false, columns: nil) { ["LANG": "C.UTF-8"][$0] }
    let ascii = Style(isTerminal: false, columns: nil) { ["LANG": "C.UTF-8", "LC_ALL": "C"][$0] }
    #expect(unicode.bar(0.5, columns: 5) == "██▌")
    #expect(unicode.bar(7, columns: 2) == "██")
    #expect(ascii.bar(0.6, columns: 5) == "###")
  }

  @Test("shows progress in one line that fits the terminal")
  func progress() {
    let now = Progress.Snapshot(
      isWalking: false, foundFiles: 2000, foundBytes: 1000, readFiles: 1234, readBytes: 620)
    for columns in [20, 40, 80, 200] {
      let line = ProgressLine.render(now, seconds: 1, style: Style(columns: columns))
      #expect(TextLayout.width(line) < columns)
      #expect(line.contains("62 %"))
    }
    let walking = Progress.Snapshot(
      isWalking: true, foundFiles: 3, foundBytes: 10, readFiles: 1, readBytes: 2)
    #expect(!ProgressLine.render(walking, seconds: 1, style: Style()).contains("%"))
  }
}

@Suite("Duplicates")
struct DuplicateTests {
  @Test("are files of the same hash and size, the most wasteful first")
  func sets() {
    let sets = DuplicateSet.find(in: [
      file("d", 1, 10), file("a", 2, 100), file("b", 1, 10), file("c", 2, 100), file("e", 3, 100), file("f", 1, 11),
    ])
    #expect(sets.map { $0.paths.map(\.text) } == [["a", "c"], ["b", "d"]])
    #expect(sets.map(\.wasted) == [100, 10])
  }

  @Test("do not count names of one file as copies")
  func hardLinks() {
    let one = FileIdentity(device: 1, number: 1)
    let sets = DuplicateSet.find(in: [file("a", 1, 10, one), file("b", 1, 10, one), file("c", 1, 10)])
    #expect(sets.map(\.copies) == [2])
    #expect(sets.map(\.wasted) == [10])
  }

  private func file(_ path: String, _ hash: UInt64, _ bytes: Int, _ identity: FileIdentity? = nil) -> HashedFile {
    HashedFile(hash: ContentHash(high: 0, low: hash), bytes: bytes, path: Path(path), identity: identity)
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
