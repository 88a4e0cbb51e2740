// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Text in columns of a terminal.
package enum TextLayout {
  /// The number of columns that `text` takes.
  package static func width(_ text: String) -> Int {
    text.unicodeScalars.reduce(0) { $0 + width($1) }
  }

  /// `text`, followed by blanks up to `columns`.
  package static func left(_ text: String, _ columns: Int) -> String {
    text + String(repeating: " ", count: max(0, columns - width(text)))
  }

  /// `text`, preceded by blanks up to `columns`.
  package static func right(_ text: String, _ columns: Int) -> String {
    String(repeating: " ", count: max(0, columns - width(text))) + text
  }

  /// `text` without anything that would move the cursor or change colours: such characters are shown as `\n`, `\u{1B}`,
  /// and a byte that exact text stands for as `\xFF`.
  package static func printable(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { isControl($0) || ExactText.byte($0) != nil }) else { return text }
    var safe = ""
    for scalar in text.unicodeScalars {
      if let byte = ExactText.byte(scalar) {
        safe += "\\x" + String(byte, radix: 16, uppercase: true)
      } else if isControl(scalar) {
        safe += scalar.escaped(asASCII: true)
      } else {
        safe.unicodeScalars.append(scalar)
      }
    }
    return safe
  }

  /// Whether it would move the cursor or change colours.
  package static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
    default: false
    }
  }

  private static func width(_ scalar: Unicode.Scalar) -> Int {
    if scalar.value < 0x300 { return 1 }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    // What is shown as a picture is wide, but for the letters of which two are one flag.
    if scalar.properties.isEmojiPresentation, !(0x1f1e6...0x1f1ff).contains(scalar.value) { return 2 }
    switch scalar.value {
    case 0x1100...0x115f, 0x2e80...0x303e, 0x3041...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f,
      0xff00...0xff60, 0xffe0...0xffe6, 0x1f300...0x1f64f, 0x1f900...0x1f9ff, 0x20000...0x3fffd:
      return 2
    default: return 1
    }
  }
}

/// How the terminal may be used.
package struct Style: Sendable {
  /// Whether colours may be used.
  package var usesColour: Bool
  /// Whether characters beyond ASCII may be used for drawing.
  package var usesUnicode: Bool
  /// The columns of the terminal; nil if the text does not go to one.
  package var columns: Int?

  package init(usesColour: Bool = false, usesUnicode: Bool = true, columns: Int? = nil) {
    self.usesColour = usesColour
    self.usesUnicode = usesUnicode
    self.columns = columns
  }

  /// What suits the environment: colour on a terminal, unless NO_COLOR or TERM=dumb forbids it.
  package init(isTerminal: Bool, columns: Int?, environment: (String) -> String?) {
    let forbidden = environment("NO_COLOR")?.isEmpty == false || environment("TERM") == "dumb"
    // The first of these that is set decides, as for the C library.
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(environment).first { !$0.isEmpty } ?? ""
    let name = locale.lowercased()
    self.init(
      usesColour: isTerminal && !forbidden, usesUnicode: name.contains("utf-8") || name.contains("utf8"),
      columns: isTerminal ? columns : nil)
  }

  package func bold(_ text: String) -> String { painted(text, "1") }
  package func dim(_ text: String) -> String { painted(text, "2") }
  package func accent(_ text: String) -> String { painted(text, "36") }
  package func warning(_ text: String) -> String { painted(text, "33") }

  private func painted(_ text: String, _ code: String) -> String {
    usesColour && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}
