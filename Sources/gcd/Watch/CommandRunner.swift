// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral

/// Runs a command after changes: some time after the last one, never twice at once.
final class CommandRunner: @unchecked Sendable {  // why: touched on `queue` only
  private let command: String
  /// How many descriptors it may have open; nil for as many as this process.
  private let descriptors: Int?
  /// What this process ignores, and its caller does not.
  private let ignored: [Int32]
  private let pause: DispatchTimeInterval
  private let queue: DispatchQueue
  private let complain: @Sendable (String) -> Void
  private var timer: (any DispatchSourceTimer)?
  /// What has changed since the last start, each path once, in this order.
  private var changed: [Path] = []
  private var isListed: Set<Path> = []
  /// The time after the last change is over.
  private var isDue = false
  private var process: pid_t?
  private var isEnding = false
  private var whenDone: (() -> Void)?
  private(set) var runs = 0
  private(set) var failures = 0

  init(
    _ command: String, descriptors: Int?, ignored: [Int32], debounceMilliseconds: Int, on queue: DispatchQueue,
    complain: @escaping @Sendable (String) -> Void
  ) {
    self.command = command
    self.descriptors = descriptors
    self.ignored = ignored
    pause = .milliseconds(debounceMilliseconds)
    self.queue = queue
    self.complain = complain
  }

  /// Something has happened to these.
  func note(_ paths: [Path]) {
    for path in paths where isListed.insert(path).inserted { changed.append(path) }
    isDue = false
    let timer = self.timer ?? makeTimer()
    timer.schedule(deadline: .now() + pause)
  }

  /// No more changes. Runs the command once more if it is due and `runsRest`, else asks a running one to end; calls `done`
  /// when none runs.
  func finish(runsRest: Bool, _ done: @escaping () -> Void) {
    isEnding = true
    timer?.cancel()
    whenDone = done
    isDue = runsRest && !changed.isEmpty
    if !runsRest {
      signal(SIGTERM)
      // One that is stopped ends only when it goes on: it may have read from the terminal.
      signal(SIGCONT)
    }
    advance()
  }

  /// Sends a signal to the command and all it has started.
  func signal(_ number: Int32) {
    if let process { kill(-process, number) }
  }

  private func makeTimer() -> any DispatchSourceTimer {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler {
      if self.isEnding { return }
      self.isDue = true
      self.advance()
    }
    timer.activate()
    self.timer = timer
    return timer
  }

  private func advance() {
    if process != nil { return }
    if isDue { start() }
    if isEnding, process == nil, let done = whenDone {
      whenDone = nil
      done()
    }
  }

  private func start() {
    isDue = false
    let paths = changed
    changed = []
    isListed = []
    runs += 1
    let variable = (name: "GCD_PATHS", value: Self.joined(paths))
    switch ShellCommand.start(command, descriptors: descriptors, ignored: ignored, variable: variable) {
    case .failure(let problem):
      failures += 1
      complain("the command cannot be started: \(problem.reason)")
    case .success(let started):
      process = started
      awaitEnd(of: started)
    }
  }

  /// The kernel takes no variable of more than 128 KiB.
  private static let longestVariable = 100_000

  private static func joined(_ paths: [Path]) -> [UInt8] {
    var bytes: [UInt8] = []
    for path in paths {
      if bytes.count + path.bytes.count >= longestVariable { break }
      if !bytes.isEmpty { bytes.append(UInt8(ascii: "\n")) }
      bytes += path.bytes
    }
    return bytes
  }

  private func awaitEnd(of child: pid_t) {
    let source = DispatchSource.makeProcessSource(identifier: child, eventMask: .exit, queue: queue)
    source.setEventHandler {
      source.cancel()
      var word: Int32 = 0
      while waitpid(child, &word, 0) < 0, errno == EINTR {}
      self.ended(EndOfProcess.status(word))
    }
    source.activate()
  }

  private func ended(_ status: DispatchSource.ProcessExitStatus) {
    process = nil
    if status != .exited(code: 0), !(isEnding && status == .killed(signal: SIGTERM, dumpedCore: false)) {
      failures += 1
      complain("the command \(EndOfProcess.words(status))")
    }
    advance()
  }
}
