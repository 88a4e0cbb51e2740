// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import GrandCentralTesting
import Testing

@Suite("Limits", .serialized, .timeLimit(.minutes(30)))
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

  @Test("A run that does not get on is given up after its patience, and its thread stays out of the real world")
  func givenUp() async {
    await #expect(processExitsWith: .success) {
      let (goesOn, cameBy, leaked) = (Flag(), Flag(), Flag())
      let before = DispatchGroup()
      DispatchQueue.global().async(group: before) {}
      before.wait()
      let report = Simulation.explore(patience: 200_000_000) { _ in
        let queue = DispatchQueue(label: "left behind")
        while !goesOn.isUp { sleepInReality() }
        cameBy.raise()
        queue.async { leaked.raise() }
      }
      let failure = try unwrap(report.failure)
      guard case .stalled(let message) = failure.reason, message.contains("for 200 ms") else { throw failure }
      try require(report.runs == 1 && failure.switches == nil)
      // The thread goes on in its run, which nobody waits for any more.
      goesOn.raise()
      while !cameBy.isUp { sleepInReality() }
      for round in 0..<20 {
        let (group, count) = (DispatchGroup(), Box(0))
        let queue = DispatchQueue(label: "real \(round)")
        for _ in 0..<50 { queue.async(group: group) { count.value += 1 } }
        group.wait()
        try require(count.value == 50 && !leaked.isUp)
        try Simulation.check(runs: 5, mixture)
      }
      try require(!leaked.isUp)
    }
  }

  @Test("V1: of a run that is given up in a search for all orders there is no token, for it would replay another one")
  func givenUpOrder() async {
    await #expect(processExitsWith: .success) {
      let goesOn = Flag()
      let report = Simulation.explore(patience: 200_000_000, strategy: .everyOrder()) { sim in
        DispatchQueue(label: "left behind").async { while !goesOn.isUp { sleepInReality() } }
        sim.run()
      }
      let failure = try unwrap(report.failure)
      guard case .stalled = failure.reason else { throw failure }
      try require(failure.token.isEmpty && !failure.description.contains("Replay it"), failure.description)
      // The token of a schedule by chance is known before the run.
      let random = Simulation.explore(patience: 200_000_000) { _ in while !goesOn.isUp { sleepInReality() } }
      try require(random.failure?.token.hasPrefix("gc1:r:") == true)
      goesOn.raise()
    }
  }

  @Test("Deadlocks have names, however many threads failed runs have left behind")
  func names() async {
    await #expect(processExitsWith: .success) {
      GrandCentralRuntime.threadBudget = 160
      // More threads than the region has room for.
      for round in 0..<9 {
        let report = Simulation.explore(strategy: .replay("gc1:s:2:")) { sim in
          let never = DispatchSemaphore(value: 0)
          for number in 0..<150 { DispatchQueue(label: "queue \(number)").async { never.wait() } }
          sim.run()
        }
        guard case .deadlock(let waits)? = report.failure?.reason else {
          throw report.failure ?? Unexpected() as any Error
        }
        let named = waits.count { $0.contains(", inside an item of \"queue ") && $0.contains("waits for a semaphore") }
        try require(waits.count == 150 && named == 150, "round \(round): \(named) of \(waits.count)")
      }
    }
  }

  @Test("V1: where the kernel makes no thread at all, that is the failure, and later runs have theirs")
  func noThread() async {
    await #expect(processExitsWith: .success) {
      // The limit is not one of root's.
      if geteuid() == 0, setuid(65_534) != 0 { return tell("cannot become nobody") }
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &limit)
      var none = limit
      none.rlim_cur = 0
      setrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &none)
      let reports = (0..<2).map { _ in Simulation.explore(runs: 5) { _ in } }
      setrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &limit)
      for report in reports {
        let failure = try unwrap(report.failure)
        guard case .noThread = failure.reason, report.runs == 1 else { throw failure }
        try require(failure.description.contains("there is no thread for the simulation"), failure.description)
      }
      try Simulation.check(runs: 5, mixture)
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
