// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

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

  static func load() throws -> Thresholds {
    let file = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let data = try Data(contentsOf: URL(filePath: "/" + file + "/Thresholds/ratios.json"))
    return try JSONDecoder().decode(Thresholds.self, from: data)
  }

  func bar(_ name: String) -> Double { bars[name] ?? defaultBar }

  /// Whether the row is above its bar by more than noise.
  func isExceeded(by row: Row) -> Bool {
    guard let ratio = row.ratio, ungated[row.name] == nil else { return false }
    // On a noisy machine the kernel decides from round to round where the threads of a row run: a row that is really
    // slower is slower in every round.
    return ratio.median > bar(row.name) * (1 + tolerance) && ratio.least > bar(row.name)
  }
}
