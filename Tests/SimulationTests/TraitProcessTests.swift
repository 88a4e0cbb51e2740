// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import GrandCentralTesting
import Testing

@testable import GrandCentralTestingTraits

@Suite("The trait", .timeLimit(.minutes(30)))
struct TraitProcessTests {
  @Test("The functions with the trait pass, all of them")
  func run() throws {
    let (status, output) = try TraitProcess.run()
    #expect(status == 0 && output.contains("Test run with 24 tests in 1 suite passed"), "\(status): \(output)")
    #expect(output.contains("with 1 warning and 2 known issues"), "each is told once: \(output)")
  }

  /// Simulates the function that `start` has the task prefer the executor for, as the trait does.
  private static func explore(
    _ strategy: Simulation.Strategy, starting start: @escaping @Sendable (BodyExecutor) -> Void
  ) async -> Simulation.Report {
    let executor = BodyExecutor()
    Task.detached {
      while await executor.isWanted() { start(executor) }
    }
    let report = await withCheckedContinuation { continuation in
      // The trait has a function of that name as well.
      SimulationTests.startThread {
        continuation.resume(returning: Simulation.explore(runs: 1, strategy: strategy) { try executor.perform($0) })
      }
    }
    executor.close()
    return report
  }

  @Test("V1: however late the test's task starts the function, that is no wait of the run's: all orders are known")
  func lateStart() async {
    await #expect(processExitsWith: .success) {
      let report = await TraitProcessTests.explore(.everyOrder()) { executor in
        // Much longer than a run looks on while a thread sleeps outside.
        usleep(50_000)
        Task(executorPreference: executor) { executor.finish(nil, nil) }
      }
      try require(report.failure == nil && report.isComplete, "\(report.gaps)")
    }
  }

  @Test("V3: a run that fails as the function is to go on leaves nothing to the next run, and is shrunk")
  func failsBeforeGoingOn() async {
    await #expect(processExitsWith: .success) {
      let report = await TraitProcessTests.explore(.random) { executor in
        Task(executorPreference: executor) {
          let queue = DispatchQueue(label: "own")
          await withCheckedContinuation { continuation in
            queue.async {
              continuation.resume()
              queue.sync {}
            }
          }
          executor.finish(nil, nil)
        }
      }
      try require(report.failure?.switches != nil, "\(String(describing: report.failure))")
    }
  }
}

/// This program once more, for the tests of one suite.
enum TraitProcess {
  private static let mark = "GC_TEST_OF_THE_TRAIT"

  static var isHere: Bool { getenv(mark) != nil }

  static func run() throws -> (status: Int32, output: String) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw Unexpected() }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO)
    posix_spawn_file_actions_addclose(&actions, ends[0])
    posix_spawn_file_actions_addclose(&actions, ends[1])
    defer { posix_spawn_file_actions_destroy(&actions) }
    let arguments = ["tests", "--testing-library", "swift-testing", "--filter", "SimulationTests.TraitTests"]
    var environment = [mark + "=1"]
    var entry = environ
    while let text = entry.pointee {
      environment.append(String(cString: text))
      entry += 1
    }
    var child: pid_t = 0
    let error = withStrings(arguments) { arguments in
      withStrings(environment) { posix_spawn(&child, "/proc/self/exe", &actions, nil, arguments, $0) }
    }
    close(ends[1])
    defer { close(ends[0]) }
    guard error == 0 else { throw Unexpected() }
    var output: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = read(ends[0], &buffer, buffer.count)
      if count <= 0 { break }
      output += buffer[..<count]
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    return (status, String(decoding: output, as: UTF8.self))
  }

  private static func withStrings<Result>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
  ) -> Result {
    let copies = strings.map { strdup($0) } + [nil]
    defer { for copy in copies { free(copy) } }
    return body(copies)
  }
}
