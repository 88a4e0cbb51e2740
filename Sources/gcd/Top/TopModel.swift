// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What one look at a process has found: everything that the screen shows.
struct TopModel: Sendable {
  var snapshot: Snapshot
  var report: WhyReport
  /// Nil while nothing is recorded.
  var rates: TopRates?
  /// CLOCK_MONOTONIC at the look.
  var uptime: UInt64 = 0
  /// The time of day.
  var clock = ""

  /// The most important numbers, on top of each page.
  var head: [TopLine] {
    let workers = snapshot.workers
    func count(_ state: Snapshot.State) -> Int { workers.count { $0.state == state } }
    var first = TopLine("gcd top ", .bold)
    first.add("\(snapshot.pid) \(snapshot.program.name)", .accent)
    if snapshot.program.isStopped { first.add("  stopped", .alarm) }
    first.add("  \(snapshot.parallelism) processors  \(clock)", .dim)
    var second = TopLine("latency ", .bold)
    if let rates {
      let latency = rates.latency
      second.add("p50 \(Self.length(latency.quantile(0.5)))  p99 \(Self.length(latency.quantile(0.99)))")
      if rates.isIncomplete || rates.isOverfull { second.add(" of a sample", .warning) }
      second.add("   items ", .bold)
      second.add("\(rates.mark)\(Self.rate(rates.perSecond(rates.items)))/s")
      if rates.lost > 0 {
        // Whether an item has begun is among what is lost.
        second.add("   \(NumberFormat.grouped(rates.lost)) records lost", .warning)
      } else if rates.stoodStill {
        second.add("   not recorded all the time", .warning)
      } else {
        second.add("   pending ", .bold)
        if rates.isOverfull { second.add("more than are counted", .warning) } else { second.add("\(rates.depth)") }
      }
    } else {
      second.add("unknown: nothing is recorded", .dim)
    }
    var third = TopLine("workers ", .bold)
    third.add("\(workers.count): \(count(.active)) active, ")
    third.add("\(count(.waiting)) waiting", count(.waiting) > 0 ? .warning : .plain)
    third.add(", \(count(.asleep)) asleep")
    let others = snapshot.threads.count { $0.role != .worker && $0.state == .waiting }
    if others > 0 { third.add("   other threads waiting \(others)", .warning) }
    return [first, second, third]
  }

  /// What is wrong, a line each.
  var findings: [TopLine] {
    report.findings.map { finding in
      TopLine("! " + finding.sentence, finding.kind == .cycle || finding.blocksMain ? .alarm : .warning)
    }
  }

  static func length(_ nanoseconds: UInt64?) -> String {
    guard let nanoseconds else { return "-" }
    switch nanoseconds {
    case ..<1000: return "\(nanoseconds) ns"
    case ..<999_500: return NumberFormat.significant(Double(nanoseconds) / 1000) + " µs"
    default: return NumberFormat.duration(Double(nanoseconds) / 1e9)
    }
  }

  static func rate(_ value: Double) -> String {
    value < 100 ? NumberFormat.significant(value) : NumberFormat.grouped(Int(value.rounded()))
  }

  static func part(_ value: Double) -> String {
    NumberFormat.fixed(value * 100, decimals: value < 0.0995 ? 1 : 0) + "%"
  }
}
