// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit

/// The table that grows while the duel runs.
enum Console {
  static var head: String {
    left("row", 35) + right("ratio", 8) + "  " + left("(min-max)", 16) + right("ours", 10) + right("theirs", 10)
      + right("cpu ours", 10) + right("theirs", 10) + right("allocs", 9) + right("theirs", 9) + right("switches", 10)
      + right("theirs", 9) + right("syscalls", 10) + right("theirs", 9)
  }

  static func line(_ row: Row, thresholds: Thresholds) -> String {
    let ratio = row.ratio.map { fixed($0.median, 3) } ?? "-"
    let spread = row.ratio.map { "(\(short($0.least))-\(short($0.greatest)))" } ?? ""
    func theirs(_ value: (Cost) -> Double?) -> String { row.theirs.flatMap(value).map(short) ?? "-" }
    return left(row.name, 35) + right(ratio, 8) + "  " + left(spread, 16)
      + right(quantity(row.ours.nanoseconds, of: row.name), 10)
      + right(row.theirs.map { quantity($0.nanoseconds, of: row.name) } ?? "-", 10)
      + right(short(row.ours.cpuNanoseconds), 10)
      + right(theirs(\.cpuNanoseconds), 10)
      + right(short(row.ours.allocations), 9) + right(theirs(\.allocations), 9)
      + right(short(row.ours.contextSwitches), 10) + right(theirs(\.contextSwitches), 9)
      + right(row.ours.systemCalls.map(short) ?? "-", 10) + right(theirs(\.systemCalls), 9)
      + (thresholds.isExceeded(by: row) ? "  above \(short(thresholds.bar(row.name)))" : "")
  }

  /// Over all rows: where the ratios lie.
  static func summary(_ rows: [Row]) -> String {
    let ratios = rows.compactMap(\.ratio?.median).filter { $0 > 0 }.sorted()
    guard let least = ratios.first, let greatest = ratios.last else { return "no ratios" }
    return "\(ratios.count) rows: ratio \(short(least)) to \(short(greatest)), median \(short(median(ratios)))"
  }
}
