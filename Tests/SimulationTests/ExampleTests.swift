// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import GrandCentralTestingTraits
import Testing

// What Documentation/Simulation.md shows, and at the end what GettingStarted.md does.

final class Bank: @unchecked Sendable {  // balances are touched by items alone
  var balances = [100, 100, 100]
  let queues: [DispatchQueue]

  init(onOneQueue: Bool) {
    let one = DispatchQueue(label: "bank")
    queues = (0..<3).map { onOneQueue ? one : DispatchQueue(label: "account \($0)") }
  }

  func transfer(from: Int, to: Int) {
    queues[from].async { [self] in
      balances[from] -= 10
      let seen = balances[to]
      Simulation.yield()
      balances[to] = seen + 10
    }
  }

  var total: Int { balances.reduce(0, +) }
}

func moneyStays(_ sim: Simulation, onOneQueue: Bool) {
  let bank = Bank(onOneQueue: onOneQueue)
  for account in 0..<3 { bank.transfer(from: account, to: (account + 1) % 3) }
  sim.run()
  sim.expect(bank.total == 300, "money was lost: \(bank.total)")
}

@Suite("The article", .serialized, .timeLimit(.minutes(30)))
struct ExampleTests {
  @Test("Its bank loses money, and its mend does not")
  func bank() async {
    await #expect(processExitsWith: .success) {
      let wrong = Simulation.explore(strategy: .pct(depth: 3)) { moneyStays($0, onOneQueue: false) }
      guard case .expectation(let message) = wrong.failure?.reason else { throw Unexpected() }
      try require(message.hasPrefix("money was lost"))
      try Simulation.check(strategy: .pct(depth: 3)) { moneyStays($0, onOneQueue: true) }
      try Simulation.check(strategy: .exhaustive(preemptions: 2)) { moneyStays($0, onOneQueue: true) }
    }
  }

  @Test("Its check throws, and its token is one")
  func lines() async {
    await #expect(processExitsWith: .success) {
      do {
        try Simulation.check(strategy: .pct(depth: 3)) { moneyStays($0, onOneQueue: false) }
        throw Unexpected()
      } catch is SimulationFailure {}
      do {
        try Simulation.check(strategy: .replay("gc1:s:2:1.3.2")) { moneyStays($0, onOneQueue: false) }
        throw Unexpected()
      } catch let failure as SimulationFailure {
        guard case .expectation = failure.reason else { throw failure }
      }
    }
  }
}

extension TraitTests {
  @Test(.simulated(runs: 200, strategy: .pct(depth: 3)))
  func moneyStays() throws {
    let sim = try #require(Simulation.current)
    let bank = Bank(onOneQueue: true)
    for account in 0..<3 { bank.transfer(from: account, to: (account + 1) % 3) }
    sim.run()
    #expect(bank.total == 300)
  }

  @Test(.simulated(runs: 200))
  func everyLetterIsCounted() throws {
    let sim = try #require(Simulation.current)
    let owner = DispatchSerialQueue(label: "sum")
    nonisolated(unsafe) var sum = 0  // touched on `owner`, and when nothing is left to happen
    for word in ["queue", "group", "timer"] {
      DispatchQueue.global(qos: .utility).async {
        let count = word.count
        owner.async { sum += count }
      }
    }
    sim.run()
    #expect(sum == 15)
  }
}
