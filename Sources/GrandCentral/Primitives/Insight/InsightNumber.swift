// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What an object knows of its number in the insight region; the object has one of these as a field.
///
/// The lower bits of the word have the number. Above it are the last bits of the number of forks that lie before this
/// process: a number that a parent has given does not count in its child.
struct InsightNumber: ~Copyable {
  private static let bits: UInt32 = 24
  private static let mask: UInt32 = 1 << bits - 1

  private let word = Atomic<UInt32>(0)

  private static var generation: UInt32 { (Thread.forkGeneration & 0xFF) << bits }

  /// Whether a number was given, by this process or by one that it was forked from.
  @inline(__always)
  var isGiven: Bool {
    // relaxed: a number by itself; the entry is published by its own sequence.
    word.load(ordering: .relaxed) != 0
  }

  /// The number if this process has given one, or 0.
  var known: UInt32 {
    // relaxed: as in `isGiven`.
    let word = word.load(ordering: .relaxed)
    return word != 0 && word & ~Self.mask == Self.generation ? word & Self.mask : 0
  }

  /// The number, given now if there is none; 0 if there is none to give.
  func give(_ facts: InsightObjects.Facts) -> UInt32 {
    InsightObjects.add(facts) {
      known
    } assign: {
      // relaxed: as in `isGiven`.
      word.store($0 | Self.generation, ordering: .relaxed)
    }
  }

  /// The object goes.
  @inline(never)
  func end() {
    let number = known
    if number != 0 { InsightObjects.end(number) }
  }
}
