// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GrandCentral

@Suite("The last threads of the budget")
struct ReserveTests {
  @Test(
    "E1: a sixteenth, two at least, one of few, eight at most",
    arguments: [(1, 0), (3, 0), (4, 1), (15, 1), (16, 2), (31, 2), (64, 4), (512, 8), (4_096, 8)])
  func size(budget: Int, reserve: Int) {
    #expect(Reserve.size(of: budget) == reserve)
  }

  @Test(
    "E1: two threads, or one for each band in use, are lent with a small budget only, or late",
    arguments: [(4, 1, 4, 4), (15, 3, 15, 15), (16, 1, 14, 15), (512, 1, 510, 511), (512, 5, 507, 511)])
  func most(budget: Int, bands: Int, most: Int, atLast: Int) {
    #expect(Reserve.most(of: budget, bands: bands, isLong: false) == most)
    #expect(Reserve.most(of: budget, bands: bands, isLong: true) == atLast)
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
    #expect(reserve.slices == 0)
    _ = loans(30, hasStarted: false, isLoose: false)
    #expect(reserve.slices == 3)
  }
}
