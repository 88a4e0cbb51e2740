// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import Testing

/// The same in each run of the tests: what a schedule finds follows from its seed.
private let seeds: [UInt64] = isThorough ? [1, 2, 3, 4, 5] : [1, 2]

@Suite("Known bugs", .serialized, .timeLimit(.minutes(30)))
struct PatternTests {
  @Test("Each is found within 1,000 schedules, by chance and by PCT, half of them within 20; and shrunk")
  func found() async {
    await #expect(processExitsWith: .success) {
      for strategy in [Simulation.Strategy.random, .pct(depth: 3)] {
        var (needed, switches): ([Int], [Int]) = ([], [])
        for (pattern, seed) in Pattern.all.flatMap({ pattern in seeds.map { (pattern, $0) } }) {
          let report = Simulation.explore(strategy: strategy, seed: seed) { pattern.run($0, false) }
          let failure = try unwrap(report.failure, pattern.name)
          needed.append(report.runs)
          switch failure.reason {
          case .expectation, .deadlock: break
          default: try require(false, pattern.name + ": " + failure.description)
          }
          switches.append(try unwrap(failure.switches, pattern.name))
          let again = Simulation.explore(strategy: .replay(failure.token)) { pattern.run($0, false) }
          try require(again.failure?.timeline == failure.timeline, pattern.name)
        }
        // Without optimisation the search for three may run out of time.
        try require(
          switches.max() ?? 0 <= (isThorough ? 3 : 5) && switches.sorted()[switches.count / 2] <= 1, "\(switches)")
        try require(needed.sorted()[needed.count / 2] <= 20, "\(needed)")
      }
    }
  }

  @Test("No mend is accused")
  func notAccused() async {
    await #expect(processExitsWith: .success) {
      for strategy in [Simulation.Strategy.random, .pct(depth: 3)] {
        for pattern in Pattern.all {
          let report = Simulation.explore(runs: isThorough ? 1_000 : 100, strategy: strategy) { pattern.run($0, true) }
          try require(report.failure == nil, pattern.name + ": " + (report.failure?.description ?? ""))
        }
      }
    }
  }

  @Test("There are twenty-six")
  func table() { #expect(Pattern.all.count == 26) }
}
