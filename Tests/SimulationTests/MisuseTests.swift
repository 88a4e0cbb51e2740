// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import Testing

/// The message of a misuse, which must be found.
private func misuse(_ body: @escaping (Simulation) -> Void) throws -> String {
  let failure = try unwrap(Simulation.explore(body).failure)
  guard case .misuse(let message) = failure.reason else { throw failure }
  try require(failure.description.contains(message) && failure.description.contains(".replay(\"" + failure.token))
  let again = try unwrap(Simulation.explore(strategy: .replay(failure.token), body).failure)
  guard case .misuse(message) = again.reason else { throw again }
  try require(again.timeline == failure.timeline)
  return message
}

@Suite("Misuse", .serialized, .timeLimit(.minutes(30)))
struct MisuseTests {
  @Test("Misuse is an error with a token and a timeline, and the process goes on")
  func errors() async {
    await #expect(processExitsWith: .success) {
      try require(try misuse { _ in DispatchQueue(label: "q").resume() }.contains("[GC0001]"))
      try require(try misuse { _ in DispatchQueue(label: "q").suspend() }.contains("[GC0002]"))
      try require(try misuse { _ in DispatchGroup().leave() }.contains("[GC0004]"))
      try require(try misuse { _ in DispatchGroup().enter() }.contains("[GC0005]"))
      try require(try misuse { _ in DispatchSemaphore(value: 1).wait() }.contains("[GC0006]"))
      let own = try misuse { sim in
        let queue = DispatchQueue(label: "own")
        queue.async { queue.sync {} }
        sim.run()
      }
      try require(own.contains("[GC0007]") && own.contains("\"own\""), own)
      let cycle = try misuse { _ in
        let first = DispatchQueue(label: "first")
        first.setTarget(queue: DispatchQueue(label: "second", target: first))
      }
      try require(cycle.contains("[GC0009]"), cycle)
      // What they have left behind does no harm.
      try Simulation.check(runs: 20, mixture)
      try require(DispatchQueue(label: "real").sync { 7 } == 7)
    }
  }

  @Test("Misuse that few schedules have is found, and shrunk")
  func race() async {
    await #expect(processExitsWith: .success) {
      func leaveTwice(_ sim: Simulation, repaired: Bool) {
        let (group, isDone) = (DispatchGroup(), Box(false))
        let guardian = DispatchQueue(label: "guardian")
        group.enter()
        for _ in 0..<2 {
          let leave: @Sendable () -> Void = {
            if isDone.value { return }
            Simulation.yield()
            isDone.value = true
            group.leave()
          }
          DispatchQueue.global().async { repaired ? guardian.sync(execute: leave) : leave() }
        }
        sim.run()
      }
      let failure = try unwrap(Simulation.explore(strategy: .pct(depth: 3)) { leaveTwice($0, repaired: false) }.failure)
      guard case .misuse(let message) = failure.reason, message.contains("[GC0004]") else { throw failure }
      try require(failure.switches == 1, failure.description)
      try Simulation.check(strategy: .exhaustive(preemptions: 2)) { leaveTwice($0, repaired: true) }
    }
  }

  @Test("A process that a run brings down says the token at its end")
  func trap() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try Simulation.check(strategy: .exhaustive(preemptions: 2)) { sim in
        let value = Box(1)
        DispatchQueue.global().async {
          value.value = 0
          Simulation.yield()
          value.value = 1
        }
        DispatchQueue.global().async { precondition(value.value == 1, "seen between") }
        sim.run()
      }
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains("simulation: the process ends in a run. Replay it by .replay(\"gc1:s:2:1."), "\(text)")
  }

  /// Until the stack has no room.
  @inline(never)
  private static func sink(_ depth: Int) -> [Int] { depth < 0 ? [] : sink(depth + 1) + [depth] }

  @Test("V1: a stack that overflows says the token, in an item and in the body")
  func overflow() async throws {
    let inItem = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try Simulation.check(runs: 1) { sim in
        DispatchQueue.global().async { _ = Self.sink(0) }
        sim.run()
      }
    }
    let inBody = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try Simulation.check(runs: 1) { _ in _ = Self.sink(0) }
    }
    for result in [inItem, inBody] {
      let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
      #expect(text.contains("simulation: the process ends in a run. Replay it by .replay(\"gc1:"), "\(text)")
    }
  }

  @Test("Outside of a run the signal is as before")
  func outside() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try Simulation.check(runs: 3) { _ in }
      DispatchGroup().leave()
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains("[GC0004]") && !text.contains("simulation:"), "\(text)")
  }
}
