// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// How a piece of a line looks.
enum TopPaint: Sendable {
  case plain, bold, dim, alarm, warning, good, accent

  fileprivate func code(usesColour: Bool) -> String? {
    switch self {
    case .plain: nil
    case .bold: "1"
    case .dim: usesColour ? "2" : nil
    case .alarm: usesColour ? "1;31" : "1"
    case .warning: usesColour ? "33" : nil
    case .good: usesColour ? "32" : nil
    case .accent: usesColour ? "36" : nil
    }
  }
}

/// A line of the screen: pieces of text, without anything that moves the cursor.
struct TopLine: Sendable {
  private(set) var pieces: [(text: String, paint: TopPaint)] = []
  /// Foreground and background change places.
  var isInverse = false

  init() {}

  init(_ text: String, _ paint: TopPaint = .plain) { add(text, paint) }

  mutating func add(_ text: String, _ paint: TopPaint = .plain) { pieces.append((TextLayout.printable(text), paint)) }

  var width: Int { pieces.reduce(0) { $0 + TextLayout.width($1.text) } }

  /// The text alone.
  var text: String { pieces.map(\.text).joined() }

  /// Cut to `columns`, or filled up to them.
  func fitted(_ columns: Int) -> TopLine {
    var line = TopLine()
    line.isInverse = isInverse
    var room = columns
    for piece in pieces where room > 0 {
      var text = piece.text
      if TextLayout.width(text) > room { text = TopLine.cut(text, room) }
      room -= TextLayout.width(text)
      line.pieces.append((text, piece.paint))
    }
    if room > 0 { line.pieces.append((String(repeating: " ", count: room), .plain)) }
    return line
  }

  /// The beginning of a text, in as many columns at most.
  static func cut(_ text: String, _ columns: Int) -> String {
    guard TextLayout.width(text) > columns else { return text }
    var result = ""
    for character in text {
      if TextLayout.width(result) + TextLayout.width(String(character)) > columns - 1 { break }
      result.append(character)
    }
    return columns > 0 ? result + "…" : ""
  }

  /// For the terminal.
  func escaped(usesColour: Bool) -> String {
    var result = ""
    for piece in pieces {
      let codes = [isInverse ? "7" : nil, piece.paint.code(usesColour: usesColour && !isInverse)].compactMap { $0 }
      result += codes.isEmpty ? piece.text : "\u{1B}[\(codes.joined(separator: ";"))m\(piece.text)\u{1B}[0m"
    }
    return result
  }
}

extension TopLine: Equatable {
  static func == (one: TopLine, other: TopLine) -> Bool {
    one.isInverse == other.isInverse && one.pieces.elementsEqual(other.pieces) { $0 == $1 }
  }
}
