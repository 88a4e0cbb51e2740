// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit

/// D: items that may run in parallel.
func concurrentAsync() -> [Operation] {
  func oneProducer(_ name: String, work: UInt64 = 0, _ makeQueue: @escaping () -> DispatchQueue) -> Operation {
    Operation(name) {
      let queue = makeQueue()
      return { n, _ in
        let done = Countdown(n)
        for _ in 0..<n {
          queue.async {
            if work > 0 { Work.spin(nanoseconds: work) }
            done.arrive()
          }
        }
        done.wait()
      }
    }
  }
  return [
    oneProducer("D.global-1p") { DispatchQueue.global() },
    Operation("D.global-2p", count: .calibrated(multipleOf: 2)) {
      let queue = DispatchQueue.global()
      return { n, meter in
        let done = Countdown(n)
        Crew.run(2, pinned: false, meter: meter) { _ in
          for _ in 0..<n / 2 { queue.async { done.arrive() } }
        }
        done.wait()
      }
    },
    oneProducer("D.private-1p") { DispatchQueue(label: "bench.d", attributes: .concurrent) },
    Operation("D.fork-tree", count: .fixed(1 << 17, quick: 1 << 15)) {
      { n, _ in
        let tree = Tree()
        tree.grow(n.trailingZeroBitCount - 1)
        tree.group.wait()
      }
    },
    oneProducer("D.global-1us-bodies", work: 1000) { DispatchQueue.global() },
  ]
}

/// Each task submits two more, down to the given depth: 2^(depth + 1) - 2 tasks.
private final class Tree: Sendable {
  let group = DispatchGroup()
  private let queue = DispatchQueue.global()

  func grow(_ depth: Int) {
    if depth == 0 { return }
    queue.async(group: group) { self.grow(depth - 1) }
    queue.async(group: group) { self.grow(depth - 1) }
  }
}
