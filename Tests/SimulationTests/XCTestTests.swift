// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import XCTest

extension XCTestCase {
  func simulate(
    runs: Int = 1_000, strategy: Simulation.Strategy = .random, file: StaticString = #filePath, line: UInt = #line,
    _ body: @escaping (Simulation) throws -> Void
  ) {
    let report = Simulation.explore(runs: runs, strategy: strategy, body)
    if let failure = report.failure { XCTFail(failure.description, file: file, line: line) }
  }
}

/// The helper that the article shows. Tests of XCTest have a process of their own.
final class XCTestTests: XCTestCase {
  func testMoneyStays() {
    simulate(runs: 100) { sim in
      let (queue, sum) = (GrandCentral.DispatchQueue(label: "sums"), Box(0))
      for _ in 0..<3 { queue.async { sum.value += 1 } }
      sim.run()
      sim.expect(sum.value == 3)
    }
  }
}
