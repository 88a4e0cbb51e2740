// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

@Suite("A timer's instant")
struct TimerEntryTests {
  @Test("is the roundest one between the deadline and the end of its leeway")
  func roundest() {
    for deadline: UInt64 in 0..<70 {
      for leeway: UInt64 in 0..<70 {
        let all = deadline...deadline + leeway
        // 0 is divisible by every power of two.
        let expected = all.max { ($0 == 0 ? 64 : $0.trailingZeroBitCount) < ($1 == 0 ? 64 : $1.trailingZeroBitCount) }
        #expect(TimerEntry.roundest(deadline, leeway) == expected)
      }
    }
  }

  @Test("stays in its span, at the end of time too")
  func span() {
    var random = SeededRandom(seed: Stress.seed("timer instants"))
    for _ in 0..<10_000 {
      let deadline = random.next() >> UInt64(random.below(64))
      let leeway = random.next() >> UInt64(random.below(64))
      let (sum, overflow) = deadline.addingReportingOverflow(leeway)
      let instant = TimerEntry.roundest(deadline, leeway)
      #expect(instant >= deadline)
      #expect(instant <= (overflow ? .max : sum))
    }
  }

  @Test("is the same for timers with overlapping spans around a round number")
  func meet() {
    #expect(TimerEntry.roundest(1_000_000, 100_000) == TimerEntry.roundest(1_010_000, 90_000))
  }

  @Test("fits a node")
  func size() { #expect(MemoryLayout<TimerEntry>.size <= Magazine.nodeSize) }
}
