// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import GrandCentralTesting
import Testing

// How often the wrong patterns fail in reality, on the library's own engine and without a simulation:
//
//     GC_NATURAL_RATES=FILE swift test -c release --filter SimulationTests.NaturalTests
//
// Each pattern runs up to 10,000 times, in processes of its own: this test starts its own program again, with the name of the pattern in
// the environment. A process goes on until a run hangs or brings it down: one that takes two seconds hangs, or ten in a pattern that waits
// for seconds by design. A pattern has a minute, so one that mostly hangs, or waits, has fewer runs. GC_NATURAL_ONLY names the beginning of
// the only patterns that are wanted.
private let budget = Duration.seconds(60)
private let mostRuns = 10_000

private func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

/// The library as it is: what a simulation does is awaited, or looked at.
private final class Reality: Stage, @unchecked Sendable {  // written by items of wrong programs
  private(set) var hasFailed = false

  func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
    if !condition { hasFailed = true }
  }

  func advance(by duration: Duration) {
    let (seconds, attoseconds) = duration.components
    usleep(UInt32(seconds * 1_000_000 + attoseconds / 1_000_000_000_000))
  }

  /// Until the engine has nothing to do, seen twice.
  func run() {
    var seen = 0
    while seen < 2 {
      seen = Self.isAtRest ? seen + 1 : 0
      usleep(20)
    }
  }

  private static var isAtRest: Bool {
    if SimulationSupport.timersLeft > 0 || SimulationSupport.isOwed { return false }
    return GrandCentralRuntime.snapshot().threads.allSatisfy { thread in
      if case .worker = thread.role, case .asleep = thread.state { return true }
      if case .worker = thread.role { return false }
      return true
    }
  }
}

@Suite("Natural rates", .serialized)
struct NaturalTests {
  /// In a process of its own: writes a letter for each run.
  @Test("Runs of one pattern", .enabled(if: variable("GC_NATURAL_PATTERN") != nil))
  func runs() throws {
    let name = try #require(variable("GC_NATURAL_PATTERN"))
    let pattern = try #require(Pattern.all.first { $0.name == name })
    let count = try #require(variable("GC_NATURAL_RUNS").flatMap { Int($0) })
    let file = open(try #require(variable("GC_NATURAL_LETTERS")), O_WRONLY | O_APPEND | O_CLOEXEC)
    // The test library has come so far.
    write(file, "b", 1)
    for _ in 0..<count {
      let stage = Reality()
      pattern.body(stage, false)
      // What the body has left behind ends, too.
      stage.run()
      write(file, stage.hasFailed ? "F" : ".", 1)
    }
    // Nothing more: the test library would wait for what hangs.
    exit(0)
  }

  @Test("The table", .enabled(if: variable("GC_NATURAL_RATES") != nil && variable("GC_NATURAL_PATTERN") == nil))
  func table() throws {
    let output = open(try #require(variable("GC_NATURAL_RATES")), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
    let only = variable("GC_NATURAL_ONLY") ?? ""
    for pattern in Pattern.all where pattern.name.hasPrefix(only) {
      let rate = try Rate(of: pattern.name)
      let line =
        "\(pattern.name) | \(rate.failed + rate.hung + rate.ended) of \(rate.runs) | "
        + "\(rate.failed) wrong, \(rate.hung) hang, \(rate.ended) end the process\n"
      _ = line.withCString { write(output, $0, strlen($0)) }
    }
    close(output)
  }
}

private struct Rate {
  var (runs, failed, hung, ended) = (0, 0, 0, 0)

  init(of name: String) throws {
    let clock = ContinuousClock()
    let end = clock.now + budget
    let patience = Duration.seconds(name.hasPrefix("time-out") ? 10 : 2)
    while runs < mostRuns, clock.now < end {
      var path = Array("/tmp/gc-natural-XXXXXX".utf8CString)
      let file = mkstemp(&path)
      let letters = String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      defer {
        close(file)
        unlink(letters)
      }
      let process = try Self.start(name, mostRuns - runs, letters)
      var (seen, moved, status) = (0, clock.now, Int32(0))
      while true {
        if waitpid(process, &status, WNOHANG) == process { break }
        let now = count(file)
        if now != seen { (seen, moved) = (now, clock.now) }
        let isStarting = seen == 0 && clock.now < moved + .seconds(20)
        if clock.now >= end || !isStarting && clock.now >= moved + patience {
          kill(process, SIGKILL)
          waitpid(process, &status, 0)
          // A run that is under way at the end is none.
          if clock.now < end {
            hung += 1
            runs += 1
          }
          status = 0
          break
        }
        usleep(2_000)
      }
      take(file)
      if status != 0 {
        ended += 1
        runs += 1
      }
    }
  }

  private func count(_ file: Int32) -> Int {
    var facts = stat()
    fstat(file, &facts)
    return Int(facts.st_size)
  }

  private mutating func take(_ file: Int32) {
    var bytes = [UInt8](repeating: 0, count: count(file))
    let length = pread(file, &bytes, bytes.count, 0)
    runs += max(0, length - 1)
    failed += bytes.filter { $0 == UInt8(ascii: "F") }.count
  }

  /// This program again, with this test alone.
  private static func start(_ name: String, _ runs: Int, _ letters: String) throws -> pid_t {
    var words = CommandLine.arguments
    if let filter = words.firstIndex(of: "--filter"), filter + 1 < words.count {
      words[filter + 1] = "SimulationTests.NaturalTests/runs"
    }
    let own = ["GC_NATURAL_PATTERN=\(name)", "GC_NATURAL_RUNS=\(runs)", "GC_NATURAL_LETTERS=\(letters)"]
    var variables = own
    var variable = environ
    while let text = variable.pointee {
      variables.append(String(cString: text))
      variable += 1
    }
    var arguments = words.map { strdup($0) } + [nil]
    var environment = variables.map { strdup($0) } + [nil]
    defer { for text in arguments + environment { free(text) } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for number: Int32 in 1...2 { posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_WRONLY, 0) }
    var process = pid_t()
    let error = posix_spawn(&process, "/proc/self/exe", &actions, nil, &arguments, &environment)
    try #require(error == 0)
    return process
  }
}
