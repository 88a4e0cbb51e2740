// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import SwiftConcurrencyOps

/// What a peer needs for a row, the median over its rounds, per operation.
struct PeerFigure: Codable {
  let row, peer: String
  let nanoseconds, cpu: Double

  /// One figure for each row and peer among the samples.
  static func medians(_ samples: [PeerFigure]) -> [PeerFigure] {
    var groups: [(first: PeerFigure, all: [PeerFigure])] = []
    for sample in samples {
      if let index = groups.firstIndex(where: { $0.first.row == sample.row && $0.first.peer == sample.peer }) {
        groups[index].all.append(sample)
      } else {
        groups.append((sample, [sample]))
      }
    }
    return groups.map { first, all in
      PeerFigure(
        row: first.row, peer: first.peer, nanoseconds: median(all.map(\.nanoseconds)), cpu: median(all.map(\.cpu)))
    }
  }
}

/// How a row compares with the peers that have it.
struct PeerStanding: Codable {
  struct Entry: Codable {
    let peer: String
    let nanoseconds: Double
    /// Our time divided by the peer's: above 1 the peer is ahead.
    let ratio: Double
  }

  let best: Entry
  /// All of them, the best first.
  let all: [Entry]

  /// Nil if no peer has the row. A row about CPU time takes the CPU time of the peers.
  init?(_ row: Row, _ figures: [PeerFigure]) {
    all =
      figures.compactMap { figure -> (String, Double)? in
        if figure.row == row.name { return (figure.peer, figure.nanoseconds) }
        return figure.row + ".cpu" == row.name ? (figure.peer, figure.cpu) : nil
      }
      .filter { $0.1 > 0 }
      .map { Entry(peer: $0, nanoseconds: $1, ratio: row.ours.nanoseconds / $1) }
      .sorted { $0.nanoseconds < $1.nanoseconds }
    guard let first = all.first else { return nil }
    best = first
  }
}

/// The peers that take part: each does its rounds right after the two sides have done theirs.
struct Peers {
  private let programs: [PeerProgram]
  private let swiftConcurrency = SwiftConcurrencyOps.operations()

  init() {
    programs = PeerProgram.built()
    if programs.isEmpty { Output.error.line("duel: no peer is built: Benchmarks/peers/build.sh does that") }
  }

  /// The rows of a contest, with what the peers need for the same number of operations.
  func join(_ rows: [Row], of contest: Contest) -> [Row] {
    guard let first = rows.first else { return rows }
    let rounds = contest.arguments.rounds ?? (contest.arguments.isQuick ? 3 : 5)
    let figures =
      inProcess(contest.ours.name, first.operations, rounds)
      + programs.flatMap { $0.figures(contest.ours, count: first.operations, rounds: rounds) }
    return rows.map { row in
      var row = row
      row.peers = PeerStanding(row, figures)
      return row
    }
  }

  private func inProcess(_ name: String, _ count: Int, _ rounds: Int) -> [PeerFigure] {
    let matching = swiftConcurrency.filter { $0.operation.name == name }
    return PeerFigure.medians(matching.flatMap { figures($0.peer, $0.operation, count, rounds) })
  }

  private func figures(_ peer: String, _ operation: Operation, _ count: Int, _ rounds: Int) -> [PeerFigure] {
    var count = count
    if case .calibrated(let unit, let limit) = operation.count { count = max(unit, min(count, limit) / unit * unit) }
    // The first sample warms up.
    return (0...rounds).map { _ in Contest.sample(operation, count) }.dropFirst().flatMap { sample in
      operation.figures.compactMap { figure in
        sample.value(figure).map {
          PeerFigure(row: operation.rowName(figure), peer: peer, nanoseconds: $0, cpu: sample.cpu)
        }
      }
    }
  }
}
