// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralExecutors
import GrandCentralTesting
import Testing

private actor Diary {
  nonisolated let entries = Box<[String]>([])
  func add(_ entry: String) { entries.value.append(entry) }
}

@Suite("Tasks on the library's pool, and on Swift's own", .serialized, .timeLimit(.minutes(30)))
struct ExecutorTests {
  @Test("V1: a search for all orders says that it does not know those of tasks on the library's pool")
  func orders() async {
    await #expect(processExitsWith: .success) {
      try require(DispatchExecutors.install())
      func write(_ sim: Simulation) -> String {
        let diary = Diary()
        Task.detached { await diary.add("first ") }
        Task.detached { await diary.add("second ") }
        sim.run()
        return diary.entries.value.joined()
      }
      let seen = Box<Set<String>>([])
      for _ in 0..<2 { _ = Simulation.explore(strategy: .random, seed: 7) { seen.value.insert(write($0)) } }
      try require(seen.value == ["first second ", "second first "], "\(seen.value)")
      let report = Simulation.explore(strategy: .everyOrder()) { _ = write($0) }
      try require(report.failure == nil && !report.isComplete, "\(report.runs) runs")
      try require(report.gaps == ["tasks of Swift run"], "\(report.gaps)")
    }
  }

  @Test("V1: a failure says that a task of the run is on Swift's own executor, and what helps")
  func plainTask() async {
    await #expect(processExitsWith: .success) {
      let report = Simulation.explore(runs: 1) { _ in
        let never = DispatchSemaphore(value: 0)
        Task {}
        never.wait()
      }
      let failure = try unwrap(report.failure)
      guard case .deadlock(let waits) = failure.reason else { throw failure }
      try require(waits == ["test waits for a semaphore"], "\(waits)")
      let hint = "A task of the run is on Swift's own executor, where it takes no part: "
      try require(failure.description.contains("\n" + hint), failure.description)
      // Not where no task is, nor where a task takes part.
      let queue = DispatchQueue(label: "tasks")
      let other = Simulation.explore(runs: 1) { sim in
        Task(executorPreference: queue) {}
        sim.run()
        DispatchSemaphore(value: 0).wait()
      }
      try require(!(try unwrap(other.failure)).description.contains(hint))
      try require(DispatchExecutors.install())
      let installed = Simulation.explore(runs: 1) { sim in
        Task {}
        sim.run()
        DispatchSemaphore(value: 0).wait()
      }
      try require(!(try unwrap(installed.failure)).description.contains(hint))
    }
  }

  @Test("V1: a search is not complete where a task of the run is on Swift's own executor, and says so")
  func unproven() async {
    await #expect(processExitsWith: .success) {
      let gap = "a task is on Swift's own executor, where it takes no part"
      let body: @Sendable (Simulation) -> Void = { sim in
        Task {}
        DispatchQueue.global().async {}
        sim.run()
      }
      let strategies: [Simulation.Strategy] = [.exhaustive(preemptions: 1), .everyOrder()]
      for strategy in strategies {
        let report = Simulation.explore(strategy: strategy, body)
        try require(report.failure == nil && !report.isComplete && report.gaps.contains(gap), "\(report.gaps)")
        do {
          try Simulation.check(strategy: strategy, body)
          throw Unexpected()
        } catch let failure as SimulationFailure {
          guard case .incomplete(_, let gaps) = failure.reason, gaps.contains(gap) else { throw failure }
        }
      }
      // Other strategies search for nothing.
      try require(Simulation.explore(runs: 2, body).gaps.isEmpty)
    }
  }
}
