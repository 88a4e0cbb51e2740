// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

/// The choice of a pool holds for the whole process, so each test has a process of its own.
@Suite("Swift Concurrency on the pool", .timeLimit(.minutes(30)))
struct PoolExecutorTests {
  private func expect(
    _ scenario: String, _ expected: [String: String], environment: [String: String] = [:],
    _ here: SourceLocation = #_sourceLocation
  ) {
    let result = Probe.run(scenario, of: .asyncMain, environment: environment)
    #expect(result.ended, "\(result)", sourceLocation: here)
    if result.skipped != nil { return }
    for (key, value) in expected { #expect(result[key] == value, "\(result)", sourceLocation: here) }
  }

  @Test("X1: tasks run on the pool's threads, at their priority; the main actor does not")
  func places() {
    expect(
      "pool",
      [
        "high": "com.apple.root.user-initiated-qos", "medium": "com.apple.root.default-qos",
        "low": "com.apple.root.utility-qos", "background": "com.apple.root.background-qos",
        "actor": "1", "again": "1", "main": "0",
      ])
  }

  @Test("X1: a group of 100 000 tasks loses none")
  func group() { expect("pool-group", ["children": "100000", "counted": "10000"]) }

  @Test("X1: sleeps end on the pool, none too early, on every clock")
  func sleeps() { expect("pool-sleeps", ["slept": "1000", "early": "0", "past": "1"]) }

  @Test("X1: a cancelled sleep ends at once")
  func cancels() { expect("pool-cancels", ["cancelled": "1000"]) }

  @Test("X1: streams deliver everything")
  func streams() { expect("pool-streams", ["sum": "5005000"]) }

  @Test("X4: tasks that block all at once are made up for")
  func blocks() { expect("pool-blocks", ["done": "1"]) }

  @Test("Q6, X1: a task that is awaited gets its turn though more urgent ones never end, unless a bound was chosen")
  func starves() {
    let processor = ["GRANDCENTRAL_THREADS": "1"]
    expect("pool-starves", ["value": "42", "usual": "1", "strict": "1"], environment: processor)
    let chosen = processor.merging(["GRANDCENTRAL_STARVATION_MS": "10"]) { $1 }
    expect("pool-starves", ["value": "42", "usual": "0", "strict": "1"], environment: chosen)
  }

  @Test("X1: the main actor and the main queue keep the main thread")
  func mainActor() { expect("pool-main-actor", ["jobs": "100", "items": "100"]) }
}
