// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport

/// J: `asyncAfter`.
func timers() -> [Operation] {
  [
    scheduled("J.random-deadlines", spread: 4000),
    scheduled("J.same-deadline", spread: 0),
    Operation("J.1us-ahead", count: .calibrated(atMost: 50_000), figures: [.time, .cpu]) {
      let queue = DispatchQueue(label: "bench.j")
      return { n, _ in
        let done = Countdown(n)
        for _ in 0..<n { queue.asyncAfter(deadline: .now() + .microseconds(1)) { done.arrive() } }
        done.wait()
      }
    },
    Operation(
      "J.lateness",
      count: .fixed(250, quick: 100),
      figures: [.reported("p50"), .reported("p99")]
    ) {
      let queue = DispatchQueue(label: "bench.j")
      return { n, meter in
        let done = Countdown(n)
        let late = Cell<UInt64>(0, count: n)
        var numbers = Numbers()
        let start = DispatchTime.now()
        for i in 0..<n {
          // One timer each 2 ms on average.
          let deadline = start + .nanoseconds(Int(numbers.next(upperBound: UInt64(n) * 2_000_000)) + 5_000_000)
          queue.asyncAfter(deadline: deadline) {
            let now = DispatchTime.now()
            precondition(now >= deadline, "a timer fired early")
            late[i] = now.uptimeNanoseconds - deadline.uptimeNanoseconds
            done.arrive()
          }
        }
        done.wait()
        meter.reportPercentiles(of: (0..<n).map { late[$0] })
        late.deallocate()
      }
    },
  ]
}

/// Schedules all timers well before the first is due, then lets them fire. `spread` is the mean distance between two
/// deadlines in nanoseconds.
private func scheduled(_ name: String, spread: UInt64) -> Operation {
  Operation(
    name,
    count: .fixed(100_000, quick: 20_000),
    figures: [.reported("schedule"), .reported("cpu-per-fired")]
  ) {
    let queue = DispatchQueue(label: "bench.j")
    return { n, meter in
      let done = Countdown(n)
      var numbers = Numbers()
      let first = DispatchTime.now() + .nanoseconds(n * 8000)
      let begin = bench_now()
      for _ in 0..<n {
        let offset = spread == 0 ? 0 : Int(numbers.next(upperBound: UInt64(n) * spread))
        queue.asyncAfter(deadline: first + .nanoseconds(offset)) { done.arrive() }
      }
      meter.report("schedule", nanoseconds: Double(bench_now() - begin) / Double(n))
      let cpu = bench_process_cpu()
      done.wait()
      meter.report("cpu-per-fired", nanoseconds: Double(bench_process_cpu() - cpu) / Double(n))
    }
  }
}
