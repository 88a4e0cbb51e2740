// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralExecutors
import GrandCentralTesting
import Testing

@Suite("Virtual time of Swift's clocks", .serialized, .timeLimit(.minutes(30)))
struct TaskClockTests {
  @Test("V2: a sleep by Swift's clocks lasts what it says, to the nanosecond")
  func exact() async {
    await #expect(processExitsWith: .success) {
      try require(DispatchExecutors.install())
      let durations: [Duration] = [
        .zero, .nanoseconds(1), .microseconds(100), .milliseconds(1_234), .nanoseconds(59_999_999_999), .seconds(200),
      ]
      try Simulation.check(runs: 50) { sim in
        let slept = Box<[Duration: [Duration]]>([:])
        for duration in durations {
          Task.detached {
            let start = sim.elapsed
            try await Task.sleep(for: duration)
            let middle = sim.elapsed
            try await Task.sleep(for: duration, clock: SuspendingClock())
            slept.value[duration] = [middle - start, sim.elapsed - middle]
          }
        }
        sim.run()
        for duration in durations {
          sim.expect(slept.value[duration] == [duration, duration], "\(duration): \(slept.value[duration] ?? [])")
        }
        sim.expect(sim.elapsed == .seconds(400), "\(sim.elapsed)")
      }
    }
  }

  @Test("V2: Swift's clocks go with the run's time: a rhythm of instants, and a measurement")
  func instants() async {
    await #expect(processExitsWith: .success) {
      try require(DispatchExecutors.install())
      let before = ContinuousClock.now
      try Simulation.check(runs: 20) { sim in
        let came = Box<[Duration]>([])
        Task.detached {
          let start = ContinuousClock.now
          for minute in 1...3 {
            try await Task.sleep(until: start + .seconds(60 * minute), clock: .continuous)
            came.value.append(sim.elapsed)
          }
          came.value.append(try await SuspendingClock().measure { try await Task.sleep(for: .seconds(5)) })
        }
        sim.run()
        sim.expect(came.value == [.seconds(60), .seconds(120), .seconds(180), .seconds(5)], "\(came.value)")
      }
      // Outside of a run they are the kernel's.
      let passed = ContinuousClock.now - before
      try require(passed > .zero && passed < .seconds(300), "\(passed)")
    }
  }

  @Test("V1: the same seed gives the same run with sleeps by Swift's clocks, and a token the same failure")
  func deterministic() async {
    await #expect(processExitsWith: .success) {
      try require(DispatchExecutors.install())
      func doze(_ sim: Simulation) {
        for seconds in [200, 200, 100] {
          Task.detached { try await Task.sleep(for: .seconds(seconds)) }
        }
        sim.run()
      }
      let hashes = Set((0..<4).map { _ in Simulation.explore(runs: 30, seed: 3, doze).hash })
      try require(hashes.count == 1, "\(hashes)")
      func late(_ sim: Simulation) {
        doze(sim)
        sim.expect(false, "\(sim.elapsed)")
      }
      let failure = try unwrap(Simulation.explore(late).failure)
      let again = try unwrap(Simulation.explore(strategy: .replay(failure.token), late).failure)
      try require(failure.timeline == again.timeline)
      guard case .expectation("200.0 seconds") = again.reason else { throw again }
    }
  }

  @Test("V2: where Swift's clocks stay real, the rest of a sleep is rounded up to whole milliseconds")
  func rounding() {
    for (rest, delay) in [(0, 0), (1, 1_000_000), (1_000_000, 1_000_000), (199_999_998_928, 200_000_000_000)]
      as [(UInt64, UInt64)]
    {
      #expect(ConcurrencyPool.wholeMilliseconds(rest) == delay)
    }
    #expect(ConcurrencyPool.wholeMilliseconds(.max) == .max)
  }
}
