// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport

/// L: items that block, and the items behind them.
func blockedThreads() -> [Operation] {
  [
    sleepers("L.64-sleeps-global") { Array(repeating: DispatchQueue.global(), count: $0) },
    sleepers("L.64-sleeps-private") {
      Array(repeating: DispatchQueue(label: "bench.l", attributes: .concurrent), count: $0)
    },
    sleepers("L.64-sleeps-64-queues") { (0..<$0).map { DispatchQueue(label: "bench.l.\($0)") } },
    Operation(
      "L.63-wait-for-the-64th",
      count: .fixed(64, quick: 64),
      figures: [.reported("all-done")],
      startsCold: true,
      slowOnTheirSide: true
    ) {
      { n, meter in
        let begin = bench_now()
        let queue = DispatchQueue.global()
        let semaphore = DispatchSemaphore(value: 0)
        let done = Countdown(n)
        for i in 1...n {
          queue.async {
            if i < n {
              semaphore.wait()
            } else {
              for _ in 1..<n { semaphore.signal() }
            }
            done.arrive()
          }
        }
        done.wait()
        meter.report("all-done", nanoseconds: Double(bench_now() - begin))
      }
    },
    Operation(
      "L.64-reads-of-a-pipe",
      count: .fixed(64, quick: 64),
      figures: [.reported("all-running")],
      startsCold: true,
      slowOnTheirSide: true
    ) {
      { n, meter in
        let pipe = bench_pipe()
        let (running, done) = (Countdown(n), Countdown(n))
        let begin = bench_now()
        for _ in 0..<n {
          DispatchQueue.global().async {
            running.arrive()
            bench_read_byte(pipe.reader)
            done.arrive()
          }
        }
        running.wait()
        meter.report("all-running", nanoseconds: Double(bench_now() - begin))
        bench_write_bytes(pipe.writer, n)
        done.wait()
      }
    },
    Operation(
      "L.64-sync-into-a-busy-queue",
      count: .fixed(64, quick: 64),
      figures: [.reported("all-done")],
      startsCold: true
    ) {
      { n, meter in
        let serial = DispatchQueue(label: "bench.l")
        let (busy, done) = (Latch(), Countdown(n))
        let begin = bench_now()
        serial.async {
          busy.open()
          bench_sleep(50_000_000)
        }
        busy.wait()
        for _ in 0..<n {
          DispatchQueue.global().async {
            serial.sync {}
            done.arrive()
          }
        }
        done.wait()
        meter.report("all-done", nanoseconds: Double(bench_now() - begin))
      }
    },
  ]
}

/// Items that each sleep for 100 ms: when has the last started, when are all done?
private func sleepers(_ name: String, _ makeQueues: @escaping (Int) -> [DispatchQueue]) -> Operation {
  Operation(
    name,
    count: .fixed(64, quick: 64),
    figures: [.reported("all-started"), .reported("all-done")],
    startsCold: true
  ) {
    { n, meter in
      let queues = makeQueues(n)
      let started = Cell<UInt64>(0, count: n)
      let done = Countdown(n)
      let begin = bench_now()
      for (i, queue) in queues.enumerated() {
        queue.async {
          started[i] = bench_now() - begin
          bench_sleep(100_000_000)
          done.arrive()
        }
      }
      done.wait()
      meter.report("all-started", nanoseconds: Double((0..<n).map { started[$0] }.max()!))
      meter.report("all-done", nanoseconds: Double(bench_now() - begin))
      started.deallocate()
    }
  }
}
