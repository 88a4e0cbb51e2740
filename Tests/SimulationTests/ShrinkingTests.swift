// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import Testing

/// Loses an addition among many items that do no harm.
private func addBesideOthers(_ sim: Simulation) {
  let group = DispatchGroup()
  for index in 0..<20 {
    DispatchQueue(label: "other \(index)").async(group: group) {
      Simulation.yield()
      DispatchQueue.global().async { Simulation.yield() }
    }
  }
  addTwice(sim, onOneQueue: false)
  group.wait()
}

@Suite("Shrinking", .serialized, .timeLimit(.minutes(30)))
struct ShrinkingTests {
  @Test("Few forced switches are left of many, and the message tells how many, and how long the token is")
  func few() async {
    await #expect(processExitsWith: .success) {
      for strategy in [Simulation.Strategy.random, .pct(depth: 3)] {
        for seed in 1...2 as ClosedRange<UInt64> {
          let failure = try unwrap(Simulation.explore(strategy: strategy, seed: seed, addBesideOthers).failure)
          guard case .expectation("an addition was lost") = failure.reason else { throw failure }
          let switches = try unwrap(failure.switches, failure.description)
          try require(switches <= 3, failure.description)
          try require(failure.token.hasPrefix("gc1:s:2:"), failure.token)
          try require(failure.token.utf8.count <= 200)
          try require(failure.shrinkingRuns > 0 && failure.shrinkingRuns <= 10_000)
          try require(failure.description.contains("has \(failure.token.utf8.count) characters"), failure.description)
          try require(failure.timeline.contains("\"first\"") && failure.timeline.contains("\"second\""))
        }
      }
    }
  }

  @Test("The shrunk token replays to the same failure, a hundred times of a hundred")
  func replay() async {
    await #expect(processExitsWith: .success) {
      let found = try unwrap(Simulation.explore(strategy: .random, seed: 7, addBesideOthers).failure)
      try require(found.switches != nil)
      for round in 0..<100 {
        if round % 10 == 0 { try Simulation.check(runs: 3) { addTwice($0, onOneQueue: true) } }
        let again = try unwrap(Simulation.explore(strategy: .replay(found.token), addBesideOthers).failure)
        guard case .expectation("an addition was lost") = again.reason else { throw again }
        try require(again.timeline == found.timeline, again.timeline)
        try require(again.token == found.token)
        // Nothing is shrunk again.
        try require(again.switches == nil && again.shrinkingRuns == 0)
      }
    }
  }

  @Test("What is shrunk stays a failure of its kind: a deadlock, an error of a type")
  func kinds() async {
    await #expect(processExitsWith: .success) {
      struct Early: Error {}
      struct Late: Error {}
      func body(_ sim: Simulation) throws {
        let order = Box<[Int]>([])
        let queues = (0..<3).map { DispatchQueue(label: "\($0)") }
        for (index, queue) in queues.enumerated() { queue.async { order.value.append(index) } }
        sim.run()
        // The usual schedule has an error of the other type.
        if order.value == [0, 1, 2] { throw Early() }
        if order.value.first == 2 { throw Late() }
      }
      for seed in 1...20 as ClosedRange<UInt64> {
        let failure = try unwrap(Simulation.explore(seed: seed, body).failure)
        guard case .threw(let error) = failure.reason else { throw failure }
        let again = try unwrap(Simulation.explore(strategy: .replay(failure.token), body).failure)
        guard case .threw(let second) = again.reason else { throw again }
        try require(type(of: error) == type(of: second), failure.description)
      }
      let philosophers = try unwrap(Pattern.deadlocks.first { $0.name.contains("philosophers") })
      var left: [Int] = []
      for seed in 1...12 as ClosedRange<UInt64> {
        let failure = try unwrap(Simulation.explore(seed: seed) { philosophers.run($0, false) }.failure)
        guard case .deadlock(let waits) = failure.reason, waits.count == 3 else { throw failure }
        left.append(try unwrap(failure.switches))
      }
      // Three are enough. Without optimisation the search for them may run out of time.
      try require(
        left.sorted()[left.count / 2] <= (isThorough ? 3 : 4) && left.max()! <= (isThorough ? 3 : 7), "\(left)")
    }
  }

  @Test("A schedule that fails without a switch has an empty list of them")
  func none() async {
    await #expect(processExitsWith: .success) {
      let failure = try unwrap(Simulation.explore { _ in throw Unexpected() }.failure)
      try require(failure.switches == 0)
      try require(failure.token == "gc1:s:2:", failure.token)
      try require(failure.description.contains("0 forced switches are left"), failure.description)
    }
  }

  @Test("A body that fails by chance keeps the token that was found")
  func unsteady() async {
    await #expect(processExitsWith: .success) {
      let calls = Box(0)
      let failure = try unwrap(
        Simulation.explore(runs: 10) { sim in
          calls.value += 1
          sim.expect(calls.value != 5, "the fifth call")
        }.failure)
      try require(failure.switches == nil && failure.token.hasPrefix("gc1:r:"), failure.description)
      try require(failure.runs == 4)
    }
  }
}
