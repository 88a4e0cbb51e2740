// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import Testing

@MainActor private var sum = 0

/// The compiler takes the body for the main actor's, as it does with one in a `@MainActor` class of tests.
@MainActor private func checkOnMainActor() throws {
  let runs = Box(0)
  try Simulation.check(runs: 5) { sim in
    runs.value += 1
    sum = 0
    // What a build with -enable-actor-data-race-checks asks at the beginning of such a body.
    MainActor.assumeIsolated { sum += 1 }
    DispatchQueue(label: "queue").async { DispatchQueue.main.async { MainActor.assumeIsolated { sum += 1 } } }
    sim.run()
    sim.expect(sum == 2, "\(sum)")
  }
  try require(runs.value == 5)
}

@Suite("Bodies on the main actor", .timeLimit(.minutes(30)))
struct MainActorBodyTests {
  @Test("The first thread of a run stands for the main actor's, in the body and in items of the main queue")
  func isolated() async {
    await #expect(processExitsWith: .success) { try await checkOnMainActor() }
  }

  @Test("No other thread of a run does")
  func others() async {
    await #expect(processExitsWith: .failure) {
      _ = Simulation.explore(runs: 1) { sim in
        DispatchQueue(label: "queue").async { MainActor.assumeIsolated {} }
        sim.run()
      }
    }
  }

  @Test("The main thread is the main actor's behind a simulation, and another thread is not")
  func behind() async {
    await #expect(processExitsWith: .success) {
      try await checkOnMainActor()
      let look: @Sendable () -> Void = { MainActor.assumeIsolated { sum = 7 } }
      await MainActor.run { look() }
      try require(await MainActor.run { sum } == 7)
    }
    await #expect(processExitsWith: .failure) {
      try await checkOnMainActor()
      let look: @Sendable () -> Void = { MainActor.assumeIsolated { sum = 7 } }
      await Task.detached { look() }.value
    }
  }
}
