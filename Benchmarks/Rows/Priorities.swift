// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport

/// P: the first item of a process; an urgent item while background items of 1 ms keep all processors busy.
func priorities() -> [Operation] {
  [
    Operation("P.first-async", count: .fixed(1, quick: 1), figures: [.reported("latency")], startsCold: true) {
      { _, meter in
        let started = Cell<UInt64>(0)
        let done = Latch()
        let before = bench_now()
        DispatchQueue.global().async {
          started.value = bench_now()
          done.open()
        }
        done.wait()
        meter.report("latency", nanoseconds: Double(started.value - before))
        started.deallocate()
      }
    },
    Operation(
      "P.urgent-over-background",
      count: .fixed(150, quick: 40),
      figures: [.reported("p50"), .reported("p99")]
    ) {
      { n, meter in
        let urgent = DispatchQueue.global(qos: .userInteractive)
        let background = DispatchQueue.global(qos: .background)
        // Two milliseconds between the probes, and as much again for the probes themselves.
        let items = n * 4 * Processors.usable.count
        let all = Countdown(items)
        for _ in 0..<items {
          background.async {
            Work.spin(nanoseconds: 1_000_000)
            all.arrive()
          }
        }
        let started = Cell<UInt64>(0)
        let latencies = (0..<n).map { _ in
          bench_sleep(2_000_000)
          let done = Latch()
          let before = bench_now()
          urgent.async {
            started.value = bench_now()
            done.open()
          }
          done.wait()
          return started.value - before
        }
        meter.reportPercentiles(of: latencies)
        all.wait()
        started.deallocate()
      }
    },
  ]
}
