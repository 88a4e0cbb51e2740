// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import Testing

@Suite("The main queue", .serialized, .timeLimit(.minutes(30)))
struct MainQueueTests {
  @Test("Its items run in order, in run and advance, on the thread of the body")
  func order() async {
    await #expect(processExitsWith: .success) {
      for strategy in [Simulation.Strategy.random, .pct(depth: 3)] {
        try Simulation.check(runs: 200, strategy: strategy) { sim in
          let order = Box<[Int]>([])
          DispatchQueue.main.async {
            dispatchPrecondition(condition: .onQueue(.main))
            order.value.append(1)
            DispatchQueue.main.async { order.value.append(3) }
          }
          DispatchQueue.main.async { order.value.append(2) }
          sim.expect(order.value == [])
          sim.run()
          sim.expect(order.value == [1, 2, 3], "\(order.value)")
          DispatchQueue.global().async { DispatchQueue.main.sync { order.value.append(4) } }
          sim.run()
          sim.expect(order.value == [1, 2, 3, 4], "\(order.value)")
          DispatchQueue.main.asyncAfter(deadline: .now() + .seconds(5)) { order.value.append(5) }
          sim.advance(by: .seconds(4))
          sim.expect(order.value.count == 4)
          sim.advance(by: .seconds(1))
          sim.expect(order.value.count == 5)
        }
      }
    }
  }

  @Test("What is left on it at the end of the body still runs")
  func atTheEnd() async {
    await #expect(processExitsWith: .success) {
      let count = Box(0)
      try Simulation.check(runs: 50) { _ in
        DispatchQueue.global().async { DispatchQueue.main.async { count.value += 1 } }
      }
      try require(count.value == 50, "\(count.value)")
    }
  }

  @Test("A body that waits for the main queue waits for ever, and a sync onto it from the body is misuse")
  func waits() async {
    await #expect(processExitsWith: .success) {
      let stuck = Simulation.explore(runs: 1) { _ in
        let semaphore = DispatchSemaphore(value: 0)
        DispatchQueue.main.async { semaphore.signal() }
        semaphore.wait()
      }
      guard case .deadlock(["test waits for a semaphore"])? = stuck.failure?.reason else { throw Unexpected() }
      let misuse = Simulation.explore(runs: 1) { _ in DispatchQueue.main.sync {} }
      guard case .misuse(let message)? = misuse.failure?.reason else { throw Unexpected() }
      try require(message.contains("[GC0007]"), message)
      let other = Simulation.explore(runs: 1) { _ in
        let group = DispatchGroup()
        DispatchQueue(label: "worker").async(group: group) { DispatchQueue.main.sync {} }
        group.wait()
      }
      guard case .deadlock(let waits)? = other.failure?.reason else { throw Unexpected() }
      try require(
        waits.contains { $0.hasSuffix("waits for its item on the queue \"com.apple.main-thread\", which test holds") },
        "\(waits)")
    }
  }

  @Test("The process's own main queue is another one, and each run has its own")
  func process() async {
    await #expect(processExitsWith: .success) {
      let (real, former) = (DispatchQueue.main, Box<DispatchQueue?>(nil))
      try Simulation.check(runs: 5) { sim in
        DispatchQueue.main.async {}
        sim.run()
        sim.expect(DispatchQueue.main !== real && DispatchQueue.main !== former.value)
        former.value = .main
      }
      try require(DispatchQueue.main === real)
    }
  }
}
