// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport
import FoundationEssentials
import Glibc

/// Runs each operation on GrandCentral and on the toolchain's libdispatch, and says which was faster and by how much.
enum Duel {
  static func start(_ words: [String]) -> Never {
    do {
      exit(try run(Arguments(words)))
    } catch {
      Output.error.line("duel: \(error)\n\(Arguments.usage)")
      exit(2)
    }
  }

  private static func run(_ arguments: Arguments) throws -> Int32 {
    if let wanted = arguments.sample {
      try FreshProcess.answer(wanted.side, wanted.name, wanted.count)
    }
    let thresholds = try Thresholds.load(besideNeighbours: arguments.neighbours > 0)
    let contests = Contest.all(arguments).filter { thresholds.concerns($0.ours) }
    if arguments.listsOnly {
      for contest in contests { Output.standard.line(contest.ours.name) }
      return 0
    }
    // Before there are threads: the neighbours are forked.
    if arguments.neighbours > 0, bench_start_neighbours(Int32(arguments.neighbours)) != 0 {
      throw Arguments.Failure.badValue("--neighbours")
    }
    let progress: Output = arguments.printsJSON ? .error : .standard
    if arguments.neighbours == 0, let load = Machine.load, load > Double(Processors.usable.count) / 2 {
      Output.error.line("duel: the machine is busy (load \(short(load))); rows that block will not say much")
    }
    let peers = arguments.hasPeers ? Peers() : nil
    progress.line(Console.head)
    var rows: [Row] = []
    var failures: [Row] = []
    for contest in contests {
      let results = contest.rows()
      for row in peers?.join(results, of: contest) ?? results {
        progress.line(Console.line(row, thresholds: thresholds))
        if let line = PeerReport.line(row) { progress.line(line) }
        rows.append(row)
      }
    }
    progress.line(Console.summary(rows))
    if arguments.isGate {
      failures = confirmed(rows.filter(thresholds.isExceeded), contests, thresholds)
      for row in failures {
        Output.error.line("error: \(row.name) is \(short(row.ratio?.median ?? 0)), its bar \(thresholds.bar(row.name))")
      }
    }
    try write(rows, arguments, thresholds)
    return failures.isEmpty ? 0 : 1
  }

  /// Rows that are above their bar in a second measurement too: a noisy neighbour rarely comes twice.
  private static func confirmed(_ suspects: [Row], _ contests: [Contest], _ thresholds: Thresholds) -> [Row] {
    let names = Set(suspects.map(\.name))
    return contests.filter { contest in contest.ours.figures.contains { names.contains(contest.ours.rowName($0)) } }
      .flatMap { $0.rows() }
      .filter { names.contains($0.name) && thresholds.isExceeded(by: $0) }
  }

  private static func write(_ rows: [Row], _ arguments: Arguments, _ thresholds: Thresholds) throws {
    if arguments.printsJSON {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      Output.standard.line(String(decoding: try encoder.encode(rows), as: UTF8.self))
    }
    if let path = arguments.markdown {
      let report = Markdown(rows: rows, thresholds: thresholds).text + (try PeerReport.section(rows))
      try Data(report.utf8).write(to: URL(filePath: path))
    }
    if let path = arguments.svg {
      try Data(Chart(rows).text.utf8).write(to: URL(filePath: path))
    }
  }
}
