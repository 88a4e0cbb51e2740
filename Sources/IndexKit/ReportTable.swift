// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The report as text for people.
package struct ReportTable {
  private let report: IndexReport
  private let style: Style
  private var lines: [String] = []

  /// How many sets of duplicates, names in a set, and problems are shown; the JSON report has them all.
  private static let shownSets = 5
  private static let shownNames = 4
  private static let shownProblems = 20
  private static let barColumns = 30

  /// The text, with a line feed at its end.
  package static func render(_ report: IndexReport, style: Style) -> String {
    var table = ReportTable(report: report, style: style)
    table.addTitle()
    table.addTotals()
    table.addWords()
    table.addDuplicates()
    table.addProblems()
    return table.lines.joined(separator: "\n") + "\n"
  }

  private init(report: IndexReport, style: Style) {
    self.report = report
    self.style = style
  }

  private mutating func addTitle() {
    let name = report.root.shown
    let time = NumberFormat.duration(report.performance.seconds)
    lines.append(style.bold("Index of \(name)") + style.dim(" in \(time)"))
  }

  // MARK: Totals

  private struct Row {
    let label: String
    let value: String
    /// Right-aligned values line up; others begin in the same column.
    var isNumber = true
    var note = ""
  }

  private mutating func addTotals() {
    let rows = countRows() + speedRows()
    let labelColumns = rows.map { TextLayout.width($0.label) }.max() ?? 0
    let valueColumns = rows.filter(\.isNumber).map { TextLayout.width($0.value) }.max() ?? 0
    lines.append("")
    for row in rows {
      let value = row.isNumber ? TextLayout.right(row.value, valueColumns) : row.value
      let note = row.note.isEmpty ? "" : "  " + style.dim(row.note)
      lines.append("  " + TextLayout.left(row.label, labelColumns) + "  " + value + note)
    }
  }

  private func countRows() -> [Row] {
    let totals = report.totals
    var rows = [
      Row(label: "Files", value: NumberFormat.grouped(totals.files), note: fileNote()),
      Row(label: "Bytes", value: NumberFormat.grouped(totals.bytes), note: NumberFormat.bytes(totals.bytes)),
      Row(label: "Words", value: NumberFormat.grouped(totals.words)),
      Row(label: "Distinct words", value: NumberFormat.grouped(totals.distinctWords), note: overlongNote()),
    ]
    let skipped = totals.skipped.values.reduce(0, +)
    if skipped > 0 { rows.append(Row(label: "Not read", value: NumberFormat.grouped(skipped), note: skippedNote())) }
    return rows
  }

  private func speedRows() -> [Row] {
    let performance = report.performance
    let how =
      switch performance.mode {
      case .serial: "one file after the other"
      case .parallel(let jobs): "up to \(jobs) \(jobs == 1 ? "file" : "files") at once"
      }
    let speed = performance.megabytesPerSecond(report.totals.bytes)
    return [
      Row(label: "MB/s", value: NumberFormat.significant(speed), note: how),
      Row(
        label: "Cores used", value: NumberFormat.fixed(performance.coresUsed, decimals: 2),
        note: "of \(performance.coresAvailable)"),
    ]
  }

  private func fileNote() -> String {
    let totals = report.totals
    var parts: [String] = []
    if totals.emptyFiles > 0 { parts.append("\(NumberFormat.grouped(totals.emptyFiles)) empty") }
    if totals.binaryFiles > 0 {
      parts.append("\(NumberFormat.grouped(totals.binaryFiles)) binary (hashed; words not counted)")
    }
    if totals.filesNotUTF8 > 0 { parts.append("\(NumberFormat.grouped(totals.filesNotUTF8)) not quite UTF-8") }
    return parts.joined(separator: ", ")
  }

  private func overlongNote() -> String {
    let count = report.totals.overlongWords
    guard count > 0 else { return "" }
    return "besides \(NumberFormat.grouped(count)) of more than \(WordTable.longestWord) bytes"
  }

  private func skippedNote() -> String {
    let skipped = report.totals.skipped
    return SpecialFile.allCases.compactMap { kind in
      // The number stands beside the note already if there is only one kind.
      skipped[kind].map { skipped.count == 1 ? kind.name($0) : "\(NumberFormat.grouped($0)) \(kind.name($0))" }
    }.joined(separator: ", ")
  }

  // MARK: Words

  private mutating func addWords() {
    guard let most = report.topWords.first?.count else { return }
    addHeading("Most frequent words")
    let words = report.topWords.map { TextLayout.shortened(TextLayout.printable($0.word), 40) }
    let counts = report.topWords.map { NumberFormat.grouped($0.count) }
    let rankColumns = String(words.count).utf8.count
    let wordColumns = words.map(TextLayout.width).max() ?? 0
    let countColumns = counts.map(TextLayout.width).max() ?? 0
    for index in words.indices {
      let rank = style.dim(TextLayout.right(String(index + 1), rankColumns))
      let bar = style.bar(Double(report.topWords[index].count) / Double(most), columns: Self.barColumns)
      let word = TextLayout.left(words[index], wordColumns)
      let count = TextLayout.right(counts[index], countColumns)
      lines.append("  \(rank)  \(word)  \(count)" + (bar.isEmpty ? "" : "  " + style.accent(bar)))
    }
  }

  // MARK: Duplicates

  private mutating func addDuplicates() {
    guard !report.duplicates.isEmpty else { return }
    let names = report.duplicates.reduce(0) { $0 + $1.paths.count }
    let sets = report.duplicates.count
    addHeading(
      "Duplicates",
      note: "\(NumberFormat.grouped(names)) files in \(NumberFormat.grouped(sets)) \(sets == 1 ? "set" : "sets"); "
        + "one of each would free \(NumberFormat.bytes(report.wastedBytes))")
    let shown = report.duplicates.prefix(Self.shownSets)
    let times = style.usesUnicode ? "×" : "x"
    let labels = shown.map { "\($0.paths.count) \(times) \(NumberFormat.bytes($0.bytes))" }
    let columns = labels.map(TextLayout.width).max() ?? 0
    for (set, label) in zip(shown, labels) {
      for (index, path) in set.paths.prefix(Self.shownNames).enumerated() {
        addPath(path, after: TextLayout.right(index == 0 ? label : "", columns))
      }
      addRest(set.paths.count - Self.shownNames, after: columns)
    }
    addRest(sets - Self.shownSets, of: "sets", after: columns)
  }

  // MARK: Problems

  private mutating func addProblems() {
    guard !report.problems.isEmpty else { return }
    addHeading("Could not be read", note: NumberFormat.grouped(report.problems.count), style.warning)
    let shown = report.problems.prefix(Self.shownProblems)
    let columns = shown.map { TextLayout.width($0.reason) }.max() ?? 0
    for problem in shown { addPath(problem.path, after: TextLayout.left(problem.reason, columns)) }
    addRest(report.problems.count - Self.shownProblems, after: columns)
  }

  // MARK: Lines

  private mutating func addHeading(_ text: String, note: String = "", _ paint: ((String) -> String)? = nil) {
    lines.append("")
    lines.append((paint ?? style.bold)(text) + (note.isEmpty ? "" : "  " + style.dim(note)))
  }

  private mutating func addPath(_ path: Path, after label: String) {
    let name = path.shown
    let used = TextLayout.width(label) + 4
    let room = style.columns.map { max(20, $0 - used) } ?? Int.max
    lines.append("  " + label + "  " + TextLayout.shortened(name, room))
  }

  private mutating func addRest(_ count: Int, of what: String = "", after columns: Int) {
    guard count > 0 else { return }
    let text = "and \(NumberFormat.grouped(count)) more" + (what.isEmpty ? "" : " \(what)")
    lines.append("  " + TextLayout.right("", columns) + "  " + style.dim(text))
  }
}
