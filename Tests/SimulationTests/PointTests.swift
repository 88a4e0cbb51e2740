// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import Testing

/// A step of one item, and how another one sees whether it has been taken.
private struct Step: Sendable {
  let name: String
  let take: @Sendable (DispatchSemaphore, DispatchGroup) -> Void
  let isTaken: @Sendable (DispatchSemaphore, DispatchGroup) -> Bool
}

private func isZero(_ semaphore: DispatchSemaphore) -> Bool {
  if semaphore.wait(timeout: .now()) == .timedOut { return true }
  semaphore.signal()
  return false
}

private let steps = [
  Step(name: "signal") { semaphore, _ in
    semaphore.signal()
  } isTaken: { semaphore, _ in
    semaphore.wait(timeout: .now()) == .success
  },
  Step(name: "enter") { _, group in
    group.enter()
  } isTaken: { _, group in
    group.wait(timeout: .now()) == .timedOut
  },
]

private let stepsBack = [
  Step(name: "wait") { semaphore, _ in
    semaphore.wait()
  } isTaken: { semaphore, _ in
    isZero(semaphore)
  },
  Step(name: "wait with a time-out") { semaphore, _ in
    _ = semaphore.wait(timeout: .now() + .seconds(1))
  } isTaken: { semaphore, _ in
    isZero(semaphore)
  },
  Step(name: "leave") { _, group in
    group.leave()
  } isTaken: { _, group in
    group.wait(timeout: .now()) == .success
  },
]

@Suite("Points", .serialized, .timeLimit(.minutes(30)))
struct PointTests {
  @Test("A window that lies only before, or only behind, enter, leave, signal or an uncontended wait is found")
  func found() async {
    await #expect(processExitsWith: .success) {
      for strategy in [Simulation.Strategy.random, .pct(depth: 3), .exhaustive(preemptions: 2)] {
        for (step, isBack) in steps.map({ ($0, false) }) + stepsBack.map({ ($0, true) }) {
          for behind in [false, true] {
            let report = Simulation.explore(strategy: strategy) { sim in
              let (semaphore, group) = (DispatchSemaphore(value: 0), DispatchGroup())
              if isBack { _ = (semaphore.signal(), group.enter()) }
              let (now, isFound) = (Box(0), Box(false))
              DispatchQueue.global().async {
                now.value = 1
                step.take(semaphore, group)
                now.value = 2
              }
              DispatchQueue.global().async {
                isFound.value = step.isTaken(semaphore, group) == behind && now.value == 1
              }
              sim.advance(by: .seconds(2))
              sim.expect(!isFound.value)
              // The group is left as often as it was entered.
              if group.wait(timeout: .now()) == .timedOut { group.leave() }
            }
            guard case .expectation? = report.failure?.reason else {
              throw report.failure ?? SimulationFailureMissing(name: "\(step.name) \(behind)")
            }
          }
        }
      }
    }
  }

  @Test("A wait for a group without members is a point")
  func groupWait() async {
    await #expect(processExitsWith: .success) {
      let report = Simulation.explore(strategy: .exhaustive(preemptions: 1)) { sim in
        let (group, now, seen) = (DispatchGroup(), Box(0), Box(0))
        DispatchQueue.global().async {
          now.value = 1
          group.wait()
          now.value = 2
        }
        DispatchQueue.global().async { seen.value = now.value }
        sim.run()
        sim.expect(seen.value != 1)
      }
      try require(report.failure != nil)
    }
  }

  @Test("Groups and semaphores of a simulation count as others do")
  func counts() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check(runs: 200) { sim in
        let (semaphore, group, sum) = (DispatchSemaphore(value: 2), DispatchGroup(), Box(0))
        sim.expect(semaphore.signal() == 0)
        for _ in 0..<3 { sim.expect(semaphore.wait(timeout: .now()) == .success) }
        sim.expect(semaphore.wait(timeout: .now()) == .timedOut)
        sim.expect(semaphore.wait(timeout: .now() + .seconds(1)) == .timedOut)
        DispatchQueue.global().async { for _ in 0..<2 { semaphore.signal() } }
        semaphore.wait()
        semaphore.wait()
        for _ in 0..<2 { semaphore.signal() }
        for _ in 0..<5 {
          group.enter()
          DispatchQueue.global().async {
            sum.value += 1
            group.leave()
          }
        }
        let notified = Box(0)
        group.notify(queue: .main) { notified.value = sum.value }
        group.wait()
        sim.expect(sum.value == 5)
        sim.run()
        sim.expect(notified.value == 5)
        sim.expect(group.wait(timeout: .now()) == .success)
        group.notify(queue: .global()) { notified.value = 7 }
        sim.run()
        sim.expect(notified.value == 7)
      }
    }
  }

  @Test("Indices of a parallel loop whose body has no point come in other orders")
  func indices() async {
    await #expect(processExitsWith: .success) {
      for strategy in [Simulation.Strategy.random, .pct(depth: 3), .exhaustive(preemptions: 2)] {
        let report = Simulation.explore(runs: 200, strategy: strategy) { sim in
          let indices = Box<[Int]>([])
          DispatchQueue.concurrentPerform(iterations: 8) { indices.value.append($0) }
          sim.expect(Set(indices.value).count == 8, "an index is lost")
          sim.expect(indices.value == indices.value.sorted(), "in order")
        }
        guard case .expectation("in order")? = report.failure?.reason else {
          throw SimulationFailureMissing(name: "\(strategy): \(report)")
        }
      }
    }
  }

  @Test("What was made outside of the simulation, or is used behind it, counts as well")
  func outside() async {
    await #expect(processExitsWith: .success) {
      let (semaphore, group) = (DispatchSemaphore(value: 1), DispatchGroup())
      let inside = Box<(DispatchSemaphore, DispatchGroup)?>(nil)
      try Simulation.check(runs: 5) { sim in
        semaphore.wait()
        group.enter()
        DispatchQueue.global().async {
          semaphore.signal()
          group.leave()
        }
        group.wait()
        let made = (DispatchSemaphore(value: 1), DispatchGroup())
        made.0.wait()
        made.1.enter()
        inside.value?.0.signal()
        inside.value?.1.leave()
        inside.value = made
      }
      let made = try unwrap(inside.value)
      try require(made.0.wait(timeout: .now()) == .timedOut && made.1.wait(timeout: .now()) == .timedOut)
      made.0.signal()
      made.1.leave()
      try require(made.0.wait(timeout: .now()) == .success && made.1.wait(timeout: .now()) == .success)
      made.0.signal()
      try require(semaphore.wait(timeout: .now()) == .success)
      semaphore.signal()
    }
  }
}

private struct SimulationFailureMissing: Error {
  let name: String
}
