// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What is to be done about one target's file of names.
struct NamesChange {
  /// The file, seen from the package's folder.
  let path: String
  /// Nil for no file.
  let old: [UInt8]?
  let new: [UInt8]?

  var isNone: Bool { old == new }

  func make(in package: String) throws(TextFile.Failure) {
    let place = package + "/" + path
    if let new {
      try TextFile.write(new, to: place, replaces: old != nil)
    } else if old != nil {
      try TextFile.remove(place)
    }
  }

  /// As a patch. What is the same at both ends is left out.
  func patch(_ style: Style) -> String {
    let (before, after) = (Self.lines(old), Self.lines(new))
    let same = zip(before, after).prefix { $0 == $1 }.count
    let rest = min(before.count, after.count) - same
    let end = zip(before.reversed(), after.reversed()).prefix(rest).prefix { $0 == $1 }.count
    let removed = before[same..<before.count - end]
    let added = after[same..<after.count - end]
    var lines = [style.bold("--- " + (old == nil ? "/dev/null" : path))]
    lines.append(style.bold("+++ " + (new == nil ? "/dev/null" : path)))
    lines.append(style.accent("@@ -\(Self.range(removed, same)) +\(Self.range(added, same)) @@"))
    lines += removed.map { style.warning("-" + TextLayout.printable($0)) }
    lines += added.map { "+" + $0 }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func lines(_ contents: [UInt8]?) -> [String] {
    guard let contents, !contents.isEmpty else { return [] }
    let whole = contents.last == UInt8(ascii: "\n") ? contents.dropLast() : contents[...]
    return whole.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
  }

  /// An empty range stands after the line that it names.
  private static func range(_ lines: ArraySlice<String>, _ same: Int) -> String {
    "\(lines.isEmpty ? same : same + 1),\(lines.count)"
  }
}
