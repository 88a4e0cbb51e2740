// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc

/// One run of `gcd trace`.
final class TraceRun {
  private let options: TraceOptions
  private let process: pid_t
  private let command: TracedCommand?
  private let output: TraceOutput
  private let writer: PerfettoWriter
  private var collectors: [Collector] = []
  private var known: Set<UInt64> = []
  private let begun = RegionClock.start.uptime
  private var nextSearch: UInt64 = 0
  /// Records of a process that was there before are left out if they are older.
  private let since: UInt64

  /// The exit code if the trace could not be written.
  private static let notWritten: Int32 = 1
  /// As of `env`: the tool's own failures where a command's exit codes are passed on.
  private static let ownFailure: Int32 = 125

  static func start(_ options: TraceOptions) -> Never {
    _ = RegionClock.start
    switch options.subject {
    case .process(let process): trace(process, options)
    case .core(let path): trace(core: path, options)
    case .command(let words): trace(words, options)
    }
  }

  // MARK: A process that runs

  private static func trace(_ process: pid_t, _ options: TraceOptions) -> Never {
    Interrupt.install()
    let regions: [RegionReader]
    do throws(RegionFailure) {
      regions = try RegionFinder.regions(of: process, writable: options.last == nil)
    } catch {
      fail(error.words, error.code)
    }
    if options.last != nil { requireRecords(regions, process) }
    if options.last == nil {
      if regions.contains(where: { $0.isCollected }) { failAsRecorded(process) }
      for region in regions { region.dropLeftovers(of: process) }
    }
    let run = TraceRun(options, process, nil, since: RegionClock.start.counter)
    for region in regions { run.add(region) }
    if options.last != nil { run.dump() } else { run.collect() }
    run.end()
  }

  private static func failAsRecorded(_ process: pid_t) -> Never {
    fail("process \(process) is recorded by another tool, which takes the records away", notWritten)
  }

  private static func requireRecords(_ regions: [RegionReader], _ process: pid_t) {
    guard regions.allSatisfy({ $0.chunkCount == 0 }) else { return }
    fail("process \(process) has no flight recorder: start it with GRANDCENTRAL_RECORD=ring in its environment", 4)
  }

  // MARK: A core file

  private static func trace(core path: String, _ options: TraceOptions) -> Never {
    let file: CoreFile
    do throws(RegionFailure) { file = try CoreFile(path) } catch { fail(error.words, error.code) }
    requireRecords(file.regions, file.process)
    let run = TraceRun(options, file.process, nil, since: 0)
    for region in file.regions { run.add(region, TracedProcess(file)) }
    run.dump()
    run.end()
  }

  // MARK: A command

  private static func trace(_ words: [String], _ options: TraceOptions) -> Never {
    // Where the trace goes is found out before anything runs.
    let output = open(options, "\(getpid())", ownFailure)
    let command: TracedCommand
    do throws(TracedCommand.Failure) {
      command = try TracedCommand.start(words, library: options.library)
    } catch {
      output.discard()
      fail(error.words, error.code)
    }
    TraceOutput.ignoreSignals()
    let run = TraceRun(options, command.process, command, since: 0, output)
    run.collect()
    run.finish()
    run.tell()
    command.endAlike()
  }

  private init(
    _ options: TraceOptions, _ process: pid_t, _ command: TracedCommand?, since: UInt64, _ output: TraceOutput? = nil
  ) {
    self.options = options
    self.process = process
    self.command = command
    self.since = options.last == nil ? since : 0
    self.output = output ?? Self.open(options, "\(process)", Self.notWritten)
    if command == nil { TraceOutput.ignoreSignals() }
    writer = PerfettoWriter(self.output)
  }

  private static func open(_ options: TraceOptions, _ name: String, _ code: Int32) -> TraceOutput {
    let file = options.output ?? "gcd-\(name).pftrace"
    do { return try TraceOutput(file) } catch {
      fail("\(TextLayout.printable(file)): \(String(cString: strerror(error.code)))", code)
    }
  }

  private func add(_ region: RegionReader, _ process: TracedProcess? = nil) {
    known.insert(region.memory.identity)
    // A process in a container has another number for itself; of a command it may be a child that the region is of.
    let (number, identity) = (command == nil ? self.process : region.process, region.memory.identity)
    let process = process ?? TracedProcess(running: number, region: identity, list: region.listOfFiles)
    let switched = command == nil ? 0 : TracedCommand.switchedOn
    collectors.append(
      Collector(region, writer, number: collectors.count, process, since: since, switched: switched))
  }

  // MARK: Collecting

  /// Collects until the process ends, the requested amount is there, or the user presses Ctrl-C.
  private func collect() {
    if command == nil, !collectors.allSatisfy({ $0.beginAlone() }) {
      for collector in collectors { collector.stopRecording() }
      output.discard()
      Self.failAsRecorded(process)
    }
    let end = gc_pidfd_open(process)
    defer { if end >= 0 { close(end) } }
    var pause: Int32 = 0
    while true {
      let hasEnded = hasEnded(end, waiting: pause)
      search()
      for collector in collectors { collector.keepRecording(limit: limit(of: collector)) }
      let pass = passOver()
      if hasEnded || isDone { break }
      // What a chunk holds is written in a fraction of a millisecond by a thread that does nothing else.
      let isBusy = pass.fullChunks > 0 || pass.backlog > 0
      pause = collectors.isEmpty ? searchPause : isBusy ? 0 : pass.records > 0 ? 2 : min(20, pause + 2)
    }
    for collector in collectors { collector.stopRecording() }
    passOver(isLast: true)
  }

