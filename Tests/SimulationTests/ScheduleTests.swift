// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import Testing

/// Two items add one each, in two steps. On one queue nothing is lost.
func addTwice(_ sim: Simulation, onOneQueue: Bool) {
  let first = DispatchQueue(label: "first")
  let second = onOneQueue ? first : DispatchQueue(label: "second")
  let sum = Box(0)
  for queue in [first, second] {
    queue.async {
      let seen = sum.value
      Simulation.yield()
      sum.value = seen + 1
    }
  }
  sim.run()
  sim.expect(sum.value == 2, "an addition was lost")
}

@Suite("Schedules", .serialized, .timeLimit(.minutes(30)))
struct ScheduleTests {
  @Test("A lost update is found within 1,000 schedules, and its repaired twin is not accused")
  func lostUpdate() async {
    await #expect(processExitsWith: .success) {
      for strategy in [Simulation.Strategy.random, .pct(depth: 2), .pct(depth: 3)] {
        let wrong = Simulation.explore(strategy: strategy) { addTwice($0, onOneQueue: false) }
        try require(wrong.failure != nil)
        guard case .expectation("an addition was lost")? = wrong.failure?.reason else { throw Unexpected() }
        try require(wrong.failure?.timeline.contains("submits to \"second\"") == true)
        let repaired = Simulation.explore(strategy: strategy) { addTwice($0, onOneQueue: true) }
        try require(repaired.failure == nil, "\(repaired)")
        try require(repaired.runs == 1_000)
      }
    }
  }

  @Test("A token replays its schedule, a hundred times of a hundred, whatever ran before")
  func replay() async {
    await #expect(processExitsWith: .success) {
      for strategy in [Simulation.Strategy.random, .pct(depth: 3)] {
        let found = try unwrap(Simulation.explore(strategy: strategy) { addTwice($0, onOneQueue: false) }.failure)
        try require(found.token.count <= 200)
        for round in 0..<100 {
          if round % 10 == 0 { try Simulation.check(runs: 3) { addTwice($0, onOneQueue: true) } }
          let again = Simulation.explore(strategy: .replay(found.token)) { addTwice($0, onOneQueue: false) }
          try require(again.runs == 1)
          try require(again.failure?.token == found.token)
          try require(again.failure?.timeline == found.timeline)
        }
      }
    }
  }

  @Test("Equal seeds have equal events, and different ones different events")
  func determinism() async {
    await #expect(processExitsWith: .success) {
      func hash(_ seed: UInt64, _ strategy: Simulation.Strategy) throws -> UInt64 {
        try Simulation.check(runs: 1, strategy: strategy, processors: 1 + Int(seed % 4), seed: seed, mixture).hash
      }
      for strategy in [Simulation.Strategy.random, .pct(depth: 3)] {
        var seen: Set<UInt64> = []
        for seed in 0..<200 as Range<UInt64> {
          let first = try hash(seed, strategy)
          let second = try hash(seed, strategy)
          try require(first == second, "\(seed)")
          seen.insert(first)
        }
        try require(seen.count > 150, "\(seen.count)")
      }
    }
  }

  @Test("What the body throws is thrown")
  func thrown() async {
    await #expect(processExitsWith: .success) {
      #expect(throws: Unexpected.self) { try Simulation.check(runs: 3) { _ in throw Unexpected() } }
      let failure = try unwrap(Simulation.explore(runs: 3) { _ in throw Unexpected() }.failure)
      guard case .threw(let error) = failure.reason else { throw Unexpected() }
      try require(error is Unexpected)
      try require(failure.runs == 0)
    }
  }

  @Test(
    "A token that is none is refused",
    arguments: [
      "", "gc1", "gc1:r:zz:2", "gc1:r:1:0", "gc1:p:1:2", "gc1:p:1:2:0:5", "gc1:s:2", "gc1:s:0:", "gc1:s:2:1.2",
      "gc1:s:2:1.2.x", "gc1:s:2:1.2.3,", "gc1:s:2:-1.2.3",
    ])
  func badToken(token: String) {
    let report = Simulation.explore(strategy: .replay(token)) { _ in }
    guard case .badToken? = report.failure?.reason else {
      Issue.record("\(token) was taken")
      return
    }
    #expect(report.runs == 0)
  }
}

/// A little of everything.
func mixture(_ sim: Simulation) {
  let serial = DispatchQueue(label: "serial")
  let concurrent = DispatchQueue(label: "concurrent", attributes: .concurrent)
  let group = DispatchGroup()
  let semaphore = DispatchSemaphore(value: 1)
  let sum = Box(0)
  for index in 0..<6 {
    concurrent.async(group: group) {
      semaphore.wait()
      sum.value += 1
      Simulation.yield()
      semaphore.signal()
      serial.async { sum.value += 10 }
    }
    if index == 3 { concurrent.async(group: group, flags: .barrier) { serial.sync { sum.value += 100 } } }
  }
  let timer = DispatchSource.makeTimerSource(queue: serial)
  timer.schedule(deadline: .now() + .milliseconds(5), repeating: .milliseconds(5))
  timer.setEventHandler { sum.value += 1_000 }
  timer.resume()
  DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .milliseconds(7)) {
    concurrent.sync { sum.value += 10_000 }
  }
  sim.advance(by: .milliseconds(12))
  group.wait()
  DispatchQueue.concurrentPerform(iterations: 8) { _ in Simulation.yield() }
  timer.cancel()
  sim.run()
  sim.expect(sum.value == 12_166, "\(sum.value)")
}
