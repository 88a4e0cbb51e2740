// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The screen, as lines: a function of what was found and what the user has chosen.
struct TopView {
  let columns: Int
  let rows: Int

  /// The smallest size with room for a page.
  static let smallest = (columns: 40, rows: 8)

  /// As many lines as the screen has, each as wide as it is. `state` is scrolled so that the selection is in sight.
  func lines(_ model: TopModel, _ state: inout TopState) -> [TopLine] {
    var lines: [TopLine]
    if columns < Self.smallest.columns || rows < Self.smallest.rows {
      lines = [TopLine("The screen is too small: \(columns) x \(rows).")]
    } else if state.showsHelp {
      lines = help(state)
    } else {
      lines = page(model, &state)
    }
    if lines.count > rows { lines.removeLast(lines.count - rows) }
    while lines.count < rows { lines.append(TopLine("")) }
    return lines.map { $0.fitted(columns) }
  }

  /// The rows of the page, as they are shown: sorted and filtered.
  static func table(_ model: TopModel, _ state: TopState) -> TopTable {
    let table = TopPages(model).table(state.page).filtered(state.filter)
    return state.sort[state.page].map { table.sorted(by: $0) } ?? table
  }

  private func page(_ model: TopModel, _ state: inout TopState) -> [TopLine] {
    var lines = model.head
    if state.isPaused, !lines.isEmpty { lines[0].add("  paused", .warning) }
    lines += findings(model, state)
    state.layout = TopLayout()
    state.layout.tabsRow = lines.count
    lines.append(tabs(&state))
    let foot = footer(state)
    let table = Self.table(model, state)
    if state.showsDetail, let row = table.rows.first(where: { $0.id == state.selected }) {
      lines += TopDetail(model: model, columns: columns).lines(row, table)
    } else {
      state.layout.headRow = lines.count
      lines += body(table, &state, height: rows - lines.count - 1)
    }
    let room = rows - 1
    if lines.count > room { lines.removeLast(lines.count - room) }
    while lines.count < room { lines.append(TopLine("")) }
    return lines + [foot]
  }

  /// On the overview as many as there is room for beside ten rows; on the others the first.
  private func findings(_ model: TopModel, _ state: TopState) -> [TopLine] {
    let all = model.findings
    if all.isEmpty { return state.page == .overview ? [TopLine("no findings", .good)] : [] }
    let most = state.page == .overview ? max(1, min(all.count, (rows - 8) / 2)) : 1
    var lines = all.prefix(most).flatMap { line in
      state.page == .overview ? Self.wrapped(line, columns) : [line]
    }
    if all.count > most {
      lines.append(TopLine("  \(all.count - most) more \(all.count - most == 1 ? "finding" : "findings")", .warning))
    }
    return lines
  }

  /// Broken at blanks; what goes on is set in by two.
  static func wrapped(_ line: TopLine, _ columns: Int) -> [TopLine] {
    guard line.width > columns, let paint = line.pieces.first?.paint else { return [line] }
    var lines: [TopLine] = []
    var text = ""
    for word in line.text.split(separator: " ") {
      let longer = text.isEmpty ? String(word) : text + " " + word
      if TextLayout.width(longer) > columns, !text.isEmpty {
        lines.append(TopLine(text, paint))
        text = "  " + word
      } else {
        text = longer
      }
    }
    return lines + [TopLine(text, paint)]
  }

  private func tabs(_ state: inout TopState) -> TopLine {
    var line = TopLine()
    for page in TopPage.allCases {
      let start = line.width
      defer { state.layout.tabs.append(start..<line.width) }
      line.add("\(page.rawValue + 1) ", .dim)
      line.add(page.title, page == state.page ? .accent : .plain)
      line.add(page == state.page ? "*  " : "   ")
    }
    if !state.filter.isEmpty, !state.isTyping { line.add("/\(state.filter)", .warning) }
    return line
  }

  private func body(_ table: TopTable, _ state: inout TopState, height: Int) -> [TopLine] {
    let ids = table.rows.map(\.id)
    let height = max(0, height - 1)
    state.keepSelectionVisible(ids: ids, pageRows: max(1, height))
    state.layout.heads = table.places(columns)
    state.layout.shownRows = height
    var lines = [table.head(columns, sortedBy: state.sort[state.page] ?? -1)]
    if table.rows.isEmpty { lines.append(TopLine(empty(state), .dim)) }
    for row in table.rows.dropFirst(state.scroll).prefix(height) {
      var line = table.line(row, columns)
      line.isInverse = row.id == state.selected
      lines.append(line)
    }
    return lines
  }

