// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

struct Tally: StateWord, Equatable {
  var rawValue: UInt64
  mutating func raise() -> UInt64 {
    rawValue += 1
    return rawValue
  }
}

@Suite("An atomic state")
struct AtomicStateTests {
  @Test("returns what the transition returned, and keeps what it made")
  func update() {
    let state = AtomicState(Tally(rawValue: 41))
    #expect(state.update { $0.raise() } == 42)
    #expect(state.load() == Tally(rawValue: 42))
  }

  @Test("is left alone by an attempt that declines")
  func decline() {
    let state = AtomicState(Tally(rawValue: 7))
    let declined: Int? = state.attempt { tally in
      tally.rawValue = 99
      return nil
    }
    #expect(declined == nil)
    #expect(state.load().rawValue == 7)
    #expect(state.attempt { $0.raise() } == 8)
    #expect(state.load(ordering: .relaxed).rawValue == 8)
  }

  @Test("is exchanged only from the expected value")
  func exchange() {
    let state = AtomicState(Tally(rawValue: 1))
    #expect(state.exchange(Tally(rawValue: 2), for: Tally(rawValue: 3)) == false)
    #expect(state.exchange(Tally(rawValue: 1), for: Tally(rawValue: 3)) == true)
    #expect(state.load().rawValue == 3)
  }

  @Test("loses no update of several threads")
  func concurrent() {
    let shared = SharedState()
    PlainThread.concurrently(3) { _ in
      for _ in 0..<5_000 { _ = shared.state.update { $0.raise() } }
    }
    #expect(shared.state.load().rawValue == 15_000)
  }

  @Test("an addition is one step among the others")
  func addition() {
    let shared = SharedState()
    PlainThread.concurrently(4) { thread in
      for _ in 0..<5_000 {
        if thread & 1 == 0 {
          shared.state.addInOrder { $0.rawValue &+= 3 }
        } else {
          _ = shared.state.update { $0.raise() }
        }
      }
    }
    #expect(shared.state.load().rawValue == 10_000 * 3 + 10_000)
    #expect(shared.state.addInOrder { $0.rawValue &-= 40_001 } == Tally(rawValue: .max))
  }

  private final class SharedState: Sendable {
    let state = AtomicState(Tally(rawValue: 0))
  }
}
