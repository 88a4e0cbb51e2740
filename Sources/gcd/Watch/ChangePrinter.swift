// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Writes changes, each with one system call: nothing waits in a buffer.
struct ChangePrinter {
  private let style: Style
  private let isOnTerminal: Bool
  private let printsJSON: Bool

  init(printsJSON: Bool) {
    self.printsJSON = printsJSON
    style = Terminal.style(of: .output)
    isOnTerminal = Terminal.isTerminal(.output)
  }

  /// False if it cannot be written.
  func write(_ change: Change) -> Bool {
    let time = Timestamp()
    return Terminal.writeOutput((printsJSON ? json(change, time) : text(change, time)) + "\n")
  }

  private func json(_ change: Change, _ time: Timestamp) -> String {
    var members: [(String, JSONValue)] = [
      ("time", .string(time.iso)), ("path", .string(change.path.text)),
      ("events", .array(change.events.map { .string($0.rawValue) })),
    ]
    if let former = change.former { members.append(("from", .string(former.text))) }
    if let latter = change.latter { members.append(("to", .string(latter.text))) }
    return JSONValue.object(members).line
  }

  /// On a terminal in columns: "09:05:07.012  write,extend  notes.txt".
  private func text(_ change: Change, _ time: Timestamp) -> String {
    let events = change.events.map { $0.rawValue }.joined(separator: ",")
    guard isOnTerminal else { return time.iso + " " + events + " " + paths(change) }
    let column = TextLayout.left(events, Self.eventColumns)
    return style.dim(time.local) + "  " + painted(column, change.events) + "  " + paths(change)
  }

  /// Room for "attrib,link" and most other sets.
  private static let eventColumns = 13

  private func painted(_ text: String, _ events: [Change.Event]) -> String {
    if events.contains(.create) { return style.accent(text) }
    if events.contains(.delete) || events.contains(.revoke) { return style.warning(text) }
    return text
  }

  private func paths(_ change: Change) -> String {
    [change.former, change.path, change.latter].compactMap { $0.map(\.shown) }
      .joined(separator: style.usesUnicode ? " → " : " -> ")
  }
}
