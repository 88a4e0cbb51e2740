// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral

/// One run of `gcd watch`, from the options to the exit code.
final class WatchRun: @unchecked Sendable {  // why: touched on the ledger's queue only, once it has begun
  private let options: WatchOptions
  private let ledger: WatchLedger
  private let printer: ChangePrinter
  private let stopwatch = Stopwatch()
  private var paths: [WatchedPath] = []
  private var runner: CommandRunner?
  private var signals: [any DispatchSourceSignal] = []
  /// The paths of which something may still be seen.
  private var unlost = 0
  private var events = 0
  private var changed: Set<Path> = []
  private var isEnding = false
  private var hasToldLimit = false

  /// Watches, and ends the process.
  static func start(_ options: WatchOptions) -> Never {
    let run = WatchRun(options)
    run.ledger.queue.async { run.begin() }
    dispatchMain()
  }

  private init(_ options: WatchOptions) {
    self.options = options
    // An output without a reader ends the tool as all else does that ends it: with its command.
    let ignored = TraceOutput.signals.filter { !Interrupt.isIgnored($0) }
    TraceOutput.ignoreSignals()
    EndOfProcess.keepAll()
    let limit = WatchLimit(raisedTo: options.limit)
    ledger = WatchLedger(limit: limit.objects)
    printer = ChangePrinter(printsJSON: options.printsJSON)
    if let command = options.command {
      runner = CommandRunner(
        command, descriptors: limit.formerDescriptors, ignored: ignored,
        debounceMilliseconds: options.debounceMilliseconds, on: ledger.queue, complain: { Self.complain($0) })
    }
  }

  private func begin() {
    listenForSignals()
    for name in options.paths {
      let path = WatchedPath(
        name, ledger, report: { self.report($0) },
        complain: { Self.complain("\($0.path.shown): \($0.reason)") }, lost: { self.lost() })
      paths.append(path)
    }
    unlost = paths.count
    for path in paths { path.begin(isRecursive: options.isRecursive, isFull: { self.tellLimit() }) }
    ledger.whenAllWatch { if !self.isEnding { self.tellWhat() } }
  }

  // MARK: What there is to say

  private static func complain(_ text: String) { Terminal.write("gcd: \(text)\n", to: .error) }

  private func tellWhat() {
    let left = ledger.unreadable
    Self.complain(
      "watching \(Self.counted(ledger.files, "file")) and \(Self.counted(ledger.folders, "folder"))"
        + (left == 0 ? "" : "; \(NumberFormat.grouped(left)) cannot be read"))
  }

  private func tellLimit() {
    if hasToldLimit { return }
    hasToldLimit = true
    Self.complain(
      "the limit of files and folders is reached: further ones are seen only as entries of their folders. "
        + "See --limit, ulimit -n, and fs.inotify.max_user_watches.")
  }

  private static func counted(_ count: Int, _ noun: String) -> String {
    "\(NumberFormat.grouped(count)) \(noun)" + (count == 1 ? "" : "s")
  }

  private func summary() -> String {
    var text = "\(Self.counted(events, "event")) on \(Self.counted(changed.count, "path"))"
    text += " in \(NumberFormat.duration(stopwatch.seconds))"
    if let runner {
      text += "; the command ran \(Self.counted(runner.runs, "time"))"
      if runner.failures > 0 { text += ", \(NumberFormat.grouped(runner.failures)) failed" }
    }
    return text
  }

  // MARK: Events

  private func report(_ change: Change) {
    if isEnding { return }
    let paths = [change.former, change.path, change.latter].compactMap { $0 }
    guard printer.write(change) else { return end(EXIT_FAILURE) }
    events += 1
    changed.formUnion(paths)
    runner?.note(paths)
    if events == options.count { end(EXIT_SUCCESS, runsRest: true) }
  }

  private func lost() {
    unlost -= 1
    if unlost > 0 || isEnding { return }
    Self.complain("nothing is left to watch")
    end(EXIT_FAILURE)
  }

  // MARK: The end

  private func listenForSignals() {
    for number in [SIGINT, SIGTERM, SIGHUP] where !Interrupt.isIgnored(number) {
      let source = DispatchSource.makeSignalSource(signal: number, queue: ledger.queue)
      ledger.sources.enter()
      source.setEventHandler {
        // A second interrupt is meant for a command that does not end. A terminal that closes may send SIGHUP twice: the shell does, and
        // then the kernel.
        if !self.isEnding { self.end(EXIT_SUCCESS) } else if number != SIGHUP { self.runner?.signal(SIGKILL) }
      }
      source.setCancelHandler { self.ledger.sources.leave() }
      source.activate()
      signals.append(source)
    }
  }

  /// Cancels all sources, lets the command end, and leaves when everything has ended.
  private func end(_ code: Int32, runsRest: Bool = false) {
    if isEnding { return }
    isEnding = true
    ledger.close()
    for path in paths { path.cancel() }
    let cancelSignals = { for source in self.signals { source.cancel() } }
    if let runner { runner.finish(runsRest: runsRest, cancelSignals) } else { cancelSignals() }
    ledger.sources.notify(queue: ledger.queue) {
      Self.complain(self.summary())
      DispatchQueue.main.async { exit(code) }
    }
  }
}
