// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport
import GrandCentral

/// X: actors pinned to serial queues; one of them called by a task that prefers a global queue; and async code that runs
/// something on a queue. The other side's file has what Swift's default executor and the toolchain's library do in its place.
func actors() -> [Operation] {
  [
    inTask("X.actor-hop", prefers: nil) { n in await Player().play(with: Player(), rounds: n / 2) },
    inTask("X.actor-call") { n in
      let player = Player()
      for _ in 0..<n { await player.add() }
    },
    inTask("X.queue-run") { n in
      let queue = DispatchQueue(label: "bench.run")
      var sum = 0
      for i in 0..<n { sum &+= await queue.run { i } }
      bench_consume(UInt64(truncatingIfNeeded: sum))
    },
  ]
}

private func inTask(
  _ name: String, prefers queue: DispatchQueue? = .global(), _ body: @escaping @Sendable (Int) async -> Void
) -> Operation {
  Operation(name, count: .calibrated(multipleOf: 2)) {
    { n, _ in
      let done = Latch()
      Task.detached(executorPreference: queue) {
        await body(n)
        done.open()
      }
      done.wait()
    }
  }
}

private actor Player {
  private let queue = DispatchSerialQueue(label: "bench.actor")
  private var count: UInt64 = 0

  nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

  func add() { count &+= 1 }

  /// From this actor to the other and back, again and again.
  func play(with other: Player, rounds: Int) async {
    for _ in 0..<rounds {
      await other.add()
      add()
    }
  }
}
