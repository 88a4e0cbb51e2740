// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// One thing whose allocations are counted: a call makes that many, and returns when all have completed.
public struct Probe {
  public let name: String
  public let run: (Int) -> Void

  public init(_ name: String, run: @escaping (Int) -> Void) {
    self.name = name
    self.run = run
  }

  /// Allocations per operation in the steady state: the least of several runs, after as many that warm caches up.
  public func allocationsPerOperation(runs: Int = 20, operations: Int = 1000) -> Double {
    for _ in 0..<runs { run(operations) }
    return (0..<runs).map { _ in
      let meter = Meter()
      meter.start()
      run(operations)
      return meter.sample(operations: operations).allocations
    }.min()!
  }
}
