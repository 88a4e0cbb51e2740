// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit

/// I: many queues, and queues that live briefly.
func queueLives() -> [Operation] {
  [
    Operation("I.create-destroy") {
      { n, _ in for _ in 0..<n { letEscape(DispatchQueue(label: "bench.i")) } }
    },
    manyQueues("I.100k-queues-round-robin") { queues, perQueue, done in
      for _ in 0..<perQueue {
        for queue in queues { queue.async { done.arrive() } }
      }
    },
    manyQueues("I.100k-queues-10-at-once") { queues, perQueue, done in
      for queue in queues {
        for _ in 0..<perQueue { queue.async { done.arrive() } }
      }
    },
    Operation("I.new-queue-async-release", count: .calibrated(atMost: 20_000)) {
      { n, _ in
        let done = Countdown(n)
        for _ in 0..<n { DispatchQueue(label: "bench.i").async { done.arrive() } }
        done.wait()
      }
    },
  ]
}

/// Ten items for each of 100 000 queues, 20 000 in a quick run. The queues exist before the meter starts.
private func manyQueues(
  _ name: String,
  submit: @escaping (_ queues: [DispatchQueue], _ perQueue: Int, _ done: Countdown) -> Void
) -> Operation {
  Operation(name, count: .fixed(1_000_000, quick: 200_000), figures: [.time, .cpu]) {
    { n, meter in
      let perQueue = 10
      let queues = (0..<n / perQueue).map { _ in DispatchQueue(label: "bench.i") }
      let done = Countdown(n)
      meter.start()
      submit(queues, perQueue, done)
      done.wait()
      meter.stop()
    }
  }
}
