// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral

struct Pool: Sendable {
  private let pool: DispatchQueuePool

  init(queueCount: Int) { pool = DispatchQueuePool(name: "bench.pool", queueCount: queueCount) }

  @inline(__always)
  func next() -> DispatchSerialQueue { pool.queue }
}
