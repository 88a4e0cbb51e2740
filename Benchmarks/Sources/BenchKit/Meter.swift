// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchSupport

/// Measures one run of an operation: time, CPU time, allocations, context switches, and in a process that counts them
/// system calls.
///
/// Belongs to the thread that runs the benchmark.
public final class Meter {
  private struct Reading {
    var allocations, switches, cpu, wall: UInt64
    /// Negative if they are not counted.
    var systemCalls: Int64

    /// The clock is read last, so that the other readings are outside the measured time.
    static func before() -> Reading {
      let allocations = bench_allocations()
      let switches = bench_context_switches()
      let systemCalls = bench_system_calls()
      let cpu = bench_process_cpu()
      return Reading(
        allocations: allocations, switches: switches, cpu: cpu, wall: bench_now(), systemCalls: systemCalls)
    }

    /// The clock is read first, for the same reason.
    static func after() -> Reading {
      let wall = bench_now()
      let cpu = bench_process_cpu()
      let systemCalls = bench_system_calls()
      let switches = bench_context_switches()
      return Reading(
        allocations: bench_allocations(), switches: switches, cpu: cpu, wall: wall, systemCalls: systemCalls)
    }

    /// The calls between two readings, without those that the readings make. Nil if they are not counted.
    static func systemCalls(from first: Reading, to last: Reading) -> Int64? {
      if first.systemCalls < 0 || last.systemCalls < 0 { return nil }
      return max(0, last.systemCalls - first.systemCalls - ownSystemCalls)
    }

    /// The least of several, because other threads may make calls meanwhile.
    private static let ownSystemCalls = (0..<5).map { _ in
      let first = before().systemCalls
      return after().systemCalls - first
    }.min()!
  }

  private var first = Reading.before()
  private var last: Reading?
  private var reports: [String: Double] = [:]

  public init() {}

  /// Forgets everything measured so far and begins.
  public func start() {
    last = nil
    first = .before()
  }

  /// Ends the measurement; later calls change nothing.
  public func stop() {
    guard last == nil else { return }
    last = .after()
  }

  /// Reports a figure of the operation's own, in nanoseconds.
  public func report(_ name: String, nanoseconds: Double) {
    reports[name] = nanoseconds
  }

  /// Reports the median as `p50` and the 99th percentile as `p99`, with the prefix before the names.
  public func reportPercentiles(of latencies: [UInt64], prefix: String = "") {
    let sorted = latencies.sorted()
    guard !sorted.isEmpty else { return }
    report(prefix + "p50", nanoseconds: Double(sorted[sorted.count / 2]))
    report(prefix + "p99", nanoseconds: Double(sorted[sorted.count * 99 / 100]))
  }

  /// What the run has cost, divided by its number of operations.
  public func sample(operations: Int) -> Sample {
    stop()
    let last = last ?? first
    let count = Double(operations)
    return Sample(
      wall: Double(last.wall &- first.wall) / count,
      cpu: Double(last.cpu &- first.cpu) / count,
      allocations: Double(last.allocations &- first.allocations) / count,
      switches: Double(last.switches &- first.switches) / count,
      systemCalls: Reading.systemCalls(from: first, to: last).map { Double($0) / count },
      reports: reports
    )
  }
}

/// What one run cost per operation.
public struct Sample: Codable {
  public let wall, cpu, allocations, switches: Double
  /// Nil where they are not counted.
  public let systemCalls: Double?
  public let reports: [String: Double]

  public func value(_ figure: Operation.Figure) -> Double? {
    switch figure {
    case .time: wall
    case .cpu: cpu
    case .reported(let name): reports[name]
    }
  }
}
