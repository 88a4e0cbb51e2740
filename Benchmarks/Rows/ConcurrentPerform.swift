// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport

/// G: `concurrentPerform`, first per iteration of one large call, then per small call.
func concurrentPerforms() -> [Operation] {
  func calls(_ name: String, iterations: Int, work: UInt64 = 0) -> Operation {
    Operation(name) {
      { n, _ in
        for _ in 0..<n {
          DispatchQueue.concurrentPerform(iterations: iterations) { i in
            if work > 0 { Work.spin(nanoseconds: work) } else { bench_consume(UInt64(i)) }
          }
        }
      }
    }
  }
  return [
    Operation("G.1e6-x-1ns", count: .fixed(1_000_000, quick: 200_000)) {
      { n, _ in DispatchQueue.concurrentPerform(iterations: n) { bench_consume(UInt64($0)) } }
    },
    Operation("G.1e4-x-1us", count: .fixed(10_000, quick: 10_000)) {
      { n, _ in DispatchQueue.concurrentPerform(iterations: n) { _ in Work.spin(nanoseconds: 1000) } }
    },
    // The last iteration takes 200 us, the whole 100 ms on one processor.
    Operation("G.imbalanced", count: .fixed(1000, quick: 1000)) {
      { n, _ in DispatchQueue.concurrentPerform(iterations: n) { Work.spin(nanoseconds: UInt64($0) * 200) } }
    },
    calls("G.2-empty", iterations: 2),
    calls("G.64-empty", iterations: 64),
    calls("G.16-x-1us", iterations: 16, work: 1000),
  ]
}
