// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport

/// X: handing out queues of a pool, to one thread and to two, and submitting to them. What a side's pool is, its
/// `Pool.swift` says.
func pools() -> [Operation] {
  func handing(_ name: String, threads: Int) -> Operation {
    Operation(name, count: .calibrated(multipleOf: threads, atMost: 50_000_000)) {
      let pool = Pool(queueCount: 4)
      return { n, meter in
        if threads == 1 { return handOut(n, of: pool) }
        Crew.run(threads, pinned: true, meter: meter) { _ in handOut(n / threads, of: pool) }
      }
    }
  }
  return [
    handing("X.pool-queue", threads: 1),
    handing("X.pool-queue-2p", threads: 2),
    Operation("X.pool-queue-async") {
      let pool = Pool(queueCount: 4)
      return { n, _ in
        let done = Countdown(n)
        for _ in 0..<n { pool.next().async { done.arrive() } }
        done.wait()
      }
    },
  ]
}

@inline(never)
private func handOut(_ n: Int, of pool: Pool) {
  for _ in 0..<n {
    bench_consume(UInt64(UInt(bitPattern: Unmanaged.passUnretained(pool.next()).toOpaque())))
  }
}
