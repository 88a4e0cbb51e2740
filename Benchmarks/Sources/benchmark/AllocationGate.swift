// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport
import FoundationEssentials
import Glibc
import OursOps
import TheirsOps

/// Counts the allocations of each operation and exits with 1 if one makes more than Thresholds/allocations.json allows.
///
/// `--theirs` measures libdispatch as well, for comparison.
enum AllocationGate {
  private struct Thresholds: Decodable {
    /// What caches may add per operation in the long run.
    let slack: Double
    let allocations: [String: Double]
  }

  static func start(_ arguments: [String]) throws -> Never {
    guard arguments.allSatisfy({ $0 == "--theirs" }) else {
      Output.error.line("usage: Scripts/benchmark allocations [--theirs]")
      exit(2)
    }
    checkCounter()
    let thresholds = try load()
    let theirs = arguments.isEmpty ? nil : TheirsOps.allocationProbes()
    Output.standard.line(
      left("operation", 26) + right("at most", 9) + right("ours", 9) + (theirs == nil ? "" : right("theirs", 9)))
    var exceeded = 0
    for (index, probe) in OursOps.allocationProbes().enumerated() {
      let limit = thresholds.allocations[probe.name]
      let count = probe.allocationsPerOperation()
      let fails = limit.map { count > $0 + thresholds.slack } ?? true
      if fails { exceeded += 1 }
      let theirCount = theirs.map { right(fixed($0[index].allocationsPerOperation(), 3), 9) } ?? ""
      Output.standard.line(
        left(probe.name, 26) + right(limit.map { fixed($0, 0) } ?? "none set", 9) + right(fixed(count, 3), 9)
          + theirCount + (fails ? "  exceeded" : ""))
    }
    exit(exceeded == 0 ? 0 : 1)
  }

  /// A counter that misses calls, or adds its own, would let everything pass.
  private static func checkCounter() {
    let before = bench_allocations()
    bench_allocate_and_free(64)
    let counted = bench_allocations() - before
    if counted != 1 {
      Output.error.line("allocations: one malloc was counted as \(counted)")
      exit(2)
    }
  }

  private static func load() throws -> Thresholds {
    let package = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let data = try Data(contentsOf: URL(filePath: "/" + package + "/Thresholds/allocations.json"))
    return try JSONDecoder().decode(Thresholds.self, from: data)
  }
}
