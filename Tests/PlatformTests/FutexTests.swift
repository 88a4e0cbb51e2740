// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import GrandCentral

@Suite("A futex")
struct FutexTests {
  static let clocks: [GrandCentral.Clock] = [.uptime, .continuous, .wall]

  @Test("does not sleep when the word has changed already")
  func changedWord() {
    let word = FutexWord(1)
    #expect(Futex.wait(word.address, while: 0))
    #expect(Futex.wait(word.address, while: 0, until: .after(60_000_000_000, on: .uptime)))
  }

  @Test("wakes a sleeping thread, and says so")
  func wakes() throws {
    let word = FutexWord(0)
    let thread = try TestThread {
      // pairs with: the waker's store – publishes nothing but the word
      while word.word.load(ordering: .acquiring) == 0 { _ = Futex.wait(word.address, while: 0) }
    }
    // The word is unchanged until a sleeper was found: only the wake can end that sleep.
    #expect(eventually { Futex.wake(word.address) == 1 })
    // pairs with: the sleeper's load – publishes nothing but the word
    word.word.store(1, ordering: .releasing)
    Futex.wake(word.address)
    thread.join()
  }

  @Test("wakes no more threads than asked for")
  func count() throws {
    let word = FutexWord(0)
    let threads = try (0..<3).map { _ in
      try TestThread {
        // pairs with: the waker's store – publishes nothing but the word
        while word.word.load(ordering: .acquiring) == 0 { _ = Futex.wait(word.address, while: 0) }
      }
    }
    var most = 0
    // All three sleep at some time: then two are woken, and not the third.
    let wokeTwo = eventually {
      most = max(most, Futex.wake(word.address, count: 2))
      return most >= 2
    }
    #expect(wokeTwo)
    #expect(most == 2)
    // pairs with: the sleepers' loads – publishes nothing but the word
    word.word.store(1, ordering: .releasing)
    Futex.wake(word.address, count: .max)
    for thread in threads { thread.join() }
  }

  @Test("wakes nobody where nobody sleeps")
  func nobody() {
    let word = FutexWord(0)
    #expect(Futex.wake(word.address) == 0)
  }

  @Test("T1: gives up at the deadline, not before", arguments: clocks)
  func timeout(clock: GrandCentral.Clock) {
    let word = FutexWord(0)
    let deadline = Deadline.after(20_000_000, on: clock)
    while Futex.wait(word.address, while: 0, until: deadline) { #expect(!deadline.hasPassed()) }
    #expect(deadline.hasPassed())
  }

  @Test("T1: gives up at once when the deadline has passed", arguments: clocks)
  func past(clock: GrandCentral.Clock) {
    let word = FutexWord(0)
    let past = Deadline(clock: clock, nanoseconds: 1)
    #expect(eventually { !Futex.wait(word.address, while: 0, until: past) })
  }
}
