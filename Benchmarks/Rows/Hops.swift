// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit

/// An item that submits itself to the next queue of a ring until it has done so often enough.
private final class Ring: @unchecked Sendable {  // one hop at a time, each on the queue of its turn
  private let queues: [DispatchQueue]
  /// Unretained, so that a hop is what the queues do, not the counting of references to them.
  private let ring: UnsafeMutableBufferPointer<Unmanaged<DispatchQueue>>
  private let left = Cell(0)
  private let at = Cell(0)
  private let done = Latch()

  init(_ queues: [DispatchQueue]) {
    self.queues = queues
    ring = .allocate(capacity: queues.count)
    _ = ring.initialize(from: queues.map { .passUnretained($0) })
  }

  deinit {
    ring.deallocate()
    left.deallocate()
    at.deallocate()
  }

  func run(_ hops: Int) {
    left.value = hops
    hop()
    done.wait()
  }

  private func hop() {
    if left.value == 0 { return done.open() }
    left.value -= 1
    let next = at.value + 1 == ring.count ? 0 : at.value + 1
    at.value = next
    ring[next]._withUnsafeGuaranteedRef { $0.async { self.hop() } }
  }
}

private func ring(_ name: String, _ makeQueues: @escaping () -> [DispatchQueue]) -> Operation {
  Operation(name) {
    let queues = makeQueues()
    return { n, _ in Ring(queues).run(n) }
  }
}

private func serialQueues(_ count: Int, target: DispatchQueue? = nil) -> [DispatchQueue] {
  (0..<count).map { DispatchQueue(label: "bench.e.\($0)", target: target) }
}

/// A: an item that submits itself to its own queue.
func selfHop() -> [Operation] {
  [ring("A.self-hop") { serialQueues(1) }]
}

/// E: from queue to queue, one hop after another.
func hops() -> [Operation] {
  [
    ring("E.ping-pong") { serialQueues(2) },
    ring("E.chain-1000") { serialQueues(1000) },
    ring("E.chain-1000-common-target") { serialQueues(1000, target: DispatchQueue(label: "bench.e.base")) },
  ]
}
