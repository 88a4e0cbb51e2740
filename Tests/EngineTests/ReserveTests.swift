// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GrandCentral

@Suite("The last threads of the budget")
struct ReserveTests {
  @Test(
    "E1: a sixteenth, one at least, eight at most",
    arguments: [(1, 0), (3, 0), (4, 1), (15, 1), (31, 1), (64, 4), (512, 8), (4_096, 8)])
  func size(budget: Int, reserve: Int) {
    #expect(Reserve.size(of: budget) == reserve)
  }

  @Test("E1: the last thread is lent with a small budget only", arguments: [(4, 4), (15, 15), (16, 15), (512, 511)])
  func most(budget: Int, most: Int) {
    #expect(Reserve.most(of: budget) == most)
  }

  @Test("E1: ordered work gets one more for each slice in which nothing is started, and nothing loose waits")
  func loans() {
    var reserve = Reserve()
    func loans(_ ticks: Int, hasStarted: Bool, isLoose: Bool) -> Int {
      (0..<ticks).map { _ in reserve.lends(hasStarted: hasStarted, isLoose: isLoose, elapsed: 1_000_000) }.count { $0 }
    }
    let found = [
      loans(50, hasStarted: false, isLoose: false), loans(50, hasStarted: true, isLoose: false),
      loans(50, hasStarted: false, isLoose: true), loans(9, hasStarted: false, isLoose: false),
    ]
    #expect(found == [5, 0, 0, 0])
  }
}
