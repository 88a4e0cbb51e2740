// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What was pressed.
enum TopKey: Equatable, Sendable {
  case character(Unicode.Scalar)
  case up, down, left, right, pageUp, pageDown, home, end
  case enter, escape, tab, backTab, backspace
  case control(Unicode.Scalar)
  /// The left button, at a place counted from 0.
  case click(column: Int, row: Int)
  case wheelUp, wheelDown
}

/// Makes keys of what a terminal sends.
struct TopKeys {
  private var pending: [UInt8] = []

  /// An escape sequence may come in parts. What is left of one when nothing more comes is the key escape itself.
  var isUndecided: Bool { !pending.isEmpty }

  mutating func keys(_ bytes: some Sequence<UInt8>) -> [TopKey] {
    pending += bytes
    var found: [TopKey] = []
    while let (key, length) = next() {
      pending.removeFirst(length)
      if let key { found.append(key) }
    }
    return found
  }

  /// Nothing more has come for a while.
  mutating func settle() -> [TopKey] {
    let isEscape = pending.first == 0x1b
    pending.removeAll()
    return isEscape ? [.escape] : []
  }

  /// The first key, and how many bytes it is; no key for what means nothing here. Nil if more bytes are needed.
  private func next() -> (TopKey?, Int)? {
    guard let first = pending.first else { return nil }
    switch first {
    case 0x1b: return escaped()
    case 0x0d, 0x0a: return (.enter, 1)
    case 0x09: return (.tab, 1)
    case 0x7f, 0x08: return (.backspace, 1)
    case 0..<0x20: return (.control(Unicode.Scalar(first + 0x60)), 1)
    case 0x20..<0x7f: return (.character(Unicode.Scalar(first)), 1)
    default: return text(first)
    }
  }

  private func text(_ first: UInt8) -> (TopKey?, Int)? {
    let length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1
    guard pending.count >= length else { return nil }
    guard let text = String(validating: pending[..<length], as: UTF8.self), let scalar = text.unicodeScalars.first
    else {
      return (nil, 1)
    }
    return (.character(scalar), length)
  }

  private func escaped() -> (TopKey?, Int)? {
    guard pending.count > 1 else { return nil }
    // ESC O letter, or ESC [ numbers letter; ESC and anything else is the key escape, and that.
    guard pending[1] == UInt8(ascii: "[") || pending[1] == UInt8(ascii: "O") else { return (.escape, 1) }
    guard let end = pending[2...].firstIndex(where: { (0x40...0x7e).contains($0) }) else {
      return pending.count > 32 ? (nil, pending.count) : nil
    }
    let numbers = String(decoding: pending[2..<end], as: UTF8.self)
    let key = numbers.first == "<" ? Self.mouse(UInt8(pending[end]), numbers) : Self.key(UInt8(pending[end]), numbers)
    return (key, end + 1)
  }

  /// ESC [ < button ; column ; row M, or m when it is let go.
  private static func mouse(_ letter: UInt8, _ numbers: String) -> TopKey? {
    let parts = numbers.dropFirst().split(separator: ";", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
    guard letter == UInt8(ascii: "M"), parts.count == 3, parts[1] > 0, parts[2] > 0 else { return nil }
    switch parts[0] {
    case 0: return .click(column: parts[1] - 1, row: parts[2] - 1)
    case 64: return .wheelUp
    case 65: return .wheelDown
    default: return nil
    }
  }

  private static func key(_ letter: UInt8, _ numbers: String) -> TopKey? {
    switch (Unicode.Scalar(letter), numbers) {
    case ("A", _): .up
    case ("B", _): .down
    case ("C", _): .right
    case ("D", _): .left
    case ("H", _), ("~", "1"), ("~", "7"): .home
    case ("F", _), ("~", "4"), ("~", "8"): .end
    case ("~", "5"): .pageUp
    case ("~", "6"): .pageDown
    case ("Z", _): .backTab
    case ("M", _): .enter
    default: nil
    }
  }
}
