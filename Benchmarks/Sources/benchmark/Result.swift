// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit

/// What one side needed, the median over the rounds, per operation.
struct Cost: Codable {
  /// The figure that the row is about, in nanoseconds.
  let nanoseconds: Double
  let cpuNanoseconds: Double
  let allocations: Double
  let contextSwitches: Double
  /// Of a sample in a process of its own; nil where the kernel does not let them be counted.
  let systemCalls: Double?

  init?(_ samples: [Sample], figure: Operation.Figure, systemCalls: Double?) {
    let values = samples.compactMap { $0.value(figure) }
    if values.isEmpty { return nil }
    nanoseconds = median(values)
    cpuNanoseconds = median(samples.map(\.cpu))
    allocations = median(samples.map(\.allocations))
    contextSwitches = median(samples.map(\.switches))
    self.systemCalls = systemCalls
  }
}

/// Ours divided by theirs, round by round.
struct Ratio: Codable {
  let median, least, greatest: Double
  /// The distance between the quartiles.
  let middleHalf: Double

  init?(ours: [Sample], theirs: [Sample], figure: Operation.Figure) {
    let ratios = zip(ours, theirs).compactMap { ours, theirs -> Double? in
      guard let ours = ours.value(figure), let theirs = theirs.value(figure), theirs > 0 else { return nil }
      return ours / theirs
    }
    .sorted()
    guard let first = ratios.first, let last = ratios.last else { return nil }
    least = first
    greatest = last
    median = benchmark.median(ratios)
    middleHalf = ratios[ratios.count * 3 / 4] - ratios[ratios.count / 4]
  }
}

/// One line of the report.
struct Row: Codable {
  let name: String
  let rounds: Int
  /// Operations in one sample.
  let operations: Int
  let ratio: Ratio?
  let ours: Cost
  let theirs: Cost?
  /// Nil if no peer has the row, or none was asked.
  var peers: PeerStanding?
}

func median(_ values: [Double]) -> Double {
  let sorted = values.sorted()
  let middle = sorted.count / 2
  return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
