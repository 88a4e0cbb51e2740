// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import GrandCentralTesting
import Testing

@Suite("Virtual time of channels and tasks", .serialized, .timeLimit(.minutes(30)))
struct TaskTimeTests {
  @Test("A channel's handler comes in the rhythm of its interval")
  func interval() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check(runs: 50) { sim in
        var ends: [Int32] = [0, 0]
        sim.expect(pipe(&ends) == 0)
        let (input, output) = (ends[0], ends[1])
        let queue = DispatchQueue(label: "channel")
        let channel = DispatchIO(type: .stream, fileDescriptor: input, queue: queue) { _ in close(input) }
        channel.setLimit(lowWater: 1_000)
        channel.setInterval(interval: .seconds(60), flags: .strictInterval)
        let (came, size) = (Box<[Duration]>([]), Box(0))
        channel.read(offset: 0, length: .max, queue: queue) { isDone, data, error in
          sim.expect(error == 0)
          size.value += data?.count ?? 0
          if !isDone { came.value.append(sim.elapsed) }
        }
        for seconds in [10, 70, 80] {
          DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds)) {
            sim.expect(write(output, "abc", 3) == 3)
          }
        }
        sim.advance(by: .seconds(150))
        sim.expect(size.value == 9, "\(size.value) bytes")
        sim.expect(came.value.prefix(2) == [.seconds(60), .seconds(120)], "\(came.value)")
        close(output)
        sim.run()
        channel.close()
      }
    }
  }

  @Test("Tasks that prefer a queue take part, and sleep by the library's clocks in no time")
  func tasks() async {
    await #expect(processExitsWith: .success) {
      for strategy in [Simulation.Strategy.random, .pct(depth: 3)] {
        try Simulation.check(runs: 50, strategy: strategy) { sim in
          let queue = DispatchQueue(label: "tasks", attributes: .concurrent)
          let (slept, group) = (Box<[Duration]>([]), DispatchGroup())
          for hours in [2, 1] {
            group.enter()
            Task(executorPreference: queue) {
              try await Task.sleep(for: .seconds(hours * 3_600), clock: DispatchClock())
              slept.value.append(sim.elapsed)
              group.leave()
            }
          }
          sim.run()
          sim.expect(group.wait(timeout: .now()) == .success, "a task has not ended")
          sim.expect(slept.value == [.seconds(3_600), .seconds(7_200)], "\(slept.value)")
        }
      }
    }
  }

  @Test("A race of two tasks is found")
  func race() async {
    await #expect(processExitsWith: .success) {
      func add(_ sim: Simulation, to queue: DispatchQueue) {
        let sum = Box(0)
        for _ in 0..<2 {
          Task(executorPreference: queue) {
            let seen = sum.value
            Simulation.yield()
            sum.value = seen + 1
          }
        }
        sim.run()
        sim.expect(sum.value == 2, "an addition was lost")
      }
      let wrong = Simulation.explore { add($0, to: DispatchQueue(label: "concurrent", attributes: .concurrent)) }
      guard case .expectation? = wrong.failure?.reason else { throw Unexpected() }
      try Simulation.check(runs: 200) { add($0, to: DispatchQueue(label: "serial")) }
    }
  }
}
