// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import Testing

@Suite("All schedules", .serialized, .timeLimit(.minutes(30)))
struct ExhaustiveTests {
  @Test("A repaired program of two threads is proven within a bound, and a wrong one is found")
  func twoThreads() async {
    await #expect(processExitsWith: .success) {
      for preemptions in 1...3 {
        let strategy = Simulation.Strategy.exhaustive(preemptions: preemptions)
        let repaired = try Simulation.check(strategy: strategy) { addTwice($0, onOneQueue: true) }
        try require(repaired.isComplete && repaired.failure == nil && repaired.runs > 1)
        let wrong = Simulation.explore(strategy: strategy) { addTwice($0, onOneQueue: false) }
        guard case .expectation("an addition was lost")? = wrong.failure?.reason else { throw Unexpected() }
        try require(wrong.failure?.switches == 1 && !wrong.isComplete)
      }
      // Without an interruption nothing is lost.
      let none = Simulation.explore(strategy: .exhaustive(preemptions: 0)) { addTwice($0, onOneQueue: false) }
      try require(none.isComplete && none.failure == nil)
    }
  }

  @Test("No order of steps is missing: of two times three there are twenty, the more the greater the bound")
  func orders() async {
    await #expect(processExitsWith: .success) {
      func orders(_ preemptions: Int) throws -> Set<String> {
        let seen = Box<Set<String>>([])
        let report = try Simulation.check(strategy: .exhaustive(preemptions: preemptions)) { sim in
          let order = Box("")
          for letter in ["a", "b"] {
            DispatchQueue(label: letter).async {
              for _ in 0..<2 {
                order.value += letter
                Simulation.yield()
              }
              order.value += letter
            }
          }
          sim.run()
          seen.value.insert(order.value)
        }
        try require(report.isComplete)
        return seen.value
      }
      let counts = try (0...5).map { try orders($0).count }
      try require(counts[0] == 1 && counts[5] == 20, "\(counts)")
      try require(counts == counts.sorted() && counts[1] < counts[2] && counts[2] < 20, "\(counts)")
      try require(try orders(5).allSatisfy { $0.count == 6 })
    }
  }

  @Test("The known bugs are found, and their mends proven, with two interruptions")
  func patterns() async {
    await #expect(processExitsWith: .success) {
      // These patterns have thousands of schedules.
      let many = ["parallel loop", "three queues", "three philosophers"]
      for pattern in Pattern.all where isThorough || !many.contains(where: { pattern.name.hasPrefix($0) }) {
        let strategy = Simulation.Strategy.exhaustive(preemptions: 2)
        let wrong = Simulation.explore(strategy: strategy) { pattern.run($0, false) }
        try require(wrong.failure != nil, pattern.name)
        let repaired = Simulation.explore(strategy: strategy) { pattern.run($0, true) }
        try require(repaired.isComplete, pattern.name + ": " + (repaired.failure?.description ?? ""))
      }
    }
  }

  @Test("It says so when it was not complete, and check throws")
  func incomplete() async {
    await #expect(processExitsWith: .success) {
      let strategy = Simulation.Strategy.exhaustive(preemptions: 3, atMost: 2)
      let report = Simulation.explore(strategy: strategy) { addTwice($0, onOneQueue: true) }
      try require(!report.isComplete && report.failure == nil && report.runs == 2)
      do {
        try Simulation.check(strategy: strategy) { addTwice($0, onOneQueue: true) }
        throw Unexpected()
      } catch let failure as SimulationFailure {
        guard case .incomplete(2, gaps: []) = failure.reason else { throw failure }
      }
      try require(!Simulation.explore(runs: 3) { addTwice($0, onOneQueue: true) }.isComplete)
    }
  }

  @Test("V1: a program that does not do the same each time is not proven, and it says why")
  func otherEachTime() async {
    await #expect(processExitsWith: .success) {
      let runs = Box(0)
      let body: @Sendable (Simulation) -> Void = { sim in
        runs.value += 1
        if runs.value == 1 { addTwice(sim, onOneQueue: true) }
      }
      let gaps = ["the program does not do the same each time"]
      let report = Simulation.explore(strategy: .exhaustive(preemptions: 1), body)
      try require(report.failure == nil && !report.isComplete && report.gaps == gaps, "\(report)")
      runs.value = 0
      do {
        try Simulation.check(strategy: .exhaustive(preemptions: 1), body)
        throw Unexpected()
      } catch let failure as SimulationFailure {
        guard case .incomplete(_, gaps: gaps) = failure.reason else { throw failure }
      }
      let same = try Simulation.check(strategy: .exhaustive(preemptions: 1)) { addTwice($0, onOneQueue: true) }
      try require(same.isComplete && same.gaps.isEmpty)
    }
  }
}
