// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit

/// F: one thread waits for another.
func handshakes() -> [Operation] {
  [
    Operation("F.async-signal-wait", figures: [.time, .cpu]) {
      let queue = DispatchQueue(label: "bench.f")
      let semaphore = DispatchSemaphore(value: 0)
      return { n, _ in
        for _ in 0..<n {
          queue.async { semaphore.signal() }
          semaphore.wait()
        }
      }
    },
    Operation("F.semaphore-ping-pong", count: .calibrated(multipleOf: 2), figures: [.time, .cpu]) {
      let ping = DispatchSemaphore(value: 0)
      let pong = DispatchSemaphore(value: 0)
      return { n, meter in
        Crew.run(2, pinned: true, meter: meter) { index in
          let (mine, other) = index == 0 ? (ping, pong) : (pong, ping)
          for _ in 0..<n / 2 {
            if index == 0 { other.signal() }
            mine.wait()
            if index == 1 { other.signal() }
          }
        }
      }
    },
    Operation("F.semaphore-uncontended") {
      let semaphore = DispatchSemaphore(value: 0)
      return { n, _ in
        for _ in 0..<n {
          semaphore.signal()
          semaphore.wait()
        }
      }
    },
    Operation("F.group-async-wait", figures: [.time, .cpu]) {
      let queue = DispatchQueue(label: "bench.f")
      let group = DispatchGroup()
      return { n, _ in
        for _ in 0..<n {
          queue.async(group: group) {}
          group.wait()
        }
      }
    },
    Operation("F.group-notify-wait", figures: [.time, .cpu]) {
      let queue = DispatchQueue(label: "bench.f")
      let group = DispatchGroup()
      let semaphore = DispatchSemaphore(value: 0)
      return { n, _ in
        for _ in 0..<n {
          queue.async(group: group) {}
          group.notify(queue: .global()) { semaphore.signal() }
          semaphore.wait()
        }
      }
    },
    Operation("F.work-item-wait", figures: [.time, .cpu]) {
      let queue = DispatchQueue(label: "bench.f")
      return { n, _ in
        for _ in 0..<n {
          let item = DispatchWorkItem {}
          queue.async(execute: item)
          item.wait()
        }
      }
    },
    Operation("F.async-sync", figures: [.time, .cpu]) {
      let queue = DispatchQueue(label: "bench.f")
      return { n, _ in
        for _ in 0..<n {
          queue.async {}
          queue.sync {}
        }
      }
    },
  ]
}
