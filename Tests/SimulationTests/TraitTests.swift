// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import GrandCentralTestingTraits
import Synchronization
import Testing

/// How often a function has run.
private let count = Atomic<Int>(0)
private let knownRuns = Atomic<Int>(0)
private let warnedRuns = Atomic<Int>(0)
private let cancelledRuns = Atomic<Int>(0)
/// What the function has seen behind its wait, a bit for each.
private let outcomes = Atomic<Int>(0)

/// Lets no issue through, and requires that there was one which says all of this.
private struct Expects: TestTrait, TestScoping {
  let words: [String]
  let mayHint: Bool

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let seen = Mutex<[String]>([])
    var thrown: (any Error)?
    do {
      try await withoutActuallyEscaping(function) { function in
        try await IssueHandlingTrait.compactMapIssues { issue in
          seen.withLock { $0.append(issue.comments.map(\.rawValue).joined()) }
          return nil
        }.provideScope(for: test, testCase: testCase, performing: function)
      }
    } catch {
      thrown = error
    }
    let texts = seen.withLock { $0 }
    #expect(texts.count == 1, "\(texts)")
    let hint = "A task of the run is on Swift's own executor"
    let hasHint = texts.first?.contains(hint) == true
    #expect(!hasHint || mayHint, "the tasks of the framework are none of the program's: \(texts)")
    for word in words { #expect(texts.first?.contains(word) == true, "\(word) is not in \(texts)") }
    if let thrown { throw thrown }
  }
}

extension Trait where Self == Expects {
  /// - Parameter mayHint: The cancelling wakes a task of the framework's.
  fileprivate static func expects(_ words: String..., mayHint: Bool = false) -> Self {
    Expects(words: words, mayHint: mayHint)
  }
}

/// A simulation wants the library to itself: these tests run in a process of their own, which `TraitProcessTests` starts.
@Suite("Functions with the trait", .serialized, .timeLimit(.minutes(30)), .enabled(if: TraitProcess.isHere))
struct TraitTests {
  @Test(
    "A function with the trait runs once in each schedule, on the first thread of the simulation", .simulated(runs: 50))
  func right() throws {
    let sim = try #require(Simulation.current)
    let sum = Box(0)
    for _ in 0..<3 { DispatchQueue.main.async { sum.value += 1 } }
    sim.run()
    #expect(sum.value == 3 && sim.elapsed == .zero)
    // relaxed: a figure.
    count.add(1, ordering: .relaxed)
  }

  @Test("It has run fifty times")
  func times() {
    // relaxed: a figure; the other test is over.
    #expect(count.load(ordering: .relaxed) == 50)
  }

  @Test(
    "An expectation that fails in few schedules is one issue, with the token of the shrunk schedule",
    .expects("Expectation failed", "TraitTests.swift", ".replay(\"gc1:s:2:", "one forced switch is left"),
    .simulated(strategy: .pct(depth: 3)))
  func expectation() throws {
    let sum = Box(0)
    for name in ["first", "second"] {
      DispatchQueue(label: name).async {
        let seen = sum.value
        Simulation.yield()
        sum.value = seen + 1
      }
    }
    try #require(Simulation.current).run()
    #expect(sum.value == 2)
  }

  @Test(
    "A deadlock is an issue, also one that the function itself never comes back from",
    .expects("deadlock: test waits for a semaphore", "Replay it by"), .simulated(runs: 20))
  func deadlock() { DispatchSemaphore(value: 0).wait() }

  @Test(
    "An async function that has awaited fails as it would without", .expects("Expectation failed", "Replay it by"),
    .simulated(runs: 20))
  func awaitsAndFails() async {
    await withCheckedContinuation { continuation in DispatchQueue.global().async { continuation.resume() } }
    #expect(Bool(false))
  }

  @Test("What the function throws is an issue", .expects("has thrown Unexpected()"), .simulated(runs: 20))
  func thrown() throws { throw Unexpected() }

