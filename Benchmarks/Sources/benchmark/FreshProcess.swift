// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport
import FoundationEssentials
import Glibc

/// Takes a sample in a new process of the same program, whose pools have no threads yet.
enum FreshProcess {
  static func sample(_ side: Contest.Side, _ name: String, _ count: Int) -> Sample {
    sample(side, name, count, environment: [])
  }

  /// System calls per operation; nil if the kernel does not let them be counted.
  static func systemCalls(_ side: Contest.Side, _ name: String, _ count: Int) -> Double? {
    guard canCountSystemCalls else { return nil }
    return sample(side, name, count, environment: [BENCH_COUNT_SYSTEM_CALLS + "=1"]).systemCalls
  }

  /// The other end: takes the sample that this process was started for, prints it, and ends.
  static func answer(_ side: Contest.Side, _ name: String, _ count: Int) throws -> Never {
    guard let operation = find(side, name) else { throw Arguments.Failure.badValue("--sample") }
    guard let parkMain = operation.parkMain else { printSample(operation, count) }
    Crew.start {
      if let operation = find(side, name) { printSample(operation, count) }
    }
    parkMain()
  }

  private static func find(_ side: Contest.Side, _ name: String) -> Operation? {
    side.operations.first { $0.name == name }
  }

  private static func printSample(_ operation: Operation, _ count: Int) -> Never {
    let sample = Contest.sample(operation, count)
    guard let data = try? JSONEncoder().encode(sample) else { exit(2) }
    Output.standard.line(String(decoding: data, as: UTF8.self))
    exit(0)
  }

  private static let canCountSystemCalls = bench_can_count_system_calls() != 0

  private static func sample(_ side: Contest.Side, _ name: String, _ count: Int, environment: [String]) -> Sample {
    let output = run(["benchmark", "duel", "--sample", side.rawValue, name, String(count)], environment: environment)
    guard let sample = try? JSONDecoder().decode(Sample.self, from: Data(output)) else {
      Output.error.line("duel: no sample of \(name) from a process of its own")
      exit(2)
    }
    return sample
  }

  /// What a program, this one unless another is named, prints when it is run with these arguments, and these additions
  /// to the environment.
  static func run(
    _ arguments: [String], environment: [String] = [], program: String = "/proc/self/exe"
  ) -> [UInt8] {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { return [] }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, ends[1], Output.standard.rawValue)
    posix_spawn_file_actions_addclose(&actions, ends[0])
    posix_spawn_file_actions_addclose(&actions, ends[1])
    var words = arguments.map { strdup($0) } + [nil]
    var inherited: [UnsafeMutablePointer<CChar>?] = []
    while let variable = environ[inherited.count] { inherited.append(variable) }
    let additions = environment.map { strdup($0) }
    var variables = additions + inherited + [nil]
    var child = pid_t()
    let failure = posix_spawn(&child, program, &actions, nil, &words, &variables)
    for word in words + additions { free(word) }
    posix_spawn_file_actions_destroy(&actions)
    close(ends[1])
    let output = failure == 0 ? readAll(ends[0]) : []
    close(ends[0])
    if failure == 0 { waitpid(child, nil, 0) }
    return output
  }

  private static func readAll(_ descriptor: Int32) -> [UInt8] {
    var all: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 4096)
    while case let count = read(descriptor, &part, part.count), count > 0 { all += part.prefix(count) }
    return all
  }
}
