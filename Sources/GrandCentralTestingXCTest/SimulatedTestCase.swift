// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if canImport(XCTest)
  import GrandCentralTesting
  import XCTest

  extension XCTestCase {
    /// Runs `body` in so many schedules of a simulation. If it fails in one, the test fails once, at the caller's line, with the timeline and
    /// the token of the shrunk schedule. The parameters are those of `Simulation.check`.
    ///
    ///     func testMoneyStays() {
    ///       simulate(runs: 200, strategy: .pct(depth: 3)) { sim in
    ///         let bank = Bank()
    ///         …
    ///         sim.run()
    ///         sim.expect(bank.total == 300, "money was lost")
    ///       }
    ///     }
    ///
    /// A schedule fails as in `Simulation.check`: by `sim.expect`, by an error that `body` throws, by a deadlock, by misuse. An assertion of
    /// XCTest in `body` counts in a `SimulatedTestCase`; in other test cases it is told at once, by each schedule.
    ///
    /// Blocking: until all runs are over.
    @discardableResult
    public func simulate(
      runs: Int = 1_000, strategy: Simulation.Strategy = .random, processors: Int = 2, seed: UInt64? = nil,
      file: StaticString = #filePath, line: UInt = #line, _ body: @escaping (Simulation) throws -> Void
    ) -> Simulation.Report {
      let report = Simulation.explore(runs: runs, strategy: strategy, processors: processors, seed: seed, body)
      if let text = report.complaint(of: strategy) { XCTFail(text, file: file, line: line) }
      return report
    }
  }

  /// A test case whose assertions count in a simulation: `XCTAssert` and its kin make the schedule fail in which they do not hold, in the body
  /// and in items.
  ///
  ///     final class BankTests: SimulatedTestCase {
  ///       func testMoneyStays() {
  ///         simulate { sim in
  ///           …
  ///           sim.run()
  ///           XCTAssertEqual(bank.total, 300)
  ///         }
  ///       }
  ///     }
  open class SimulatedTestCase: XCTestCase {
    /// Keeps a failure for the schedule in which it comes; outside of a simulation it is one of the test.
    open override func recordFailure(
      withDescription description: String, inFile filePath: String, atLine lineNumber: Int, expected: Bool
    ) {
      if let sim = Simulation.current {
        sim.expect(false, description + " (" + filePath + ":" + String(lineNumber) + ")")
      } else {
        super.recordFailure(withDescription: description, inFile: filePath, atLine: lineNumber, expected: expected)
      }
    }
  }
#endif
