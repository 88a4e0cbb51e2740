// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport

/// Waits until everything submitted so far has run.
private func drain(_ queue: DispatchQueue) {
  let done = Latch()
  queue.async { done.open() }
  done.wait()
}

/// An operation that submits n items to a serial queue and waits for the last.
private func endToEnd(_ name: String, submit: @escaping (DispatchQueue, Int) -> Void) -> Operation {
  Operation(name) {
    let queue = DispatchQueue(label: "bench.a")
    return { n, _ in
      submit(queue, n)
      drain(queue)
    }
  }
}

/// A: empty items, from submission until the last has run.
func serialAsync() -> [Operation] {
  [
    endToEnd("A.serial-async-1p") { queue, n in
      for _ in 0..<n { queue.async {} }
    },
    Operation("A.enqueue-only") {
      let queue = DispatchQueue(label: "bench.a")
      return { n, meter in
        queue.suspend()
        meter.start()
        for _ in 0..<n { queue.async {} }
        meter.stop()
        queue.resume()
        drain(queue)
      }
    },
    Operation("A.drain-only") {
      let queue = DispatchQueue(label: "bench.a")
      return { n, meter in
        let done = Latch()
        queue.suspend()
        for _ in 0..<n { queue.async {} }
        queue.async { done.open() }
        meter.start()
        queue.resume()
        done.wait()
        meter.stop()
      }
    },
    producers("A.2p-1-queue", queues: 1),
    producers("A.2p-2-queues", queues: 2),
  ]
}

private func producers(_ name: String, queues count: Int) -> Operation {
  Operation(name, count: .calibrated(multipleOf: 2)) {
    let queues = (0..<count).map { DispatchQueue(label: "bench.a.\($0)") }
    return { n, meter in
      Crew.run(2, pinned: false, meter: meter) { index in
        let queue = queues[index % count]
        for _ in 0..<n / 2 { queue.async {} }
      }
      for queue in queues { drain(queue) }
    }
  }
}

/// A: what a program does besides empty items from one thread.
func serialAsyncVariants() -> [Operation] {
  [
    endToEnd("A.capture-3-words") { queue, n in
      let end = UInt64(n)
      for i in 0..<end {
        let next = i &+ 1
        queue.async { bench_consume(i &+ next &+ end) }
      }
    },
    endToEnd("A.from-the-queue") { queue, n in
      queue.sync {
        for _ in 0..<n { queue.async {} }
      }
    },
    endToEnd("A.async-qos") { queue, n in
      for _ in 0..<n { queue.async(qos: .userInitiated) {} }
    },
    endToEnd("A.async-work-item") { queue, n in
      for _ in 0..<n { queue.async(execute: DispatchWorkItem {}) }
    },
    Operation(
      "A.idle-queue",
      count: .fixed(300, quick: 100),
      figures: [.reported("p50"), .reported("p99"), .reported("caller-p50")]
    ) {
      let queue = DispatchQueue(label: "bench.a")
      return { n, meter in
        var latencies: [UInt64] = []
        var calls: [UInt64] = []
        let started = Cell<UInt64>(0)
        for _ in 0..<n {
          bench_sleep(200_000)
          let done = Latch()
          let before = bench_now()
          queue.async {
            started.value = bench_now()
            done.open()
          }
          calls.append(bench_now() - before)
          done.wait()
          latencies.append(started.value - before)
        }
        started.deallocate()
        meter.reportPercentiles(of: latencies)
        meter.reportPercentiles(of: calls, prefix: "caller-")
      }
    },
  ]
}
