// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Pairs of queues that send an item to and fro, as fast as they can, and an item of a global queue now and then: each gets its
/// turn.
enum Turns {
  private final class Pair: Sendable {
    private let (one, other) = (DispatchQueue(label: "ping"), DispatchQueue(label: "pong"))
    let hops = Counter()

    func ping() {
      one.async {
        self.hops.add()
        self.pong()
      }
    }

    private func pong() {
      other.async {
        self.hops.add()
        self.ping()
      }
    }
  }

  private static let period: UInt64 = 10_000_000

  static func run(pairs count: Int, seconds: UInt64) {
    let pairs = (0..<count).map { _ in Pair() }
    for pair in pairs { pair.ping() }

    let begin = monotonicNanoseconds()
    var items: [(submitted: UInt64, started: Moment)] = []
    while monotonicNanoseconds() < begin + seconds * 1_000_000_000 {
      let started = Moment()
      items.append((monotonicNanoseconds(), started))
      DispatchQueue.global().async { started.noteNow() }
      pause(nanoseconds: period)
    }

    let hops = pairs.map { Double($0.hops.value) }.sorted()
    let end = monotonicNanoseconds()
    // An item that has not run has waited until now.
    let waits = items.map { span($0.submitted, $0.started.value == 0 ? end : $0.started.moment) }
    tell("slowest of fastest", hops[0] / hops[count - 1])
    tell("item worst ms", milliseconds(waits.max() ?? 0))
    tell("items not run", Double(items.count { $0.started.value == 0 }))
    tell("hops a second", hops.reduce(0, +) / (Double(span(begin, end)) / 1e9))
  }
}
