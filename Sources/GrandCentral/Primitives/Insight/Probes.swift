// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The statically defined probes, for bpftrace, perf and gdb: see `Tracepoint`.
///
/// A tracer that comes raises a counter, of which nobody tells the library. So threads look at it where they do something slow:
/// a worker when it begins and when it has slept, a thread that wakes a worker, and the monitor at each of its ticks. What they see
/// becomes a switch of the insight region, and that switch leads off the hot path, as a recorder's does. So a program that nobody
/// looks at pays nothing, and a tracer misses what happens before the next of these.
enum Probes {
  @inline(__always)
  static var areOn: Bool { InsightLayout.switches & InsightLayout.Switch.probe != 0 }

  /// Turns the probes on when a tracer has come, and off when the last one has gone.
  @inline(__always)
  static func look() {
    if Tracepoint.areWanted != areOn { lookSlow() }
  }

  @inline(never)
  private static func lookSlow() {
    if Tracepoint.areWanted {
      InsightRegion.turnOn(InsightLayout.Switch.probe)
    } else {
      InsightRegion.turnOff(InsightLayout.Switch.probe)
    }
  }
}