  @discardableResult
  private func passOver(isLast: Bool = false) -> Collector.Pass {
    var sum = Collector.Pass()
    for collector in collectors {
      let pass = collector.pass(limit: limit(of: collector), isLast: isLast)
      sum.records += pass.records
      sum.fullChunks += pass.fullChunks
      sum.backlog += pass.backlog
    }
    return sum
  }

  /// How many records one of them may have taken in all.
  private func limit(of collector: Collector) -> UInt64 {
    let taken = collectors.reduce(0) { $0 + $1.taken } - collector.taken
    return options.count.map { $0 > taken ? $0 - taken : 0 } ?? .max
  }

  private var isDone: Bool {
    if output.failure != nil || (command == nil && Interrupt.isRequested) { return true }
    if let count = options.count, collectors.reduce(0, { $0 + $1.taken }) >= count { return true }
    guard let seconds = options.seconds else { return false }
    return Double(RegionClock.now().uptime - begun) / 1e9 >= seconds
  }

  /// A short program ends unseen if the tool does not look often.
  private var searchPause: Int32 {
    let passed = RegionClock.now().uptime - begun
    return passed < 200_000_000 ? 0 : passed < 2_000_000_000 ? 1 : 20
  }

  /// Whether the process has ended; waits at most so many milliseconds for it.
  private func hasEnded(_ descriptor: Int32, waiting pause: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    if poll(&entry, 1, pause) > 0 { return true }
    guard descriptor < 0 else { return false }
    // A command that has ended keeps its number until it is waited for.
    return command.map(\.hasEnded) ?? (kill(process, 0) != 0 && errno == ESRCH)
  }

  /// Looks for regions that were not there before: the library makes one when it is used, and a program that becomes another
  /// one has another one.
  private func search() {
    while let region = command?.offer?.next() {
      if !known.contains(region.memory.identity) { add(region) }
    }
    let now = RegionClock.now().uptime
    guard now >= nextSearch else { return }
    if !collectors.isEmpty { nextSearch = now + 50_000_000 }
    // None yet, or none any more: that shows later.
    // What a command's children have made of its pages is recorded as well.
    let isCommand = command != nil
    let found = try? RegionFinder.regions(of: process, writable: true, except: known, ofOthers: isCommand)
    for region in found ?? [] { add(region) }
  }

  // MARK: The flight recorder

  /// Writes what the process has kept, without a change to it.
  private func dump() {
    for collector in collectors {
      if let seconds = options.last { collector.leaveOut(before: seconds) }
      collector.pass(releases: false, isLast: true)
    }
  }

  // MARK: The end

  private func end() -> Never {
    finish()
    tell()
    exit(output.failure == nil ? 0 : Self.notWritten)
  }

  private func finish() {
    // An empty trace is a valid one.
    if collectors.isEmpty { _ = writer.track("process \(process)", .process(process)) }
    for collector in collectors { collector.finish() }
    writer.flush()
  }

  private func tell() {
    let lost = collectors.reduce(0) { $0 + $1.lost }
    if let failure = output.failure {
      Self.tell(output.report(failure, whole: false))
    } else if options.output == nil {
      let (events, bytes) = (NumberFormat.grouped(writer.events), NumberFormat.grouped(output.written))
      Self.tell("\(output.name): \(events) events, \(bytes) bytes")
    }
    if lost > 0 { Self.tell("\(NumberFormat.grouped(lost)) records were lost: the trace says where") }
    if collectors.contains(where: { $0.hasStoodStill }) {
      Self.tell("recording stood still for a while, as the tool was late: the trace says where")
    }
    if collectors.isEmpty {
      Self.tell("the command has used no GrandCentral, or ended at once\(RegionOffer.hint): the trace is empty")
    }
  }

  private static func tell(_ text: String) { Terminal.write("gcd: \(text)\n", to: .error) }

  private static func fail(_ text: String, _ code: Int32) -> Never {
    tell(text)
    exit(code)
  }
}

extension TracedCommand.Failure {
  var words: String {
    switch self {
    case .library(let failure): failure.words(ProgramRun.words)
    case .program(let failure): failure.words(ProgramRun.words)
    case .refused(let name, let obstacles):
      obstacles.map { "\(TextLayout.printable(name)) \($0.words)" }.joined(separator: "\ngcd: ")
    case .notStarted(let name, let code): "\(TextLayout.printable(name)): \(ProgramRun.words(code))"
    }
  }

  /// As of `env`.
  var code: Int32 {
    switch self {
    case .library, .refused: 125
    case .program(let failure): failure.code
    case .notStarted: 126
    }
  }
}
