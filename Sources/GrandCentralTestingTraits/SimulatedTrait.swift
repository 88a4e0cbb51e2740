// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentralTesting
import Testing

/// Runs a test's function in many schedules of a simulation: see `Trait.simulated`.
///
///     @Test(.simulated(runs: 200)) func ordersAreKept() throws {
///       let sim = try #require(Simulation.current)
///       …
///       sim.run()
///       #expect(log == [1, 2, 3])
///     }
public struct SimulatedTrait: TestTrait, TestScoping {
  let runs: Int
  let strategy: Simulation.Strategy
  let processors: Int
  let seed: UInt64?

  /// What Swift Testing calls in place of the test's function: that runs once in each schedule. Issues of a schedule make it fail; they
  /// are told once, with its shrunk token.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // A scope of a suite has no case: there is nothing to run.
    guard testCase != nil else { return try await function() }
    let executor = BodyExecutor()
    let exploration = Task.detached { [self] in
      await withCheckedContinuation { continuation in
        startThread {
          let report = Simulation.explore(runs: runs, strategy: strategy, processors: processors, seed: seed) { sim in
            try executor.perform(sim)
          }
          executor.close()
          continuation.resume(returning: report)
        }
      }
    }
    let function = KeptFunction(function)
    let notices = Notices()
    await withTaskCancellationHandler {
      while await executor.isWanted() {
        // A task of its own, which knows the test: a run that fails may never come back from it.
        Task(executorPreference: executor) {
          let issues = Issues(notices)
          var thrown: (any Error)?
          do {
            try await IssueHandlingTrait.compactMapIssues { issues.take($0) }
              .provideScope(for: test, testCase: testCase) { try await function.call() }
          } catch {
            thrown = error
          }
          executor.finish(thrown, issues.first)
        }
      }
    } onCancel: {
      executor.cancel()
    }
    let report = await exploration.value
    // `Test.cancel` cancels the test's task, and throws what Swift Testing takes for that.
    if Task.isCancelled, case .threw(let error) = report.failure?.reason { throw error }
    if let text = report.complaint(of: strategy) {
      Issue.record(Comment(rawValue: text), sourceLocation: test.sourceLocation)
    }
  }
}

extension Trait where Self == SimulatedTrait {
  /// Runs the test's function in so many schedules of a simulation; `Simulation.current` is the one that it runs in. The parameters are
  /// those of `Simulation.check`.
  ///
  /// An issue, an error, a deadlock or misuse of the library in any schedule fails the test: one issue is recorded, with the timeline and
  /// the token of the shrunk schedule. Issues of the function itself are kept back meanwhile.
  ///
  /// Tests with this trait use the library alone: let no other test that uses it run beside them in the process.
  ///
  ///     @Test(.simulated(runs: 200, strategy: .pct(depth: 3))) func moneyStays() throws { … }
  public static func simulated(
    runs: Int = 1_000, strategy: Simulation.Strategy = .random, processors: Int = 2, seed: UInt64? = nil
  ) -> Self {
    SimulatedTrait(runs: runs, strategy: strategy, processors: processors, seed: seed)
  }
}

@_silgen_name("gc_async_closure_words")
private func words(of function: @Sendable () async throws -> Void, _ words: UnsafeMutableRawPointer)

/// A test's function, for tasks that may outlive the scope: those of runs that have failed, whose threads never go on.
private struct KeptFunction: Sendable {
  private var words: (UInt, UInt) = (0, 0)

  init(_ function: @Sendable () async throws -> Void) {
    // unsafe: the callee writes exactly two words.
    withUnsafeMutablePointer(to: &words) {
      GrandCentralTestingTraits.words(of: function, UnsafeMutableRawPointer($0))
    }
  }

  func call() async throws {
    // unsafe: the two words of such a function, which the scope's caller keeps while a call can go on.
    try await unsafeBitCast(words, to: (@Sendable () async throws -> Void).self)()
  }
}
