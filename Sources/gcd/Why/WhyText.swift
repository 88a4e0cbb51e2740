// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A report as text for people: numbered findings, each a tree of sentences.
struct WhyText {
  let style: Style

  func text(_ report: WhyReport) -> String {
    var lines = wrapped("", head(report), indent: "  ")
    for (index, finding) in report.findings.enumerated() {
      lines.append("")
      lines += text(finding, number: index + 1)
    }
    if !report.remarks.isEmpty { lines.append("") }
    for remark in report.remarks { lines += wrapped("Note: ", remark, indent: "      ") }
    return lines.joined(separator: "\n") + "\n"
  }

  /// One finding alone.
  func lines(_ finding: Finding) -> [String] { text(finding, number: 1) }

  private func head(_ report: WhyReport) -> String {
    let snapshot = report.snapshot
    let name = snapshot.program.name.isEmpty ? "" : " (\(TextLayout.printable(snapshot.program.name)))"
    let verdict =
      switch report.findings.count {
      case 0: "nothing has waited for \(WhyWords.duration(report.after)) or longer"
      case 1: "1 finding"
      default: "\(report.findings.count) findings"
      }
    let threads = snapshot.threads.count == 1 ? "1 thread" : "\(snapshot.threads.count) threads"
    return
      "Process \(snapshot.pid)\(name): \(verdict); \(threads) of the library, \(snapshot.workers.count) of them workers."
  }

  private func text(_ finding: Finding, number: Int) -> [String] {
    let mark = "\(number). "
    let indent = String(repeating: " ", count: mark.utf8.count)
    var lines = wrapped(
      mark, finding.sentence, indent: indent, paint: finding.kind == .cycle ? style.warning : style.bold)
    for detail in finding.details { lines += tree(detail, indent: indent, isFirst: true) }
    lines += wrapped(indent + "Remedy: ", finding.remedy, indent: indent + "        ")
    return lines
  }

  private func tree(_ clause: Clause, indent: String, isFirst: Bool) -> [String] {
    let branch = isFirst ? "" : style.usesUnicode ? "└─ " : "`- "
    let below = indent + String(repeating: " ", count: branch.unicodeScalars.count)
    var lines = wrapped(indent + branch, WhyWords.whole(clause.text), indent: below)
    for child in clause.children { lines += tree(child, indent: below + (isFirst ? "  " : ""), isFirst: false) }
    return lines
  }

  /// Breaks at blanks if the terminal has an edge.
  private func wrapped(
    _ first: String, _ text: String, indent: String, paint: (String) -> String = { $0 }
  ) -> [String] {
    guard let columns = style.columns, columns > 40 else { return [first + paint(text)] }
    var lines: [String] = []
    var line = ""
    func room() -> Int { columns - TextLayout.width(lines.isEmpty ? first : indent) }
    for word in text.split(separator: " ", omittingEmptySubsequences: false) {
      if !line.isEmpty, TextLayout.width(line) + 1 + TextLayout.width(String(word)) > room() {
        lines.append((lines.isEmpty ? first : indent) + paint(line))
        line = ""
      }
      line += line.isEmpty ? String(word) : " " + word
    }
    lines.append((lines.isEmpty ? first : indent) + paint(line))
    return lines
  }
}

/// A report for programs.
enum WhyJSON {
  static func value(_ report: WhyReport) -> JSONValue {
    let core = report.snapshot.core.isEmpty ? [] : [("core", JSONValue.string(report.snapshot.core))]
    return .object(
      [
        ("pid", .integer(Int(report.snapshot.pid))),
        ("name", .string(report.snapshot.program.name)),
      ] + core + [
        ("stopped", .bool(report.snapshot.program.isStopped)),
        ("afterSeconds", .number(Double(report.after) / 1e9)),
        ("findings", .array(report.findings.map(value))),
        ("remarks", .array(report.remarks.map { .string($0) })),
      ])
  }

  private static func value(_ finding: Finding) -> JSONValue {
    var members: [(String, JSONValue)] = [("kind", .string(finding.kind.rawValue))]
    if let age = finding.age { members.append(("forSeconds", .number(Double(age) / 1e9))) }
    members += [
      ("sentence", .string(finding.sentence)),
      ("details", .array(finding.details.map(value))),
      ("remedy", .string(finding.remedy)),
      ("threads", .array(finding.threads.map { .integer(Int($0)) })),
      ("labels", .array(finding.labels.map { .string($0) })),
      ("blocksMainQueue", .bool(finding.blocksMain)),
    ]
    return .object(members)
  }

  private static func value(_ clause: Clause) -> JSONValue {
    var members: [(String, JSONValue)] = [("text", .string(WhyWords.whole(clause.text)))]
    if !clause.children.isEmpty { members.append(("because", .array(clause.children.map(value)))) }
    return .object(members)
  }
}