  private func empty(_ state: TopState) -> String {
    if !state.filter.isEmpty { return "nothing matches \(state.filter)" }
    switch state.page {
    case .overview, .queues, .sources:
      return "none is listed: start the program with GRANDCENTRAL_INSPECT=1 to have all"
    case .threads: return "no thread has met the library"
    case .waits: return "nobody waits"
    }
  }

  private func footer(_ state: TopState) -> TopLine {
    if state.isTyping {
      var line = TopLine("/" + state.filter)
      line.add("_   enter keeps it, escape drops it", .dim)
      return line
    }
    if !state.message.isEmpty { return TopLine(state.message, .accent) }
    let keys = state.showsDetail ? "escape back" : "enter detail"
    return TopLine("q quit  1-5 page  / search  s sort  space pause  t trace  \(keys)  ? help", .dim)
  }

  private func help(_ state: TopState) -> [TopLine] {
    var lines = [TopLine("The columns of \"\(state.page.title)\"", .bold)]
    for column in TopPages.columns(state.page) {
      var line = TopLine("  " + TextLayout.left(column.title, 19), .accent)
      line.add(column.help)
      lines.append(line)
    }
    lines.append(TopLine(""))
    lines.append(TopLine("Keys", .bold))
    for (key, words) in Self.keys {
      var line = TopLine("  " + TextLayout.left(key, 19), .accent)
      line.add(words)
      lines.append(line)
    }
    return lines
  }

  private static let keys = [
    ("1-5, tab, ← →", "the pages"), ("↑ ↓, j k, g G", "select a row"), ("enter, escape", "the row alone, and back"),
    ("/", "only rows that hold a text"), ("s", "sort by the next column"), ("space", "stand still, and go on"),
    ("t", "write the last \(Int(TopHistory.seconds)) s as a trace, into the folder where gcd was started"),
    ("y", "copy everything as JSON"), ("mouse", "a tab, a column to sort by, a row; the wheel selects"),
    ("q, ctrl-c", "quit"),
  ]
}

/// One row alone: each of its columns with its meaning, and the findings that name it.
struct TopDetail {
  let model: TopModel
  let columns: Int

  func lines(_ row: TopRow, _ table: TopTable) -> [TopLine] {
    var lines = [TopLine(row.cells.first?.text ?? "", .bold)]
    for (column, cell) in zip(table.columns, row.cells) where !cell.text.isEmpty {
      var line = TopLine("  " + TextLayout.left(column.title, 19), .accent)
      line.add(cell.text, cell.paint)
      lines += TopView.wrapped(line, columns)
    }
    let name = row.cells.first?.text ?? ""
    let finding = model.report.findings.first { finding in
      finding.labels.contains(name) || finding.threads.contains { name == String($0) || row.id == "wait \($0)" }
    }
    guard let finding else { return lines }
    lines.append(TopLine(""))
    let text = WhyText(style: Style(columns: columns))
    lines += text.lines(finding).map { TopLine($0) }
    return lines
  }
}

/// What the user has chosen in the list of processes.
struct TopListState: Sendable, Equatable {
  fileprivate(set) var selected: String?
  fileprivate var scroll = 0
  /// Where the first row stands on the screen.
  fileprivate var firstRow = 0

  /// Returns the row that was opened.
  mutating func press(_ key: TopKey, ids: [String]) -> String? {
    var state = TopState()
    state.selected = selected
    if key == .enter { return selected ?? ids.first }
    if case .click(_, let row) = key {
      let index = scroll + row - firstRow
      guard row >= firstRow, ids.indices.contains(index) else { return nil }
      if selected == ids[index] { return selected }
      selected = ids[index]
      return nil
    }
    _ = state.press(key, ids: ids, pageRows: 10)
    selected = state.selected
    return nil
  }
}

extension TopView {
  /// The list of processes.
  func lines(_ table: TopTable, _ list: inout TopListState) -> [TopLine] {
    var state = TopState()
    state.selected = list.selected
    state.scroll = list.scroll
    var lines = [TopLine("gcd top  \(table.rows.count) processes that use GrandCentral", .bold)]
    let ids = table.rows.map(\.id)
    let height = max(1, rows - 3)
    state.keepSelectionVisible(ids: ids, pageRows: height)
    list.scroll = state.scroll
    list.firstRow = lines.count + 1
    lines.append(table.head(columns, sortedBy: -1))
    for row in table.rows.dropFirst(state.scroll).prefix(height) {
      var line = table.line(row, columns)
      line.isInverse = row.id == state.selected
      lines.append(line)
    }
    while lines.count < rows - 1 { lines.append(TopLine("")) }
    lines.append(TopLine("q quit  ↑ ↓ select  enter look at it", .dim))
    return lines.prefix(rows).map { $0.fitted(columns) }
  }
}
