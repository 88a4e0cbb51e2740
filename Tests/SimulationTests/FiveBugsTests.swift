// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import Testing

/// The bugs of the tutorial, wrong and mended, with what is said of the wrong one.
private let bugs: [(name: String, sentence: String, wrong: Body, mended: Body)] = [
  (
    "bank", "deadlock: ", { Accounts.twoTransfers($0, by: Accounts.transfer) },
    { Accounts.twoTransfers($0, by: Accounts.transferInOrder) }
  ),
  (
    "cache", "loaded 2 times", { Caches.twoReaders($0, of: Caches.Cache()) },
    { Caches.twoReaders($0, of: Caches.CacheThatLooksTwice()) }
  ),
  (
    "debouncer", "acted 2 times", { Debouncers.threeEvents($0, of: Debouncers.Debouncer()) },
    { Debouncers.threeEvents($0, of: Debouncers.DebouncerOnItsQueue()) }
  ),
  (
    "retry", "2 answers", { Retries.slowServer($0) { Retries.Fetch($0, $1).start() } },
    { Retries.slowServer($0) { Retries.FetchThatEndsOnce($0, $1).start() } }
  ),
  (
    "ticker", "writes to a log that is closed", { Tickers.tick($0, closesInHandler: false) },
    { Tickers.tick($0, closesInHandler: true) }
  ),
]
private typealias Body = @Sendable (Simulation) throws -> Void

@Suite("The tutorial", .serialized, .timeLimit(.minutes(2)))
struct FiveBugsTests {
  @Test("Each of its bugs is found, as the page says, and no mend is accused")
  func five() async {
    await #expect(processExitsWith: .success) {
      for bug in bugs {
        for strategy in [Simulation.Strategy.random, .pct(depth: 3)] {
          let wrong = Simulation.explore(strategy: strategy, seed: 1, bug.wrong)
          let failure = try unwrap(wrong.failure, bug.name)
          try require(failure.description.hasPrefix("simulation: " + bug.sentence), failure.description)
          try require(failure.switches ?? 9 <= 2, "\(bug.name): \(String(describing: failure.switches))")
          if figures != nil { tell(bug.name + ": " + failure.description) }
          let mended = Simulation.explore(runs: isThorough ? 1_000 : 200, strategy: strategy, bug.mended)
          try require(mended.failure == nil, bug.name + ": " + (mended.failure?.description ?? ""))
        }
        let all = try Simulation.check(strategy: .exhaustive(preemptions: 1), bug.mended)
        try require(all.isComplete, bug.name)
      }
    }
  }
}
