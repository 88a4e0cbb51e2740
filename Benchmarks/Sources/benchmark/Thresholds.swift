// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import FoundationEssentials

/// Thresholds/ratios.json: the ratios that may not be exceeded, and those that are aimed at.
struct Thresholds: Decodable {
  /// The bar of a row that has none of its own.
  let defaultBar: Double
  /// How far above its bar a ratio may be before it is more than noise; 0.1 is ten per cent.
  let tolerance: Double
  let bars: [String: Double]
  let targets: [String: Double]
  /// Rows that are shown but never fail, with the reason.
  let ungated: [String: String]

  /// The rows that are run at all, if not all are: beside neighbours those in which a thread waits for another.
  let onlyBars: Bool?

  /// - Parameter besideNeighbours: Bars of their own for a machine that others load as well.
  static func load(besideNeighbours: Bool) throws -> Thresholds {
    let file = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let name = besideNeighbours ? "neighbours.json" : "ratios.json"
    let data = try Data(contentsOf: URL(filePath: "/" + file + "/Thresholds/" + name))
    return try JSONDecoder().decode(Thresholds.self, from: data)
  }

  func bar(_ name: String) -> Double { bars[name] ?? defaultBar }

  func concerns(_ operation: Operation) -> Bool {
    onlyBars != true || operation.figures.contains { bars[operation.rowName($0)] != nil }
  }

  /// Whether the row is above its bar by more than noise.
  func isExceeded(by row: Row) -> Bool {
    guard let ratio = row.ratio, ungated[row.name] == nil else { return false }
    // On a noisy machine the kernel decides from round to round where the threads of a row run: a row that is really
    // slower is slower in every round.
    return ratio.median > bar(row.name) * (1 + tolerance) && ratio.least > bar(row.name)
  }
}
