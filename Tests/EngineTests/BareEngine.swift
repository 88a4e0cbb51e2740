// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

@testable import GrandCentral

/// Engines that no thread is in, beside the process's own: a test takes their steps itself.
enum BareEngine {
  /// The addresses of the tests' engines. No engine is ever freed; while these addresses are here, none has leaked.
  private static let all = Mutex([UInt]())

  /// An engine without workers, with `count` places.
  static func make(places count: Int) -> Engine.Pointer {
    let engine = Engine.Pointer.allocate(capacity: 1)
    engine.initialize(to: Engine())
    all.withLock { $0.append(UInt(bitPattern: engine)) }
    engine.pointee.setParallelism(count)
    // No worker is woken or started for the jobs that the tests submit.
    engine.pointee.pool.updateInOrder { $0.startSearching() }
    return engine
  }

  static func job(_ band: Band = .normal) -> Job { Job(invoke: { _ in }, flags: [], qos: 0, band: band, owner: nil) }

  /// A record for the calling thread, which is counted as a worker that searches.
  static func searcher(_ engine: Engine.Pointer) -> Worker.Pointer {
    let wake = engine.pointee.pool.updateInOrder { $0.claimReinforcement(parallelism: .max, budget: .max) }
    precondition(wake == .spawn)
    return engine.pointee.workers.take()
  }
}
