// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

// The program's own marks in the records: off, each costs a load and a branch.
extension GrandCentralRuntime {
  /// Whether anything records what the program does: `gcd trace`, `gcd top`, or the flight recorder.
  ///
  /// Blocking: never. Complexity: O(1).
  public static var isRecording: Bool { Recorder.keepsRecords }

  /// Puts a mark into the records: something has happened now, on this thread.
  ///
  /// ```swift
  /// GrandCentralRuntime.mark("cache emptied")
  /// ```
  ///
  /// - Parameter name: At most 56 bytes of it are kept; a thousand different names are known.
  ///
  /// Does nothing while nothing is recorded. Blocking: never. Complexity: O(1).
  public static func mark(_ name: StaticString) {
    if Recorder.isOn { Recorder.note(.mark, queue: InsightNames.number(of: name)) }
  }

  /// Puts the value of a counter into the records; it counts until the next one of the same name.
  ///
  /// ```swift
  /// GrandCentralRuntime.count("open files", 12)
  /// ```
  ///
  /// Does nothing while nothing is recorded. Blocking: never. Complexity: O(1).
  public static func count(_ name: StaticString, _ value: Double) {
    if Recorder.isOn { Recorder.note(.counter, queue: InsightNames.number(of: name), word: value.bitPattern) }
  }

  /// Runs `body`, and records from when to when, on this thread.
  ///
  /// ```swift
  /// let page = GrandCentralRuntime.interval("render") { render(document) }
  /// ```
  ///
  /// - Returns: What `body` returns; and throws what it throws.
  ///
  /// Does nothing but run `body` while nothing is recorded. Intervals of one thread nest. Complexity: O(1).
  public static func interval<T, E: Error>(_ name: StaticString, _ body: () throws(E) -> T) throws(E) -> T {
    let number = Recorder.isOn ? InsightNames.number(of: name) : 0
    if number != 0 { Recorder.note(.intervalBegin, queue: number) }
    defer { if number != 0 { Recorder.note(.intervalEnd, queue: number) } }
    return try body()
  }
}
