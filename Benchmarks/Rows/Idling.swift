// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport

/// N: what a process does that has nothing to do. The count is the number of seconds looked at; not part of quick runs.
func idling() -> [Operation] {
  let figures: [Operation.Figure] = [.reported("wakeups"), .reported("cpu-per-second")]
  return [
    Operation("N.idle", count: .fixed(4, quick: 0), figures: figures, startsCold: true) {
      { seconds, meter in
        burst()
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(3600)) {}
        bench_sleep(4_000_000_000)
        observe(seconds, meter)
      }
    },
    Operation("N.64-blocked", count: .fixed(4, quick: 0), figures: figures, startsCold: true) {
      { seconds, meter in
        let gate = Latch()
        let done = Countdown(64)
        for index in 0..<64 {
          DispatchQueue(label: "bench.n.\(index)").async {
            gate.wait()
            done.arrive()
          }
        }
        bench_sleep(4_000_000_000)
        observe(seconds, meter)
        gate.open()
        done.wait()
      }
    },
    Operation(
      "N.threads", count: .fixed(1, quick: 0), figures: [.reported("after-1s"), .reported("after-13s")],
      startsCold: true
    ) {
      { _, meter in
        burst()
        bench_sleep(1_000_000_000)
        meter.report("after-1s", nanoseconds: Double(bench_threads()))
        bench_sleep(12_000_000_000)
        meter.report("after-13s", nanoseconds: Double(bench_threads()))
      }
    },
    Operation(
      "P.async-after-idling", count: .fixed(1, quick: 0), figures: [.reported("latency")], startsCold: true
    ) {
      { _, meter in
        burst()
        bench_sleep(7_000_000_000)
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
  ]
}

/// Enough to start the pool.
private func burst() {
  let done = Countdown(256)
  for _ in 0..<256 {
    DispatchQueue.global().async {
      Work.spin(nanoseconds: 100_000)
      done.arrive()
    }
  }
  done.wait()
}

/// Context switches and CPU time of the process per second; the one switch of the observer itself is left out.
private func observe(_ seconds: Int, _ meter: Meter) {
  let switches = bench_context_switches()
  let cpu = bench_process_cpu()
  bench_sleep(UInt64(seconds) * 1_000_000_000)
  meter.report("cpu-per-second", nanoseconds: Double(bench_process_cpu() - cpu) / Double(seconds))
  meter.report("wakeups", nanoseconds: Double(max(0, Int(bench_context_switches() - switches) - 1)) / Double(seconds))
}
