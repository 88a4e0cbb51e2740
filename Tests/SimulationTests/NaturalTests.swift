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
// for seconds by design. GC_NATURAL_JOBS says how many processes of a pattern run beside each other, one without it, and GC_NATURAL_SECONDS
// how long a pattern may take, a minute without it: one that mostly hangs, or waits, may have fewer runs. GC_NATURAL_ONLY names the
// beginning of the only patterns that are wanted.
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
    let jobs = variable("GC_NATURAL_JOBS").flatMap { Int($0) } ?? 1
    let end = ContinuousClock.now + .seconds(variable("GC_NATURAL_SECONDS").flatMap { Int($0) } ?? 60)
    var children: [Child] = []
    while true {
      while children.count < jobs, ContinuousClock.now < end {
        let left = mostRuns - runs - children.reduce(0) { $0 + $1.share }
        if left <= 0 { break }
        children.append(try Child(name, share: min(left, (mostRuns + jobs - 1) / jobs)))
      }
      if children.isEmpty { return }
      for index in children.indices.reversed() {
        guard let fate = children[index].fate(until: end) else { continue }
        take(children.remove(at: index), fate)
      }
      usleep(2_000)
    }
  }

  private mutating func take(_ child: Child, _ fate: Child.Fate) {
    let letters = child.letters
    runs += letters.count
    failed += letters.filter { $0 == UInt8(ascii: "F") }.count
    switch fate {
    case .done: break
    case .hangs: (runs, hung) = (runs + 1, hung + 1)
    case .ended: (runs, ended) = (runs + 1, ended + 1)
    }
    child.forget()
  }
}

/// A process that runs a pattern, and the file with a letter for each of its runs.
private struct Child {
  enum Fate { case done, hangs, ended }

  let share: Int
  private let patience: Duration
  private let file: Int32
  private let path: String
  private let process: pid_t
  private var (seen, moved) = (0, ContinuousClock.now)

  init(_ name: String, share: Int) throws {
    var template = Array("/tmp/gc-natural-XXXXXX".utf8CString)
    file = mkstemp(&template)
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    self.share = share
    patience = .seconds(name.hasPrefix("time-out") ? 10 : 2)
    process = try Self.start(name, share, path)
  }

  /// What has become of it; nil while it goes on. At the end it is stopped, and a run that is under way then is none.
  mutating func fate(until end: ContinuousClock.Instant) -> Fate? {
    var status: Int32 = 0
    if waitpid(process, &status, WNOHANG) == process { return status == 0 ? .done : .ended }
    let now = ContinuousClock.now
    let count = size
    if count != seen { (seen, moved) = (count, now) }
    let isStarting = seen == 0 && now < moved + .seconds(20)
    guard now >= end || !isStarting && now >= moved + patience else { return nil }
    kill(process, SIGKILL)
    waitpid(process, &status, 0)
    return now < end ? .hangs : .done
  }

  private var size: Int {
    var facts = stat()
    fstat(file, &facts)
    return Int(facts.st_size)
  }

  /// Those of its runs: the first one of the file says that the test library has come so far.
  var letters: ArraySlice<UInt8> {
    var bytes = [UInt8](repeating: 0, count: size)
    let length = pread(file, &bytes, bytes.count, 0)
    return bytes.prefix(max(0, length)).dropFirst()
  }

  func forget() {
    close(file)
    unlink(path)
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
