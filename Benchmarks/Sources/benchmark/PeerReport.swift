// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import FoundationEssentials

/// What the report says about the peers.
enum PeerReport {
  static let columnHead = " best peer (ours / its) |"
  static let explanation =
    "- *best peer*: the fastest of Swift Concurrency, Go, Rust, oneTBB, OpenMP and the C library that has the row, its\n"
    + "  time, and our time divided by it; above 1 it is ahead. The peers do as many operations, right after the duel."

  /// For the table that grows.
  static func line(_ row: Row) -> String? {
    row.peers.map { "    " + $0.all.map(summary).joined(separator: ", ") }
  }

  static func cell(_ row: Row) -> String {
    guard let best = row.peers?.best else { return "" }
    return "\(best.peer) \(duration(best.nanoseconds)) (\(short(best.ratio)))"
  }

  /// The rows in which a peer is ahead, and why. Empty if no peer took part.
  static func section(_ rows: [Row]) throws -> String {
    guard rows.contains(where: { $0.peers != nil }) else { return "" }
    let reasons = try PeerReasons.load()
    var lines = [
      "", "## Where a peer is ahead", "",
      "The reasons are those of `Benchmarks/peers/reasons.json`.", "",
      "| row | peer | its time | ours | ours / its | why |", "|---|---|---|---|---|---|",
    ]
    let ahead = rows.filter { ($0.peers?.best.ratio ?? 0) > 1 }
    for row in ahead {
      guard let best = row.peers?.best else { continue }
      let cells = [
        "`\(row.name)`", best.peer, duration(best.nanoseconds), duration(row.ours.nanoseconds), short(best.ratio),
        reasons.why(row.name, best.peer) ?? "unexplained",
      ]
      lines.append("| " + cells.joined(separator: " | ") + " |")
    }
    if ahead.isEmpty { lines = Array(lines.prefix(3)) + ["In no row."] }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func summary(_ entry: PeerStanding.Entry) -> String {
    "\(entry.peer) \(duration(entry.nanoseconds)) (\(short(entry.ratio)))"
  }
}

/// peers/reasons.json: row, then peer or `*` for all others, then why it is ahead.
private struct PeerReasons {
  private let rows: [String: [String: String]]

  static func load() throws -> PeerReasons {
    let data = try Data(contentsOf: URL(filePath: PeerFiles.reasons))
    return PeerReasons(rows: try JSONDecoder().decode([String: [String: String]].self, from: data))
  }

  /// What explains the time of a row explains its CPU time.
  func why(_ row: String, _ peer: String) -> String? {
    let base = row.hasSuffix(".cpu") ? String(row.dropLast(4)) : row
    for name in [row, base] {
      if let reason = rows[name]?[peer] ?? rows[name]?["*"] { return reason }
    }
    return nil
  }
}
