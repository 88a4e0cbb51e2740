// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import Testing

@Suite("What is left", .serialized, .timeLimit(.minutes(30)))
struct LeftoverTests {
  @Test("Timers that have not fired, suspended queues and groups that are entered are named, in any schedule")
  func named() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check(runs: 50) { sim in
        sim.expect(sim.leftovers.isEmpty, "\(sim.leftovers)")
        let (paused, other) = (DispatchQueue(label: "paused"), DispatchQueue(label: "other"))
        let group = DispatchGroup()
        for _ in 0..<2 { paused.suspend() }
        for _ in 0..<3 { group.enter() }
        other.suspend()
        DispatchQueue.global().async {
          other.resume()
          group.leave()
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(60)) { group.leave() }
        DispatchQueue.global().async(group: group) {}
        sim.advance(by: .seconds(1))
        sim.expect(
          sim.leftovers == [
            "one timer has not fired", "the queue \"paused\" is suspended 2 times", "2 members of groups have not left",
          ], "\(sim.leftovers)")
        sim.run()
        paused.resume()
        sim.expect(
          sim.leftovers == ["the queue \"paused\" is suspended", "one member of a group has not left"],
          "\(sim.leftovers)")
        paused.resume()
        group.leave()
        sim.expect(sim.leftovers.isEmpty, "\(sim.leftovers)")
      }
    }
  }

  @Test("A queue that goes is not left")
  func gone() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check(runs: 20) { sim in
        do {
          let queue = DispatchQueue(label: "short")
          queue.suspend()
          queue.resume()
        }
        sim.run()
        sim.expect(sim.leftovers.isEmpty, "\(sim.leftovers)")
      }
    }
  }
}
