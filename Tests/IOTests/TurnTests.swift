// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

@Suite("The turns of operations at a file")
struct TurnTests {
  private func operation() -> IOOperation {
    IOOperation(.read, offset: nil, length: 1, limits: IOLimits(), file: nil, channel: nil, queue: .global()) {
      _, _, _ in
    }
  }

  @Test("one that leaves while it waits is let go, wherever it stands, and the others keep their order")
  func leaving() {
    for leaver in 1..<5 {
      var turns = IOTurns(width: 1)
      var all = (0..<5).map { _ in operation() }
      var joined: [Bool] = []
      for one in all { joined.append(turns.join(one)) }
      #expect(joined == [true, false, false, false, false])
      weak let gone = all[leaver]
      let none = turns.leave(all.remove(at: leaver))
      #expect(none == nil)
      #expect(gone == nil)
      for (index, one) in all.enumerated() {
        let next = turns.leave(one)
        #expect(next === (index + 1 < all.count ? all[index + 1] : nil))
      }
      let isFree = turns.join(operation())
      #expect(isFree)
    }
  }

  @Test("one that was stopped before it joins never waits")
  func stoppedBefore() {
    var turns = IOTurns(width: 1)
    let (first, second) = (operation(), operation())
    let had = turns.join(first)
    let none = turns.leave(second)
    let waits = turns.join(second)
    let next = turns.leave(first)
    #expect(had && none == nil && !waits && next == nil)
    #expect(second.place == .left)
  }
}
