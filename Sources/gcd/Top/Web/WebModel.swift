// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What the page shows: the lines and tables of the screen, for a browser.
enum WebModel {
  /// What a browser draws in a moment. Of more queues those with the longest latency are shown.
  static let mostRows = 1_000

  static func value(_ model: TopModel) -> JSONValue {
    let pages = TopPages(model)
    return .object([
      ("title", .string("\(model.snapshot.pid) \(model.snapshot.program.name)")),
      ("head", .array(model.head.map(line))), ("findings", .array(model.findings.map(line))),
      ("pages", .array(TopPage.allCases.filter { $0 != .overview }.map { page(pages.table($0), $0) })),
    ])
  }

  /// The process has ended, or cannot be looked at any more.
  static func end(_ words: String) -> JSONValue { .object([("end", .string(words))]) }

  private static func line(_ line: TopLine) -> JSONValue {
    .array(line.pieces.map { .array([.string($0.text), .string($0.paint.name)]) })
  }

  private static func page(_ table: TopTable, _ page: TopPage) -> JSONValue {
    let columns = table.columns.map { column -> JSONValue in
      .object([("title", .string(column.title)), ("help", .string(column.help)), ("right", .bool(column.isRight))])
    }
    let first = table.rows.count > mostRows && page == .queues ? table.sorted(by: 1) : table
    let rows = first.rows.prefix(mostRows).map { row -> JSONValue in .array(row.cells.map(cell)) }
    return .object([
      ("title", .string(page.title)), ("columns", .array(columns)), ("rows", .array(rows)),
      ("more", .integer(table.rows.count - rows.count)),
    ])
  }

  /// Text, look, and what is sorted by if that is a number.
  private static func cell(_ cell: TopCell) -> JSONValue {
    let parts: [JSONValue] = [.string(cell.text), .string(cell.paint.name)]
    return .array(cell.order.map { parts + [.number($0)] } ?? parts)
  }
}

extension TopPaint {
  /// A class of the page's style.
  var name: String {
    switch self {
    case .plain: "plain"
    case .bold: "bold"
    case .dim: "dim"
    case .alarm: "alarm"
    case .warning: "warning"
    case .good: "good"
    case .accent: "accent"
    }
  }
}