  @Test("All schedules are proven, by the trait as well", .simulated(strategy: .exhaustive(preemptions: 2)))
  func exhaustive() throws { addTwice(try #require(Simulation.current), onOneQueue: true) }

  @Test("An async function may wait for what happens in the simulation", .simulated(runs: 20))
  func awaits() async throws {
    let sim = try #require(Simulation.current)
    let queue = DispatchQueue(label: "awaited")
    let value = await withCheckedContinuation { continuation in
      queue.asyncAfter(deadline: .now() + .seconds(60)) { continuation.resume(returning: 7) }
    }
    #expect(value == 7 && sim.elapsed == .seconds(60))
    #expect(Simulation.current != nil)
  }

  @Test(
    "V1: an async function goes on as soon as what it awaits has come: no time passes, and timers may repeat",
    .simulated(runs: 50))
  func awaitsWithoutTime() async throws {
    let sim = try #require(Simulation.current)
    let (answers, timers) = (DispatchQueue(label: "answers"), DispatchQueue(label: "timers"))
    let timeout = DispatchWorkItem { sim.expect(false, "timed out") }
    timers.asyncAfter(deadline: .now() + .seconds(30), execute: timeout)
    let ticks = DispatchSource.makeTimerSource(queue: timers)
    ticks.setEventHandler {}
    ticks.schedule(deadline: .now() + .seconds(1), repeating: .seconds(1))
    ticks.activate()
    await withCheckedContinuation { continuation in answers.async { continuation.resume() } }
    #expect(sim.elapsed == .zero)
    // The thread that waits runs the main queue's items itself.
    await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
    #expect(sim.elapsed == .zero)
    timeout.cancel()
    ticks.cancel()
  }

  @Test("V1: what others do behind that comes before the function goes on, or after", .simulated(runs: 50, seed: 1))
  func awaitsAndRaces() async throws {
    let (others, isDone) = (DispatchQueue(label: "others"), Flag())
    await withCheckedContinuation { continuation in
      others.async {
        continuation.resume()
        others.async { isDone.raise() }
      }
    }
    // relaxed: looked at when the test is over.
    outcomes.bitwiseOr(isDone.isUp ? 2 : 1, ordering: .relaxed)
  }

  @Test("Both were there")
  func bothOutcomes() {
    // relaxed: the other test is over.
    #expect(outcomes.load(ordering: .relaxed) == 0b11)
  }

  @Test("V1: a function that yields until something has happened lets others go on, and time pass", .simulated(runs: 5))
  func yields() async throws {
    let sim = try #require(Simulation.current)
    let isDone = Flag()
    DispatchQueue(label: "later").asyncAfter(deadline: .now() + .seconds(5)) { isDone.raise() }
    while !isDone.isUp { await Task.yield() }
    #expect(sim.elapsed >= .seconds(5))
  }

  @Test("A known issue is no failure of a schedule, and is told once", .simulated(runs: 20))
  func known() {
    // relaxed: a figure.
    knownRuns.add(1, ordering: .relaxed)
    withKnownIssue("known") { #expect(Bool(false)) }
    withKnownIssue("known to be thrown") { throw Unexpected() }
  }

  @Test("A warning is no failure of a schedule, and is told once", .simulated(runs: 20))
  func warning() {
    // relaxed: a figure.
    warnedRuns.add(1, ordering: .relaxed)
    Issue.record("a warning", severity: .warning)
  }

  @Test("A known issue that does not come is a failure", .expects("Known issue was not recorded"), .simulated(runs: 20))
  func knownAndAbsent() { withKnownIssue {} }

  @Test("A cancelled test is cancelled, and runs no further schedule", .simulated(runs: 20))
  func cancelled() throws {
    // relaxed: a figure.
    cancelledRuns.add(1, ordering: .relaxed)
    try Test.cancel("not here")
  }

  @Test(
    "A failure before the cancelling is a failure", .expects("the failure", mayHint: true),
    .simulated(runs: 20))
  func failedAndCancelled() throws {
    Issue.record("the failure")
    try Test.cancel("too late")
  }

  @Test(
    "What #require has recorded is told in its own words",
    .expects("simulation: Expectation failed: 1 == 2", "Replay it by"),
    .simulated(runs: 20))
  func required() throws { try #require(1 == 2) }

  @Test(
    "An async function that awaits what never comes is a deadlock, and names what it waits for",
    .expects("deadlock: the test's function awaits what nothing in the simulation brings", "waits for a semaphore"),
    .simulated(runs: 20))
  func awaitsForEver() async {
    let queue = DispatchQueue(label: "never")
    await withUnsafeContinuation { continuation in
      queue.async {
        DispatchSemaphore(value: 0).wait()
        continuation.resume()
      }
    }
  }

  @Test(
    "An async function that awaits what never comes is a deadlock without any other thread",
    .expects("deadlock: the test's function awaits what nothing in the simulation brings", "Replay it by"),
    .simulated(runs: 20))
  func awaitsNothing() async {
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
  }

  @Test("What another task brings in real time is no deadlock", .simulated(runs: 3))
  func awaitsTask() async { #expect(await Task { 7 }.value == 7) }

  @Test("Known issues and warnings have let all schedules run, and the cancelling has let one run")
  func runsOfNotices() {
    // relaxed: figures; the other tests are over.
    let runs = (
      knownRuns.load(ordering: .relaxed), warnedRuns.load(ordering: .relaxed), cancelledRuns.load(ordering: .relaxed)
    )
    #expect(runs == (20, 20, 1))
  }
}
