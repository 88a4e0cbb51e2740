// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import Testing

/// Says which queues of a pool two items and the body have got, and in which order.
private func choices(_ sim: Simulation, _ pool: DispatchQueuePool) -> String {
  let (log, seen) = (DispatchQueue(label: "log"), Letters(""))
  let queues = pool.queues
  for name in ["a", "b"] {
    DispatchQueue.global().async {
      for _ in 0..<2 {
        let (next, least) = (pool.queue, pool.leastLoaded)
        least.async {}
        let chosen = [next, least].compactMap { one in queues.firstIndex { $0 === one } }
        log.sync { seen.value += "\(name)\(chosen) " }
      }
    }
  }
  pool.queue.async {}
  sim.run()
  return seen.value
}

@Suite("Pools of queues", .serialized, .timeLimit(.minutes(30)))
struct QueuePoolTests {
  @Test("A seed has the same choices again, whatever ran before, also of a pool that all runs share")
  func replays() async {
    await #expect(processExitsWith: .success) {
      let shared = DispatchQueuePool(name: "shared", queueCount: 5)
      for isShared in [false, true] {
        let runs = Box<[String]>([])
        let explore = { (runs: Box<[String]>, seed: UInt64) in
          let report = Simulation.explore(runs: 20, strategy: .random, processors: 3, seed: seed) {
            runs.value.append(choices($0, isShared ? shared : DispatchQueuePool(name: "own", queueCount: 5)))
          }
          try require(report.failure == nil)
        }
        try explore(runs, 7)
        let others = Box<[String]>([])
        for seed: UInt64 in 1...5 { try explore(others, seed) }
        let again = Box<[String]>([])
        try explore(again, 7)
        try require(runs.value == again.value && Set(runs.value).count > 1, "\(isShared): \(runs.value) \(again.value)")
      }
    }
  }
}
