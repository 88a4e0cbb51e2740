// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import GrandCentralTesting
import Testing

/// What has come out, of all schedules of a search.
private struct Outcomes {
  let report: Simulation.Report
  var classes: Set<UInt64> = []
  var redundant = 0
  let seen: Set<String>
  var text: String { "\(report.runs) schedules, \(seen.sorted())" }

  /// Every order, with the dependent operations that are told.
  init(_ program: OrderProgram, _ dependence: Dependence = Dependence()) {
    let seen = Box<Set<String>>([])
    (report, redundant, classes) = Simulation.explore(orders: dependence) { seen.value.insert(program.run($0)) }
    self.seen = seen.value
  }

  init(
    _ program: OrderProgram, by strategy: Simulation.Strategy, runs: Int = 1, processors: Int
  ) {
    let seen = Box<Set<String>>([])
    report = Simulation.explore(runs: runs, strategy: strategy, processors: processors, seed: 1) {
      seen.value.insert(program.run($0))
    }
    self.seen = seen.value
  }
}

@Suite("All orders", .serialized, .timeLimit(.minutes(30)))
struct OrderTests {
  @Test(
    "The outcomes are those of all schedules with some interruptions, and of schedules by chance; in fewer schedules")
  func outcomes() async {
    await #expect(processExitsWith: .success) {
      var (few, many) = (0, 0)
      for program in OrderProgram.all {
        let orders = Outcomes(program)
        let chance = Outcomes(program, by: .random, runs: isThorough ? 2_000 : 100, processors: 4)
        try require(
          orders.report.isComplete,
          "\(program.name): \(orders.report.gaps) " + (orders.report.failure?.description ?? "")
        )
        try require(orders.seen.isSuperset(of: chance.seen), "\(program.name): \(orders.text); \(chance.text)")
        // Without optimisation the other search takes long.
        if !isThorough { continue }
        let all = Outcomes(program, by: .exhaustive(preemptions: program.preemptions), processors: 4)
        tell("\(program.name): \(orders.text); \(all.text); by chance \(chance.text)")
        try require(all.report.isComplete, program.name)
        let isFiner = OrderProgram.finer.contains { $0.name == program.name }
        let others = all.seen.union(chance.seen)
        try require(
          isFiner ? orders.seen.isSuperset(of: others) : orders.seen == others,
          "\(program.name): \(orders.text); \(all.text)")
        few += orders.report.runs
        many += all.report.runs
      }
      tell("\(few) schedules in place of \(many)")
      try require(!isThorough || few * 4 < many, "\(few) of \(many)")
    }
  }

  @Test("Each pair of dependent operations is needed: without it there are outcomes that are not found")
  func mutants() async {
    await #expect(processExitsWith: .success) {
      for pair in Dependence.pairs {
        let programs = OrderProgram.all.filter { $0.needs.map { $0 == pair } ?? false }
        try require(!programs.isEmpty, "\(pair)")
        for program in programs {
          let (orders, fewer) = (Outcomes(program), Outcomes(program, Dependence(without: pair)))
          try require(fewer.seen.isStrictSubset(of: orders.seen), "\(pair): \(orders.text); \(fewer.text)")
        }
      }
    }
  }

  @Test("Each class is run once, and those of all interleavings of steps are the same ones")
  func classes() async {
    await #expect(processExitsWith: .success) {
      var every = Dependence()
      var checked = 0
      for program in OrderProgram.all {
        // Memory is touched at the end of a step as well.
        every.extent = OrderProgram.memory.contains { $0.name == program.name } ? .steps : .operations
        let (orders, all) = (Outcomes(program), Outcomes(program, every))
        tell(
          "\(program.name): \(orders.report.runs) schedules, \(orders.redundant) redundant, \(orders.classes.count) classes; of all \(all.report.runs) interleavings, complete: \(all.report.isComplete), \(all.classes.count)"
        )
        if every.extent == .operations {
          try require(orders.classes.count + orders.redundant == orders.report.runs, program.name)
        }
        if !all.report.isComplete { continue }
        checked += 1
        try require(all.classes == orders.classes && all.seen == orders.seen, program.name + " \(all.seen)")
      }
      try require(checked > 10, "\(checked)")
    }
  }

  @Test("Three philosophers on queues: a dozen orders, among them the deadlock")
  func philosophers() async {
    await #expect(processExitsWith: .success) {
      let pattern = try unwrap(Pattern.all.first { $0.name.hasPrefix("three queues") })
      let repaired = try Simulation.check(strategy: .everyOrder()) { pattern.run($0, true) }
      try require(repaired.isComplete && repaired.runs <= 12, "\(repaired.runs)")
      let wrong = Simulation.explore(strategy: .everyOrder()) { pattern.run($0, false) }
      guard case .deadlock(let waits)? = wrong.failure?.reason, waits.count == 3 else { throw Unexpected() }
    }
  }

  @Test("The known bugs are found, their schedules replayed, and their mends proven")
  func patterns() async {
    await #expect(processExitsWith: .success) {
      for pattern in Pattern.all {
        // Their races are in memory alone, and nothing yields there.
        let isUnseen = ["order:", "a group whose member"].contains { pattern.name.hasPrefix($0) }
        let wrong = Simulation.explore(strategy: .everyOrder()) { pattern.run($0, false) }
        try require((wrong.failure == nil) == isUnseen, pattern.name)
        if let failure = wrong.failure {
          let again = Simulation.explore(strategy: .replay(failure.token)) { pattern.run($0, false) }
          try require(again.failure?.timeline == failure.timeline, pattern.name)
        }
        // These have many thousand orders; and of a parallel loop not all are known.
        let isLong = ["three philosophers", "group: entered", "parallel loop"].contains { pattern.name.hasPrefix($0) }
        if isLong { continue }
        let repaired = Simulation.explore(strategy: .everyOrder()) { pattern.run($0, true) }
        tell("\(pattern.name): the mend has \(repaired.runs) schedules")
        try require(
          repaired.isComplete && repaired.failure == nil,
          "\(pattern.name): \(repaired.runs) \(repaired.failure?.description ?? "")")
      }
    }
  }

  @Test("The order of two calls of a once is seen, and so is a deadlock of a once and a queue")
  func onces() async {
    await #expect(processExitsWith: .success) {
      let crossed: @Sendable (Simulation) -> Void = { sim in
        let (once, queue) = (DispatchOnce(), DispatchQueue(label: "queue"))
        queue.async { once.run {} }
        once.run { queue.sync {} }
        sim.run()
      }
      let failure = try unwrap(Simulation.explore(strategy: .everyOrder(), crossed).failure)
      guard case .deadlock(let waits) = failure.reason else { throw Unexpected() }
      try require(waits.contains { $0.contains("waits for the body of a once") }, "\(waits)")
      let again = Simulation.explore(strategy: .replay(failure.token), crossed)
      guard case .deadlock? = again.failure?.reason else { throw Unexpected() }
      let first = Simulation.explore(strategy: .everyOrder()) { sim in
        let (once, first) = (DispatchOnce(), Letters(""))
        DispatchQueue.global().async { once.run { first.value = "an item's" } }
        once.run { first.value = "the body's" }
        sim.run()
        sim.expect(first.value == "the body's", first.value)
      }
      guard case .expectation("an item's")? = first.failure?.reason else { throw Unexpected() }
    }
  }

  @Test("A pool's choice of a queue is no operation, and is told as a gap; the queue of a key is none")
  func pools() async {
    await #expect(processExitsWith: .success) {
      let bodies: [@Sendable (DispatchQueuePool) -> Void] = [
        { $0.leastLoaded.async {} }, { $0.queue.async {} }, { _ = $0.statistics },
      ]
      for (index, body) in bodies.enumerated() {
        let report = Simulation.explore(strategy: .everyOrder()) { sim in
          let pool = DispatchQueuePool(name: "pool", queueCount: 2)
          DispatchQueue.global().async { body(pool) }
          sim.run()
        }
        try require(
          report.failure == nil && !report.isComplete && report.gaps.contains { $0.contains("DispatchQueuePool") },
          "\(index): \(report.gaps)")
      }
      let keys = try Simulation.check(strategy: .everyOrder()) { sim in
        let pool = DispatchQueuePool(name: "pool", queueCount: 2)
        for key in 0..<2 { DispatchQueue.global().async { pool.queue(forKey: key).async {} } }
        sim.run()
      }
      try require(keys.isComplete && keys.gaps.isEmpty)
    }
  }

  @Test("What it does not know all orders of is not complete, and check throws")
  func incomplete() async {
    await #expect(processExitsWith: .success) {
      let bodies: [(Simulation) -> Void] = [
        { _ in DispatchQueue.concurrentPerform(iterations: 4) { _ in } },
        { sim in
          let queue = DispatchQueue(label: "queue")
          queue.async {}
          queue.suspend()
          queue.resume()
          sim.run()
        },
        { sim in
          DispatchWorkloop(label: "loop").async {}
          sim.run()
        },
        { sim in
          let upper = DispatchQueue(label: "upper", target: DispatchWorkloop(label: "loop"))
          upper.sync {}
        },
        { sim in
          let lower = DispatchQueue(label: "lower")
          DispatchQueue(label: "upper", attributes: .initiallyInactive, target: lower).activate()
        },
        { sim in DispatchQueue(label: "upper", target: DispatchQueue(label: "lower")).asyncAndWait {} },
        { sim in
          let work = Box<DispatchWorkItem?>(DispatchWorkItem {})
          work.value?.notify(queue: .global()) {}
          work.value = nil
          sim.run()
        },
        { sim in
          let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO)
          source.activate()
          source.cancel()
          sim.run()
        },
        { sim in
          Task(executorPreference: DispatchQueue(label: "tasks")) {}
          sim.run()
        },
        // More items than processors: all of them wait for their turn.
        { sim in
          for _ in 0..<20 { DispatchQueue.global().async { Simulation.yield() } }
          sim.run()
        },
      ]
      for (index, body) in bodies.enumerated() {
        let report = Simulation.explore(strategy: .everyOrder(atMost: 50), body)
        try require(!report.isComplete && report.failure == nil, "\(index)")
        do {
          try Simulation.check(strategy: .everyOrder(atMost: 50), body)
          throw Unexpected()
        } catch let failure as SimulationFailure {
          guard case .incomplete = failure.reason else { throw failure }
        }
      }
    }
  }
}
