// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import Testing

// What Documentation/Simulation.md says in figures. They are the machine's, so no check runs this. By hand, on a quiet machine, the bars hold:
//
//     GC_SIMULATION_BARS=FILE swift test -c release --filter SimulationTests.BarTests
private func seconds(_ body: () throws -> Void) rethrows -> Double {
  let clock = ContinuousClock()
  let took = try clock.measure(body)
  return Double(took.components.seconds) + Double(took.components.attoseconds) / 1e18
}

private func decimal(_ value: Double) -> String {
  let thousandths = Int((value * 1_000).rounded())
  let rest = String(thousandths % 1_000)
  return "\(thousandths / 1_000)." + String(repeating: "0", count: 3 - rest.count) + rest
}

@Suite("Figures", .serialized, .enabled(if: figures != nil))
struct BarTests {
  @Test("Steps a second, a day of timers, a thousand runs, all schedules of three philosophers")
  func speed() async {
    await #expect(processExitsWith: .success) {
      for processors in [1, 2, 4] {
        let steps = Box(0)
        let took = try seconds {
          steps.value = try Simulation.check(runs: 20, processors: processors, seed: 1) { sim in
            let queues = (0..<4).map { DispatchQueue(label: "queue \($0)") }
            for index in 0..<10_000 { queues[index % 4].async {} }
            sim.run()
          }.steps
        }
        try require(
          processors > 1 || Double(steps.value) > 1_000_000 * took, "\(processors): \(steps.value) in \(took) s")
        tell(
          "\(steps.value) steps on \(processors) processors in \(decimal(took)) s: \(Int(Double(steps.value) / took)) a second"
        )
      }
      let day = try seconds {
        try Simulation.check(runs: 1) { sim in
          let count = Box(0)
          let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "day"))
          timer.schedule(deadline: .now() + .seconds(1), repeating: .seconds(1))
          timer.setEventHandler { count.value += 1 }
          timer.resume()
          sim.advance(by: .seconds(86_400))
          sim.expect(count.value == 86_400)
          timer.cancel()
        }
      }
      tell("a day of timers of one second: \(decimal(day)) s")
      try require(day < 1)
      let runs = try seconds {
        try Simulation.check(runs: 1_000) { sim in
          let (queue, sum) = (DispatchQueue(label: "sum"), Box(0))
          for _ in 0..<50 { queue.async { sum.value += 1 } }
          sim.run()
          sim.expect(sum.value == 50)
        }
      }
      tell("1,000 runs of 50 items: \(decimal(runs)) s")
      try require(runs < 2)
      for name in ["three philosophers", "three queues"] {
        let pattern = try unwrap(Pattern.all.first { $0.name.hasPrefix(name) })
        for preemptions in 0...2 {
          let schedules = Box(0)
          let took = try seconds {
            schedules.value = try Simulation.check(strategy: .exhaustive(preemptions: preemptions)) {
              pattern.run($0, true)
            }.runs
          }
          tell("\(name), \(preemptions) interruptions: all \(schedules.value) schedules in \(decimal(took)) s")
        }
        let report = Box<Simulation.Report?>(nil)
        let took = seconds { report.value = Simulation.explore(strategy: .everyOrder()) { pattern.run($0, true) } }
        let orders = try unwrap(report.value)
        // The bar is for philosophers whose forks are queues.
        try require(took < 1 || name != "three queues", name)
        tell(
          "\(name), every order: \(orders.runs) schedules, \(orders.isComplete ? "all" : "not all"), in \(decimal(took)) s"
        )
      }
    }
  }

  @Test("10,000 seeds twice, by either strategy, have equal events")
  func determinism() async {
    await #expect(processExitsWith: .success) {
      for strategy in [Simulation.Strategy.random, .pct(depth: 3)] {
        func hash(_ seed: UInt64, _ body: @escaping (Simulation) throws -> Void) throws -> UInt64 {
          try Simulation.check(runs: 1, strategy: strategy, processors: 1 + Int(seed % 4), seed: seed, body).hash
        }
        var different = 0
        for seed in 0..<10_000 as Range<UInt64> where try hash(seed, mixture) != hash(seed, mixture) { different += 1 }
        tell("10,000 seeds twice: \(different) differ (\(strategy))")
        for pattern in Pattern.all {
          let mended: (Simulation) throws -> Void = { pattern.run($0, true) }
          for seed in 0..<(isThorough ? 400 : 40) as Range<UInt64> where try hash(seed, mended) != hash(seed, mended) {
            tell("\(pattern.name): the seed \(seed) has other events the second time")
            different += 1
          }
        }
        try require(different == 0)
      }
    }
  }

  @Test("Known bugs: schedules until found, and what is left of the schedule")
  func patterns() async {
    await #expect(processExitsWith: .success) {
      tell("pattern | by chance: median, worst | PCT: median, worst | switches | characters")
      var medians: [[Int]] = [[], []]
      for pattern in Pattern.all {
        var (needed, switches, lengths): ([[Int]], [Int], [Int]) = ([[], []], [], [])
        for (index, strategy) in [Simulation.Strategy.random, .pct(depth: 3)].enumerated() {
          for seed in 1...11 as ClosedRange<UInt64> {
            let found = Simulation.explore(strategy: strategy, seed: seed) { pattern.run($0, false) }
            let failure = try unwrap(found.failure, pattern.name)
            needed[index].append(found.runs)
            switches.append(try unwrap(failure.switches, pattern.name))
            lengths.append(failure.token.utf8.count)
            let again = Simulation.explore(strategy: .replay(failure.token)) { pattern.run($0, false) }
            try require(again.failure?.timeline == failure.timeline, pattern.name)
          }
          needed[index].sort()
          medians[index].append(needed[index][5])
        }
        switches.sort()
        try require(switches[21] <= 3, pattern.name)
        tell(
          pattern.name + needed.map { " | \($0[5]), \($0[10])" }.joined()
            + " | \(switches[11]), at most \(switches[21]) | \(lengths.max() ?? 0)")
      }
      try require(medians[1].sorted()[medians[1].count / 2] <= 20)
      tell("median of the medians: " + medians.map { "\($0.sorted()[$0.count / 2])" }.joined(separator: ", "))
    }
  }

  @Test("No mend is accused in 10,000 schedules, by either strategy")
  func mends() async {
    await #expect(processExitsWith: .success) {
      for strategy in [Simulation.Strategy.random, .pct(depth: 3)] {
        for pattern in Pattern.all {
          let found = Simulation.explore(runs: 10_000, strategy: strategy) { pattern.run($0, true) }
          try require(found.failure == nil, pattern.name + ": " + (found.failure?.description ?? ""))
        }
        tell("\(Pattern.all.count) mends, 10,000 schedules each: none is accused (\(strategy))")
      }
    }
  }
}
