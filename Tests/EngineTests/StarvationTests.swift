// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

@Suite("The starvation bound")
struct StarvationTests {
  private let both = Band.normal.ordered | Band.background.both

  @Test("Q6: work that is passed over for the bound's time gets one turn")
  func bound() {
    let starvation = Starvation()
    #expect(starvation.bandThatHasWaited(both, bound: 100, now: 1_000) == nil)
    #expect(starvation.bandThatHasWaited(both, bound: 100, now: 1_099) == nil)
    #expect(starvation.bandThatHasWaited(both, bound: 100, now: 1_100) == .background)
    #expect(starvation.bandThatHasWaited(both, bound: 100, now: 1_101) == nil)
  }

  @Test("Q6: a worker that has read the clock before another one stamped the band waits as well")
  func overtakenReading() {
    let starvation = Starvation()
    #expect(starvation.bandThatHasWaited(both, bound: 0, now: 1_000) == nil)
    #expect(starvation.bandThatHasWaited(both, bound: 100, now: 999) == nil)
    #expect(starvation.bandThatHasWaited(both, bound: 100, now: 1_100) == .background)
  }

  @Test("Q6: workers that look at once, each with its own reading of the clock, do no harm")
  func manyWorkers() {
    let starvation = Starvation()
    let turns = Counter()
    PlainThread.concurrently(4) { _ in
      for _ in 0..<20_000 where starvation.bandThatHasWaited(both, bound: 1_000) != nil { turns.add() }
    }
    #expect(turns.value > 0)
  }
}
