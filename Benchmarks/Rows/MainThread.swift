// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport

/// E: the main queue. Each sample runs beside a main thread that is in `dispatchMain()`.
func mainThread() -> [Operation] {
  [
    Operation(
      "E.main-and-serial", count: .fixed(200_000, quick: 20_000), figures: [.reported("per-hop")],
      parkMain: { dispatchMain() }
    ) {
      { n, meter in
        let serial = DispatchQueue(label: "bench.e")
        let done = Latch()
        let left = Cell(n)
        @Sendable func hop() {
          if left.value == 0 { return done.open() }
          left.value -= 1
          (left.value % 2 == 0 ? serial : DispatchQueue.main).async { hop() }
        }
        let begin = bench_now()
        serial.async { hop() }
        done.wait()
        meter.report("per-hop", nanoseconds: Double(bench_now() - begin) / Double(n))
        left.deallocate()
      }
    },
    Operation(
      "E.async-onto-main", count: .fixed(1_000_000, quick: 100_000), figures: [.reported("per-item")],
      parkMain: { dispatchMain() }
    ) {
      { n, meter in
        let done = Latch()
        let begin = bench_now()
        for _ in 1..<n { DispatchQueue.main.async {} }
        DispatchQueue.main.async { done.open() }
        done.wait()
        meter.report("per-item", nanoseconds: Double(bench_now() - begin) / Double(n))
      }
    },
  ]
}
