// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport

/// What pending items and idle queues take up: resident memory of the process before and after.
func memory() -> [Operation] {
  [
    Operation(
      "A.pending-async", count: .fixed(1_000_000, quick: 200_000), figures: [.reported("bytes")], startsCold: true
    ) {
      { n, meter in
        let queue = DispatchQueue(label: "bench.a")
        queue.suspend()
        queue.async {}
        let before = bench_resident_bytes()
        for _ in 0..<n { queue.async {} }
        meter.report("bytes", nanoseconds: Double(bench_resident_bytes() - before) / Double(n))
        queue.resume()
        queue.sync {}
      }
    },
    Operation(
      "I.live-queues",
      count: .fixed(1_000_000, quick: 200_000),
      figures: [.reported("bytes"), .reported("create"), .reported("destroy")],
      startsCold: true
    ) {
      { n, meter in
        var queues: [DispatchQueue] = []
        queues.reserveCapacity(n)
        // The array's own pages are not the queues'.
        let filler = DispatchQueue(label: "bench.i")
        for _ in 0..<n { queues.append(filler) }
        queues.removeAll(keepingCapacity: true)
        let before = bench_resident_bytes()
        var begin = bench_now()
        for _ in 0..<n { queues.append(DispatchQueue(label: "bench.i")) }
        meter.report("create", nanoseconds: Double(bench_now() - begin) / Double(n))
        meter.report("bytes", nanoseconds: Double(bench_resident_bytes() - before) / Double(n))
        begin = bench_now()
        queues.removeAll(keepingCapacity: true)
        meter.report("destroy", nanoseconds: Double(bench_now() - begin) / Double(n))
      }
    },
  ]
}
