// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport
import Dispatch

/// X: actors on Swift's default executor; and async code that runs something on a queue, with a continuation.
func actors() -> [Operation] {
  [
    inTask("X.actor-hop") { n in await Player().play(with: Player(), rounds: n / 2) },
    inTask("X.actor-call") { n in
      let player = Player()
      for _ in 0..<n { await player.add() }
    },
    inTask("X.queue-run") { n in
      let queue = DispatchQueue(label: "bench.run")
      var sum = 0
      for i in 0..<n {
        sum &+= await withUnsafeContinuation { continuation in queue.async { continuation.resume(returning: i) } }
      }
      bench_consume(UInt64(truncatingIfNeeded: sum))
    },
  ]
}

private func inTask(_ name: String, _ body: @escaping @Sendable (Int) async -> Void) -> Operation {
  Operation(name, count: .calibrated(multipleOf: 2)) {
    { n, _ in
      let done = Latch()
      Task.detached {
        await body(n)
        done.open()
      }
      done.wait()
    }
  }
}

private actor Player {
  private var count: UInt64 = 0

  func add() { count &+= 1 }

  /// From this actor to the other and back, again and again.
  func play(with other: Player, rounds: Int) async {
    for _ in 0..<rounds {
      await other.add()
      add()
    }
  }
}
