// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import Testing

@Suite("Traps of the kit", .serialized, .timeLimit(.minutes(30)))
struct TrapTests {
  @Test("V1: a simulation inside of a simulation is misuse that the schedule fails by, in the body and in an item")
  func nested() async {
    await #expect(processExitsWith: .success) {
      let inner = { @Sendable in _ = Simulation.explore(runs: 1) { _ in } }
      let bodies: [(Simulation) -> Void] = [
        { _ in inner() },
        { sim in
          DispatchQueue.global().async { inner() }
          sim.run()
        },
      ]
      for body in bodies {
        let failure = try unwrap(Simulation.explore(runs: 5, body).failure)
        guard case .misuse(let message) = failure.reason else { throw failure }
        try require(message.contains("[GC0034]") && message.contains("inside of a simulation"), message)
        try Simulation.check(runs: 5, mixture)
      }
    }
  }

  @Test("V1: a number of processors that no simulation has ends the process, which says so in release builds too")
  func processors() async throws {
    let none = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Simulation.explore(runs: 1, processors: 0) { _ in }
    }
    let line = "GrandCentral misuse [GC0035]: Simulation with 0 processors. Pass a number from 1 to 64."
    let text = String(decoding: try #require(none).standardErrorContent, as: UTF8.self)
    #expect(text.contains(line), "\(text)")
  }

  @Test("V1: a simulation of no runs, which would find nothing, ends the process")
  func runs() async throws {
    let none = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try Simulation.check(runs: 0) { $0.expect(false) }
    }
    let fewer = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Simulation.explore(runs: -4, strategy: .replay("gc1:s:2:")) { $0.expect(false) }
    }
    for (result, count) in [(none, 0), (fewer, -4)] {
      let line =
        "GrandCentral misuse [GC0037]: Simulation with \(count) runs, which would find nothing. Pass 1 or more."
      let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
      #expect(text.contains(line), "\(text)")
    }
    await #expect(processExitsWith: .success) {
      let report = try Simulation.check(runs: 0, strategy: .exhaustive(preemptions: 1)) { _ in }
      try require(report.runs == 1 && report.isComplete)
    }
  }
}
