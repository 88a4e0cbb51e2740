// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// How short memory is. Raw values order the levels.
enum PressureLevel: UInt8, Sendable {
  case normal, warning, critical
}

/// When a level begins and when it is over, all in thousandths of memory left and in nanoseconds.
struct PressureThresholds: Sendable {
  /// Below this a level begins; `Reading.leftUntilSlow` leads to a warning only.
  var warning = 100
  var critical = 40
  /// From this on the level is over. It lies higher, so that memory in use that goes up and down by a little makes no events.
  var warningOver = 150
  var criticalOver = 60
  /// A report that memory has delayed tasks stays valid for this long; the kernel repeats it every two seconds while it lasts.
  var stallLasts: UInt64 = 5_000_000_000
  /// How often to look whether it is over.
  var period: UInt64 = 1_000_000_000
  /// How often to look at all, where the kernel does not report by itself.
  var calmPeriod: UInt64 = 5_000_000_000
}

/// Turns what the kernel reports into levels, with hysteresis. Pure: the caller brings the readings and the time.
struct PressureGauge {
  let thresholds: PressureThresholds
  /// The level by the memory left alone.
  private var byReading = PressureLevel.normal
  /// When tasks were last delayed: some tasks, and all tasks; 0 for never.
  private var someStalled: UInt64 = 0
  private var allStalled: UInt64 = 0

  init(_ thresholds: PressureThresholds) { self.thresholds = thresholds }

  mutating func noteSomeStalled(at now: UInt64) { someStalled = now }

  /// All tasks were delayed, or memory has run out.
  mutating func noteAllStalled(at now: UInt64) { allStalled = now }

  /// The level after a look; without a reading what is left is as before.
  @_optimize(size)
  mutating func update(_ reading: PressureFiles.Reading?, at now: UInt64) -> PressureLevel {
    if let reading { byReading = level(after: byReading, reading) }
    if isRecent(allStalled, now) || byReading == .critical { return .critical }
    return isRecent(someStalled, now) || byReading == .warning ? .warning : .normal
  }

  @_optimize(size)
  private func level(after level: PressureLevel, _ reading: PressureFiles.Reading) -> PressureLevel {
    let left = min(reading.left, reading.leftUntilSlow)
    if reading.left < (level == .critical ? thresholds.criticalOver : thresholds.critical) { return .critical }
    return left < (level == .normal ? thresholds.warning : thresholds.warningOver) ? .warning : .normal
  }

  @_optimize(size)
  private func isRecent(_ instant: UInt64, _ now: UInt64) -> Bool {
    instant != 0 && now < instant.addingSaturated(thresholds.stallLasts)
  }
}
