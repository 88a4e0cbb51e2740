// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Foundation
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

@Suite("The tutorial", .serialized, .timeLimit(.minutes(30)))
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

  @Test("What the pages show of failures is what their tokens bring")
  func pages() async {
    await #expect(processExitsWith: .success) {
      let shown = try Shown.all(on: "FiveBugs.md")
      try require(shown.count == bugs.count)
      for (shown, bug) in zip(shown, bugs) { try shown.compare(with: bug.wrong) }
      let article = try Shown.all(on: "Simulation.md").filter { $0.lines[0].contains("money") }
      try require(article.count == 1)
      try article[0].compare { moneyStays($0, onOneQueue: false) }
    }
  }
}

/// A failure as a page shows it: lines of the message, and its token. How long the search took depends on the seed.
private struct Shown {
  let lines: [Substring]
  let token: String

  /// Lines that go on in the next one, which begins with two blanks, are whole. Those of the timeline begin with more.
  static func all(on page: String) throws -> [Shown] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Documentation")
    let text = try String(contentsOf: root.appending(path: page), encoding: .utf8)
    return text.matches(of: /```text\n(simulation: [^`]*)```/).compactMap { block in
      let whole = block.output.1.replacing(/\n  (?=\S)/, with: " ")
      guard let token = whole.firstMatch(of: /\.replay\("(.*)"\)/)?.output.1 else { return nil }
      let lines = whole.split(separator: "\n").filter { !$0.hasPrefix("after ") && !$0.hasPrefix("The token") }
      return Shown(lines: lines, token: String(token))
    }
  }

  func compare(with body: @escaping Body) throws {
    let failure = try unwrap(Simulation.explore(strategy: .replay(token), body).failure, "\(token) does not fail")
    var rest = failure.description.split(separator: "\n")[...]
    // With optimisation a line may be that of what calls it, or of what is called at its end.
    for line in lines where !isThorough || !line.contains(" waits at ") {
      let index = try unwrap(rest.firstIndex(of: line), "there is no line '\(line)' in\n\(failure.description)")
      rest = rest[(index + 1)...]
    }
  }
}
