// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralExecutors
import GrandCentralTesting
import Testing

private actor Diary {
  nonisolated let entries = Box<[String]>([])
  func add(_ entry: String) { entries.value.append(entry) }
}

@Suite("Tasks on the library's pool", .serialized, .timeLimit(.minutes(5)))
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
}
