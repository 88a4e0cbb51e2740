// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The report for programs: everything, in a stable order. Only `performance` differs from run to run.
package enum JSONReport {
  /// The text, with a line feed at its end.
  package static func render(_ report: IndexReport) -> String { value(of: report).text + "\n" }

  private static func value(of report: IndexReport) -> JSONValue {
    .object(
      name("root", report.root) + [
        ("complete", .bool(report.isComplete)),
        ("files", .integer(report.totals.files)),
        ("bytes", .integer(report.totals.bytes)),
        ("words", .count(report.totals.words)),
        ("distinctWords", .integer(report.totals.distinctWords)),
        ("overlongWords", .count(report.totals.overlongWords)),
        ("emptyFiles", .integer(report.totals.emptyFiles)),
        ("binaryFiles", .integer(report.totals.binaryFiles)),
        ("filesNotUTF8", .integer(report.totals.filesNotUTF8)),
        ("skipped", skipped(report.totals)),
        (
          "topWords",
          .array(report.topWords.map { .object([("word", .string($0.word)), ("count", .count($0.count))]) })
        ),
        ("duplicates", .array(report.duplicates.map(value(of:)))),
        ("duplicateBytes", .integer(report.wastedBytes)),
        ("unreadable", .array(report.problems.map(value(of:)))),
        ("performance", value(of: report.performance, bytes: report.totals.bytes)),
      ])
  }

  /// A name that is no text is told in hexadecimal digits as well.
  private static func name(_ member: String, _ path: Path) -> [(String, JSONValue)] {
    [(member, .string(path.text))] + (path.isText ? [] : [(member + "Hex", .string(path.hexadecimal))])
  }

  private static func skipped(_ totals: IndexTotals) -> JSONValue {
    .object(SpecialFile.allCases.map { ($0.rawValue, .integer(totals.skipped[$0] ?? 0)) })
  }

  private static func value(of set: DuplicateSet) -> JSONValue {
    .object(
      [
        ("hash", .string(set.hash.hexadecimal)),
        ("bytes", .integer(set.bytes)),
        ("copies", .integer(set.copies)),
        ("paths", .array(set.paths.map { .string($0.text) })),
      ] + (set.paths.allSatisfy(\.isText) ? [] : [("pathsHex", .array(set.paths.map { .string($0.hexadecimal) }))]))
  }

  private static func value(of problem: Problem) -> JSONValue {
    .object(
      name("path", problem.path) + [
        ("reason", .string(problem.reason)),
        ("errno", .integer(Int(problem.code))),
      ])
  }

  private static func value(of performance: Performance, bytes: Int) -> JSONValue {
    let mode: [(String, JSONValue)] =
      switch performance.mode {
      case .serial: [("mode", .string("serial")), ("jobs", .integer(1))]
      case .parallel(let jobs): [("mode", .string("parallel")), ("jobs", .integer(jobs))]
      }
    return .object(
      mode + [
        ("seconds", .number(performance.seconds)),
        ("processorSeconds", .number(performance.processorSeconds)),
        ("megabytesPerSecond", .number(performance.megabytesPerSecond(bytes))),
        ("coresUsed", .number(performance.coresUsed)),
        ("coresAvailable", .integer(performance.coresAvailable)),
      ])
  }
}

extension Path {
  fileprivate var hexadecimal: String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
