// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit

/// The report as a document.
struct Markdown {
  let rows: [Row]
  let thresholds: Thresholds

  var text: String {
    var lines = [
      "# Performance",
      "",
      "GrandCentral against the libdispatch of the Swift toolchain, in one process and in alternating order: made by",
      "`Scripts/benchmark duel \(hasPeers ? "--peers " : "")--markdown Documentation/Performance.md`.",
      "",
      "- Machine: \(Machine.description)",
      "- Library: \(Machine.library)",
      "- *ratio*: our time divided by libdispatch's in the same round, the median over the rounds (least to greatest);",
      "  below 1 we are faster. *target*: what the ratio ought to be at most. There is a [chart of the ratios](performance.svg).",
      "- Times, CPU time of the whole process, allocations, context switches and system calls are per operation: ours /",
      "  libdispatch. System calls are those of a process of its own, where the kernel lets them be counted.",
      "- A row that ends in `.cpu` compares CPU time; one that ends in `.p50`, `.schedule` or the like, that part.",
    ]
    if hasPeers { lines.append(PeerReport.explanation) }
    var group: Character?
    for row in rows {
      if row.name.first != group {
        group = row.name.first
        lines += ["", "## \(group.flatMap { Self.titles[$0] } ?? "Others")", "", head, rule]
      }
      lines.append(line(row))
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private var hasPeers: Bool { rows.contains { $0.peers != nil } }

  private var head: String {
    "| row | ratio | target | time | CPU ns | allocations | switches | system calls |"
      + (hasPeers ? PeerReport.columnHead : "")
  }

  private var rule: String { "|---|---|---|---|---|---|---|---|" + (hasPeers ? "---|" : "") }

  private static let titles: [Character: String] = [
    "A": "Serial async", "B": "Uncontended sync", "C": "Contended sync", "D": "Concurrent async",
    "E": "Hops between queues", "F": "One thread waits for another", "G": "concurrentPerform",
    "H": "Groups, work items, small calls", "I": "Many queues, short-lived queues", "J": "asyncAfter",
    "K": "Sources of descriptors", "L": "Items that block", "M": "Readers and barriers", "N": "Idling",
    "P": "First use, urgent over background", "Q": "DispatchData", "R": "DispatchIO",
    "X": "Pools; actors on queues, beside actors on Swift's default executor",
  ]

  private func line(_ row: Row) -> String {
    func pair(_ text: (Cost) -> String) -> String { text(row.ours) + " / " + (row.theirs.map(text) ?? "-") }
    let ratio = row.ratio.map { "**\(fixed($0.median, 2))** (\(fixed($0.least, 2))–\(fixed($0.greatest, 2)))" } ?? "-"
    let target = thresholds.targets[row.name].map { "≤ \($0)" } ?? ""
    var cells = [
      "`\(row.name)`", ratio, target,
      pair { quantity($0.nanoseconds, of: row.name) },
      pair { short($0.cpuNanoseconds) },
      pair { fixed($0.allocations, 2) },
      pair { fixed($0.contextSwitches, 3) },
      pair { $0.systemCalls.map { fixed($0, 3) } ?? "-" },
    ]
    if hasPeers { cells.append(PeerReport.cell(row)) }
    return "| " + cells.joined(separator: " | ") + " |"
  }
}
