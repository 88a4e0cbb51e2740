// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import Testing

// Outside of the tests, which are macros' expansions: there lines have no file.
private let lineOfTransfer = #line
private func transfer(_ sim: Simulation) {
  let (first, second) = (DispatchQueue(label: "first"), DispatchQueue(label: "second"))
  first.async { take(second) }
  second.async {
    first.sync {}
  }
  sim.run()
}
private func take(_ queue: DispatchQueue) { queue.sync {} }

@Suite("Deadlocks and escapes", .serialized, .timeLimit(.minutes(30)))
struct DeadlockTests {
  @Test("Queues that sync onto each other: both threads are named, with the queues")
  func crossSync() async {
    await #expect(processExitsWith: .success) {
      func transfer(_ sim: Simulation, inOrder: Bool) {
        let (first, second) = (DispatchQueue(label: "first"), DispatchQueue(label: "second"))
        first.async { second.sync {} }
        inOrder ? first.async { second.sync {} } : second.async { first.sync {} }
        sim.run()
      }
      for strategy in [Simulation.Strategy.random, .pct(depth: 2)] {
        let report = Simulation.explore(strategy: strategy) { transfer($0, inOrder: false) }
        guard case .deadlock(let waits)? = report.failure?.reason else { throw Unexpected() }
        try require(waits.count == 2)
        try require(
          waits.contains { $0.contains("inside an item of \"first\", waits for its turn on the queue \"second\"") })
        try require(
          waits.contains { $0.contains("inside an item of \"second\", waits for its turn on the queue \"first\"") })
        try require(waits[0].contains(", which gc-default-") && waits[1].hasSuffix(" holds: the circle is closed"))
        try require(Simulation.explore(strategy: strategy) { transfer($0, inOrder: true) }.failure == nil)
      }
    }
  }

  @Test("What waits for ever at the end of a run is named: a semaphore, a group, a queue that is suspended")
  func forever() async {
    await #expect(processExitsWith: .success) {
      func waits(_ body: @escaping (Simulation) -> Void) throws -> String {
        let failure = try unwrap(Simulation.explore(runs: 1, body).failure)
        guard case .deadlock(let waits) = failure.reason, waits.count == 1 else { throw failure }
        return waits[0]
      }
      // The body itself waits.
      let semaphore = try waits { _ in DispatchSemaphore(value: 0).wait() }
      try require(semaphore == "test waits for a semaphore")
      // An item waits when the body has returned.
      let group = try waits { _ in
        let group = DispatchGroup()
        group.enter()
        DispatchQueue(label: "waiter").async { group.wait() }
      }
      try require(group.hasSuffix(", inside an item of \"waiter\", waits for a group, which one member has not left"))
      let queue = try waits { sim in
        let queue = DispatchQueue(label: "halted")
        queue.suspend()
        DispatchQueue.global().async { queue.sync {} }
        sim.run()
      }
      try require(queue.hasSuffix("waits for its turn on the queue \"halted\", which is suspended"))
    }
  }

  @Test("What was wrong before a deadlock is told as well: an expectation, and what the body has thrown")
  func earlier() async {
    await #expect(processExitsWith: .success) {
      func failure(_ body: @escaping (Simulation) throws -> Void) throws -> SimulationFailure {
        let failure = try unwrap(Simulation.explore(runs: 1, body).failure)
        guard case .deadlock = failure.reason else { throw failure }
        return failure
      }
      let expected = try failure { sim in
        sim.expect(false, "the cache is empty")
        DispatchSemaphore(value: 0).wait()
      }
      try require(
        expected.description.contains("\nBefore that, an expectation did not hold: the cache is empty\n"),
        expected.description)
      let thrown = try failure { sim in
        DispatchQueue.global().async { DispatchSemaphore(value: 0).wait() }
        throw Unexpected()
      }
      try require(
        thrown.description.contains("\nBefore that, the body had thrown \(Unexpected())\n"), thrown.description)
      // As a test framework's expectation has it.
      let recorded = try failure { _ in
        DispatchQueue.global().async { DispatchSemaphore(value: 0).wait() }
        throw RecordedIssue("the stock is 3")
      }
      try require(
        recorded.description.contains("\nBefore that, an expectation did not hold: the stock is 3\n"),
        recorded.description)
      let alone = try failure { _ in DispatchSemaphore(value: 0).wait() }
      try require(!alone.description.contains("Before that"), alone.description)
    }
  }

  @Test("The message says in which lines of the program the threads wait")
  func places() async {
    await #expect(processExitsWith: .success) {
      for strategy in [Simulation.Strategy.random, .everyOrder(), .replay("gc1:s:2:")] {
        let failure = try unwrap(Simulation.explore(strategy: strategy, seed: 1, transfer).failure)
        let lines = failure.description.split(separator: "\n").dropFirst().prefix(2)
        let waits = lines.map { $0.drop { $0 != " " } }.sorted { $0.utf8.count < $1.utf8.count }
        try require(waits.count == 2, failure.description)
        try require(waits.allSatisfy { $0.hasPrefix(" waits at ") }, failure.description)
        // With optimisation a line may be that of what calls it, or of what is called at its end.
        if isThorough { continue }
        try require(waits[0] == " waits at DeadlockTests.swift:\(lineOfTransfer + 5)", failure.description)
        try require(
          waits[1]
            == " waits at DeadlockTests.swift:\(lineOfTransfer + 9), called at DeadlockTests.swift:\(lineOfTransfer + 3)",
          failure.description)
      }
    }
  }

  @Test("The real world goes on after a deadlock")
  func after() async {
    await #expect(processExitsWith: .success) {
      for _ in 0..<3 {
        let report = Simulation.explore(runs: 1) { _ in DispatchSemaphore(value: 0).wait() }
        try require(report.failure != nil)
        try require(DispatchQueue(label: "real").sync { 7 } == 7)
        let group = DispatchGroup()
        for _ in 0..<100 { DispatchQueue.global().async(group: group) {} }
        group.wait()
        try Simulation.check(runs: 10, mixture)
      }
    }
  }

  @Test("A thread that takes no part and uses the library is an escape")
  func stranger() async {
    await #expect(processExitsWith: .success) {
      let report = Simulation.explore(runs: 3) { sim in
        let queue = DispatchQueue(label: "shared")
        let done = Flag()
        startThread {
          queue.async {}
          done.raise()
        }
        while !done.isUp { sleepInReality() }
        sim.run()
      }
      guard case .escape(let message)? = report.failure?.reason else { throw Unexpected() }
      try require(message.contains("has used the library beside it"))
    }
  }

  @Test("No simulation begins while the process's queues are at work")
  func busy() async {
    await #expect(processExitsWith: .success) {
      let end = DispatchSemaphore(value: 0)
      DispatchQueue.global().async { end.wait() }
      let report = Simulation.explore(runs: 3) { _ in }
      guard case .busy? = report.failure?.reason else { throw Unexpected() }
      end.signal()
    }
  }
}
