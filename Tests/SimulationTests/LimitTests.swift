// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import Testing

@Suite("Limits", .serialized, .timeLimit(.minutes(2)))
struct LimitTests {
  @Test("Items that use up the thread budget and wait for ever are a deadlock, and named")
  func budget() async {
    await #expect(processExitsWith: .success) {
      GrandCentralRuntime.threadBudget = 12
      let report = Simulation.explore { sim in
        let never = DispatchSemaphore(value: 0)
        for number in 0..<16 { DispatchQueue(label: "queue \(number)").async { never.wait() } }
        sim.run()
      }
      let failure = try unwrap(report.failure)
      guard case .deadlock(let sentences) = failure.reason else { throw failure }
      try require(
        sentences.count == 12 && sentences.allSatisfy { $0.contains("waits for a semaphore") }, "\(sentences)")
    }
  }

  @Test("Time that a body lets pass may end the waits of a full pool")
  func fullPool() async {
    await #expect(processExitsWith: .success) {
      GrandCentralRuntime.threadBudget = 12
      // The monitor ticks all the time: a second is a thousand turns.
      try Simulation.check(runs: 2) { sim in
        let later = DispatchSemaphore(value: 0)
        let done = DispatchGroup()
        for number in 0..<16 { DispatchQueue(label: "queue \(number)").async(group: done) { later.wait() } }
        sim.advance(by: .seconds(4))
        for _ in 0..<16 { later.signal() }
        sim.run()
        sim.expect(done.wait(timeout: .now()) == .success)
      }
    }
  }

  @Test("An item that lets time pass is told that it may not")
  func advanceInItem() async {
    await #expect(processExitsWith: .success) {
      for lets in [{ $0.run() }, { $0.advance(by: .seconds(1)) }] as [@Sendable (Simulation) -> Void] {
        let report = Simulation.explore { sim in
          DispatchQueue(label: "queue").async { lets(sim) }
          sim.run()
        }
        let failure = try unwrap(report.failure)
        guard case .misuse(let message) = failure.reason else { throw failure }
        try require(message.contains("for the body"), message)
      }
    }
  }

  @Test("Times that no clock can count are never; there are as many interruptions as there are")
  func endless() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check { sim in
        sim.advance(by: .seconds(Int.max))
        sim.advance(by: Duration.seconds(20_000_000_000))
        for _ in 0..<3 { sim.advance(by: .nanoseconds(Int.max)) }
      }
      try Simulation.check(strategy: .exhaustive(preemptions: .max)) { sim in
        DispatchQueue(label: "queue").async {}
        sim.run()
      }
    }
  }
}
