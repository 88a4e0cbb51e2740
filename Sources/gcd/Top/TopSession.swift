// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// Looks at one process again and again.
final class TopSession {
  let process: Int32
  private let rules: FindingRules
  private var live: TopFindings
  private let wantsRecords: Bool
  private var collector: TopCollector?
  private let trace = TopTrace()
  private var triesRecording = true
  /// Those of the program that the process is, or was at the last look.
  private var regions: Set<UInt64> = []
  private lazy var symbols = WhyRun.symbols(ProcessSymbols(process))

  init(_ process: Int32, _ rules: FindingRules, wantsRecords: Bool) {
    self.process = process
    self.rules = rules
    live = TopFindings(rules)
    self.wantsRecords = wantsRecords
  }

  func look() throws(RegionFailure) -> TopModel {
    let snapshot = try Snapshot(process: process)
    if snapshot.regions != regions { begin(snapshot.regions) }
    // The first look may find a process that has only begun: then the second one has records.
    if wantsRecords, triesRecording {
      triesRecording = false
      collector = TopCollector(process)
    }
    var report = WhyAnalysis.report(snapshot, rules, symbol: symbols)
    let seen = RegionClock.now().uptime
    let running = snapshot.threads.compactMap { thread in
      thread.item.map { TopRatesCounter.Running(queue: $0.queue, begun: seen - min($0.age, seen)) }
    }
    let rates = collector?.take(running: running)
    let now = RegionClock.now().uptime
    report.findings = WhyReport.ordered(report.findings + rules.kept(live.findings(snapshot, rates, now: now)))
    return TopModel(
      snapshot: snapshot, report: report, rates: rates, uptime: now, clock: String(Timestamp().local.prefix(8)))
  }

  /// What was known is of another program: the process has become this one, or has another copy of the library.
  private func begin(_ found: Set<UInt64>) {
    let isFirst = regions.isEmpty
    regions = found
    if isFirst { return }
    collector?.end()
    collector = nil
    triesRecording = true
    live = TopFindings(rules)
    symbols = WhyRun.symbols(ProcessSymbols(process))
  }

  /// Between two looks: a process that is busy fills its room in a part of a second.
  func collect() { collector?.collect() }

  var isRecording: Bool { collector != nil }

  /// Begins to write the last seconds as a trace; returns a line that says so.
  func beginTrace() -> String {
    guard let collector else { return "Nothing is recorded here, so there is no trace to write." }
    do throws(RegionFailure) {
      return trace.begin(try collector.kept(), process: process) ? "Writing a trace …" : "A trace is being written …"
    } catch { return error.words }
  }

  /// A line about the trace that has been written since the last call.
  func takeTraceOutcome() -> String? { trace.takeOutcome() }

  func end() {
    collector?.end()
    collector = nil
    // A file that is cut off would be of less use.
    trace.finish()
  }
}

/// The processes that show something, for `gcd top --all`.
struct TopList: Sendable {
  static let columns: [TopColumn] = [
    TopColumn(title: "PID", width: 7, help: "the number of the process"),
    TopColumn(title: "NAME", width: 15, isRight: false, help: "its name"),
    TopColumn(title: "WORKERS", width: 7, rank: 2, help: "threads of its pool"),
    TopColumn(title: "ACTIVE", width: 6, rank: 3, help: "workers that are active"),
    TopColumn(title: "WAITING", width: 7, rank: 1, help: "threads that wait in one of the library's calls"),
    TopColumn(title: "FINDINGS", width: 20, isRight: false, isElastic: true, help: "how many there are, and the first"),
  ]

  /// All processes that the kernel lets us look at.
  static func look(_ rules: FindingRules) -> [TopModel] {
    processes().compactMap { pid in
      guard pid != getpid(), let snapshot = try? Snapshot(process: pid) else { return nil }
      return TopModel(snapshot: snapshot, report: WhyAnalysis.report(snapshot, rules))
    }
  }

  static func table(_ models: [TopModel]) -> TopTable {
    TopTable(
      columns: columns,
      rows: models.map { model in
        let snapshot = model.snapshot
        let findings = model.report.findings
        let first = findings.first.map { "\(findings.count): \($0.sentence)" } ?? ""
        let waiting = snapshot.threads.count { $0.state == .waiting }
        return TopRow(
          id: String(snapshot.pid),
          cells: [
            TopCell(String(snapshot.pid), order: -Double(snapshot.pid)), TopCell(snapshot.program.name),
            TopCell(String(snapshot.workers.count), order: Double(snapshot.workers.count)),
            TopCell(String(snapshot.workers.count { $0.state == .active })),
            TopCell(String(waiting), waiting > 0 ? .warning : .plain, order: Double(waiting)),
            TopCell(first, findings.first?.kind == .cycle ? .alarm : .warning, order: Double(findings.count)),
          ])
      })
  }

  private static func processes() -> [Int32] {
    guard let folder = opendir("/proc") else { return [] }
    defer { closedir(folder) }
    var found: [Int32] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if let pid = Int32(name) { found.append(pid) }
    }
    return found.sorted()
  }
}
