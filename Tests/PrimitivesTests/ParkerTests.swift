// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

@Suite("A parker")
struct ParkerTests {
  @Test("remembers a token that came before the park, once")
  func tokenFirst() {
    let parker = Parker()
    parker.unpark()
    parker.unpark()
    #expect(parker.park() == true)
    #expect(parker.tryConsume() == false)
    #expect(parker.park(until: Deadline.after(0, on: .uptime)) == false)
  }

  @Test("gives up at its deadline, not before", arguments: [Clock.uptime, .wall, .continuous])
  func deadline(clock: Clock) {
    let parker = Parker()
    let deadline = Deadline.after(2_000_000, on: clock)
    #expect(parker.park(until: deadline) == false)
    #expect(deadline.hasPassed())
  }

  @Test("takes a token that comes after it has given up")
  func tokenAfterDeadline() {
    let parker = Parker()
    #expect(parker.park(until: Deadline.after(1_000, on: .uptime), spin: 10) == false)
    parker.unpark()
    #expect(parker.park(until: .never) == true)
  }

  @Test("wakes the thread that sleeps in it")
  func wakes() {
    let shared = SharedParker()
    let sleeper = BlockedThread { _ = shared.parker.park() }
    #expect(sleeper.isAsleep())
    shared.parker.unpark()
    sleeper.join()
    #expect(shared.parker.tryConsume() == false)
  }

  private final class SharedParker: Sendable {
    let parker = Parker()
  }
}
