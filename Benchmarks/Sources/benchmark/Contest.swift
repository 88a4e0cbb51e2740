// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport
import OursOps
import TheirsOps

/// One operation, run by both sides in turn.
struct Contest {
  enum Side: String {
    case ours, theirs

    var operations: [Operation] {
      switch self {
      case .ours: OursOps.operations()
      case .theirs: TheirsOps.operations()
      }
    }
  }

  let ours: Operation
  let theirs: Operation
  let arguments: Arguments

  /// All contests that the command line asks for.
  static func all(_ arguments: Arguments) -> [Contest] {
    zip((arguments.isNull ? Side.theirs : Side.ours).operations, Side.theirs.operations)
      .map { Contest(ours: $0, theirs: $1, arguments: arguments) }
      .filter { contest in !arguments.isQuick || !contest.ours.isLeftOutWhenQuick }
      .filter { contest in arguments.filter.map { contest.ours.name.contains($0) } ?? true }
  }

  /// How long a sample should be: the geometric mean of the two sides.
  private var target: Double { arguments.isQuick ? 10e6 : 40e6 }

  private var runsTheirs: Bool { !theirs.slowOnTheirSide || arguments.isFull }

  private var leastRounds: Int {
    if let rounds = arguments.rounds { return rounds }
    if theirs.slowOnTheirSide && arguments.isFull { return 1 }
    return arguments.isQuick ? 3 : 5
  }

  func rows() -> [Row] {
    if arguments.isNull && !runsTheirs { return [] }
    let count = operationCount()
    var rounds = Rounds(least: leastRounds, isQuick: arguments.isQuick)
    while rounds.wantsAnother(ours.figures) {
      // The order alternates, so that what one side leaves behind burdens both alike.
      if rounds.count.isMultiple(of: 2) {
        let first = sample(.ours, count)
        rounds.add(ours: first, theirs: runsTheirs ? sample(.theirs, count) : nil)
      } else {
        let first = runsTheirs ? sample(.theirs, count) : nil
        rounds.add(ours: sample(.ours, count), theirs: first)
      }
    }
    let ourCalls = systemCalls(.ours, count)
    let theirCalls = runsTheirs ? systemCalls(.theirs, count) : nil
    return ours.figures.compactMap { figure in
      Cost(rounds.ours, figure: figure, systemCalls: ourCalls).map {
        Row(
          name: ours.rowName(figure),
          rounds: rounds.count,
          operations: count,
          ratio: Ratio(ours: rounds.ours, theirs: rounds.theirs, figure: figure),
          ours: $0,
          theirs: Cost(rounds.theirs, figure: figure, systemCalls: theirCalls)
        )
      }
    }
  }

  private func sample(_ side: Side, _ count: Int) -> Sample {
    let operation = side == .ours ? ours : theirs
    if operation.startsCold {
      return FreshProcess.sample(arguments.isNull ? .theirs : side, operation.name, count)
    }
    return Self.sample(operation, count)
  }

  /// System calls per operation, in a process of its own: counting them slows them down, so the timed rounds do not count.
  private func systemCalls(_ side: Side, _ count: Int) -> Double? {
    FreshProcess.systemCalls(arguments.isNull ? .theirs : side, ours.name, count)
  }

  /// Queues are made anew for each sample: where they happen to lie in memory must not favour one side throughout.
  static func sample(_ operation: Operation, _ count: Int) -> Sample {
    let body = operation.setUp()
    bench_sleep(1_000_000)
    let meter = Meter()
    meter.start()
    body(count, meter)
    return meter.sample(operations: count)
  }

  /// The same number for both sides: a backlog of another length would be another operation.
  private func operationCount() -> Int {
    switch ours.count {
    case .fixed(let count, let quick):
      if ours.figures.contains(.time) {
        run(ours.setUp(), quick)
        if runsTheirs { run(theirs.setUp(), quick) }
      }
      return arguments.isQuick ? quick : count
    case .calibrated(let unit, let limit):
      let ourCost = costEstimate(ours.setUp(), unit, limit)
      let perOperation = runsTheirs ? (ourCost * costEstimate(theirs.setUp(), unit, limit)).squareRoot() : ourCost
      let count = min(Int(target / perOperation), limit)
      return max(unit, count / unit * unit)
    }
  }

  /// Nanoseconds per operation, after enough of them to be warm.
  private func costEstimate(_ body: Operation.Body, _ unit: Int, _ limit: Int) -> Double {
    var count = unit
    while true {
      let duration = run(body, count)
      if duration >= target / 4 || count * 2 > limit { return max(0.1, duration / Double(count)) }
      count *= duration < target / 64 ? 8 : 2
      count = max(unit, min(count, limit) / unit * unit)
    }
  }

  @discardableResult
  private func run(_ body: Operation.Body, _ count: Int) -> Double {
    let begin = bench_now()
    body(count, Meter())
    return Double(bench_now() - begin)
  }
}
