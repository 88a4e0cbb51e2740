// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A column of a table, and what it says.
struct TopColumn: Sendable {
  let title: String
  let width: Int
  var isRight = true
  /// Narrow screens leave out the columns of the highest numbers; 0 is never left out.
  var rank = 0
  /// Takes what room is left.
  var isElastic = false
  let help: String
}

struct TopCell: Sendable {
  var text: String
  var paint = TopPaint.plain
  /// What is sorted by; the text if it is nil.
  var order: Double?

  init(_ text: String, _ paint: TopPaint = .plain, order: Double? = nil) {
    self.text = text
    self.paint = paint
    self.order = order
  }
}

/// A row, whose cells are made when they are looked at: of ten thousand rows a screen shows fifty.
struct TopRow: Sendable {
  /// Stays the same while the row's subject does.
  let id: String
  private let count: Int
  private let make: @Sendable (Int) -> TopCell

  init(id: String, count: Int, cell: @escaping @Sendable (Int) -> TopCell) {
    self.id = id
    self.count = count
    make = cell
  }

  init(id: String, cells: [TopCell]) {
    self.init(id: id, count: cells.count) { cells[$0] }
  }

  /// The cell of a column; an empty one if the row has none.
  func cell(_ column: Int) -> TopCell { column < count ? make(column) : TopCell("") }

  var cells: [TopCell] { (0..<count).map(make) }
}

struct TopTable: Sendable {
  let columns: [TopColumn]
  var rows: [TopRow]

  /// The columns that fit, and how wide each is.
  func layout(_ width: Int) -> [(column: Int, width: Int)] {
    var shown = Array(columns.indices)
    func needed() -> Int { shown.reduce(0) { $0 + columns[$1].width } + max(0, shown.count - 1) }
    while needed() > width, let last = shown.max(by: { columns[$0].rank < columns[$1].rank }), columns[last].rank > 0 {
      shown.removeAll { $0 == last }
    }
    let spare = max(0, width - needed())
    let elastic = shown.filter { columns[$0].isElastic }
    return shown.map { index in
      guard let place = elastic.firstIndex(of: index) else { return (index, columns[index].width) }
      return (index, columns[index].width + spare / elastic.count + (place < spare % elastic.count ? 1 : 0))
    }
  }

  /// The head, with the column that it is sorted by marked.
  func head(_ width: Int, sortedBy sort: Int) -> TopLine {
    var line = TopLine()
    for (index, part) in layout(width).enumerated() {
      if index > 0 { line.add(" ") }
      let column = columns[part.column]
      line.add(Self.aligned(column.title, part.width, column.isRight), part.column == sort ? .accent : .bold)
    }
    return line
  }

  /// Where on the screen each column is.
  func places(_ width: Int) -> [(column: Int, columns: Range<Int>)] {
    var start = 0
    return layout(width).map { part in
      defer { start += part.width + 1 }
      return (part.column, start..<start + part.width)
    }
  }

  func line(_ row: TopRow, _ width: Int) -> TopLine {
    var line = TopLine()
    for (index, part) in layout(width).enumerated() {
      if index > 0 { line.add(" ") }
      let cell = row.cell(part.column)
      line.add(Self.aligned(TextLayout.printable(cell.text), part.width, columns[part.column].isRight), cell.paint)
    }
    return line
  }

  private static func aligned(_ text: String, _ width: Int, _ isRight: Bool) -> String {
    let text = TopLine.cut(text, width)
    return isRight ? TextLayout.right(text, width) : TextLayout.left(text, width)
  }

  /// Numbers from the largest on, texts in their order; equal ones stay as they are.
  func sorted(by column: Int) -> TopTable {
    guard columns.indices.contains(column) else { return self }
    var table = self
    let keys = rows.map { $0.cell(column) }
    table.rows = keys.indices.sorted { one, other in
      let (first, second) = (keys[one], keys[other])
      let (left, right) = (first.order ?? -.infinity, second.order ?? -.infinity)
      if left != right { return left > right }
      if first.order == nil, second.order == nil, first.text != second.text { return first.text < second.text }
      return one < other
    }.map { rows[$0] }
    return table
  }

  func filtered(_ text: String) -> TopTable {
    guard !text.isEmpty else { return self }
    var table = self
    let wanted = text.lowercased()
    table.rows = rows.filter { row in row.cells.contains { Self.holds($0.text.lowercased(), wanted) } }
    return table
  }

  private static func holds(_ text: String, _ part: String) -> Bool {
    let (text, part) = (Array(text.utf8), Array(part.utf8))
    guard part.count <= text.count else { return false }
    return (0...(text.count - part.count)).contains { text[$0...].starts(with: part) }
  }
}
