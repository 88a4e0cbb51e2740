// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// As the original does it: a counter that all threads add to.
final class Pool: Sendable {
  private let queues: [DispatchQueue]
  private let counter = Atomic<Int>(0)

  init(queueCount: Int) { queues = (0..<queueCount).map { _ in DispatchQueue(label: "bench.pool") } }

  @inline(__always)
  func next() -> DispatchQueue { queues[counter.wrappingAdd(1, ordering: .relaxed).oldValue % queues.count] }
}
