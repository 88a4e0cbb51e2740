// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import GrandCentralTestingXCTest
import XCTest

/// Tests of XCTest have a process of their own.
final class XCTestTests: SimulatedTestCase {
  private struct Refused: Error {}

  /// What the test case has been told outside of schedules while `catching` ran.
  private var caught: [(text: String, line: Int)]?

  override func recordFailure(
    withDescription description: String, inFile filePath: String, atLine lineNumber: Int, expected: Bool
  ) {
    if Simulation.current == nil, caught != nil {
      caught?.append((description, lineNumber))
    } else {
      super.recordFailure(withDescription: description, inFile: filePath, atLine: lineNumber, expected: expected)
    }
  }

  private func catching(_ body: () -> Void) -> [(text: String, line: Int)] {
    caught = []
    body()
    defer { caught = nil }
    return caught ?? []
  }

  func testWhatHoldsPasses() {
    simulate(runs: 100) { sim in
      let (queue, sum) = (GrandCentral.DispatchQueue(label: "sums"), Box(0))
      for _ in 0..<3 { queue.async { sum.value += 1 } }
      sim.run()
      sim.expect(sum.value == 3)
    }
  }

  func testAnAssertionFailsItsScheduleAndIsToldOnce() {
    let line = #line + 2
    let told = catching {
      simulate(seed: 1) { sim in
        let sum = Box(0)
        for _ in 0..<2 {
          GrandCentral.DispatchQueue.global().async {
            let seen = sum.value
            Simulation.yield()
            sum.value = seen + 1
          }
        }
        sim.run()
        XCTAssertEqual(sum.value, 2, "one is lost")
      }
    }
    XCTAssertEqual(told.count, 1)
    XCTAssertEqual(told.first?.line, line)
    XCTAssertTrue(told.first?.text.contains("one is lost") ?? false, told.first?.text ?? "")
    XCTAssertTrue(told.first?.text.contains("replay") ?? false, told.first?.text ?? "")
  }

  func testAnAssertionInAnItemCounts() {
    let told = catching {
      simulate(runs: 3) { sim in
        GrandCentral.DispatchQueue(label: "looks").async { XCTAssertTrue(Simulation.current == nil, "is simulated") }
        sim.run()
      }
    }
    XCTAssertEqual(told.count, 1)
    XCTAssertTrue(told.first?.text.contains("is simulated") ?? false, told.first?.text ?? "")
  }

  func testAnErrorFails() {
    let told = catching { simulate(runs: 3) { _ in throw Refused() } }
    XCTAssertEqual(told.count, 1)
    XCTAssertTrue(told.first?.text.contains("Refused") ?? false, told.first?.text ?? "")
  }

  func testWhatIsNotCompleteFails() {
    let told = catching {
      simulate(strategy: .exhaustive(preemptions: 3, atMost: 2)) { sim in
        for _ in 0..<3 { GrandCentral.DispatchQueue.global().async { Simulation.yield() } }
        sim.run()
      }
    }
    XCTAssertEqual(told.count, 1)
    XCTAssertTrue(told.first?.text.contains("more schedules than the 2") ?? false, told.first?.text ?? "")
  }

  func testOutsideOfASimulationItIsAFailureOfTheTest() {
    let told = catching { XCTAssertEqual(1, 2, "as ever") }
    XCTAssertEqual(told.count, 1)
    XCTAssertTrue(told.first?.text.contains("as ever") ?? false, told.first?.text ?? "")
  }
}

// What Documentation/Simulation.md shows.
final class BankTests: SimulatedTestCase {
  func testMoneyStays() {
    simulate(runs: 200, strategy: .pct(depth: 3)) { sim in
      let bank = Bank(onOneQueue: true)
      for account in 0..<3 { bank.transfer(from: account, to: (account + 1) % 3) }
      sim.run()
      XCTAssertEqual(bank.total, 300)
    }
  }
}
