// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The rank of runnable work: 0 is picked first.
///
/// One band per quality-of-service class, so that "the most urgent non-empty band" is the lowest set bit of a mask.
struct Band: Equatable, Comparable, Sendable {
  let rank: UInt8

  @inline(__always)
  init(rank: UInt8) { self.rank = rank }

  static let userInteractive = Band(rank: 0)
  static let userInitiated = Band(rank: 1)
  static let normal = Band(rank: 2)
  static let utility = Band(rank: 3)
  static let background = Band(rank: 4)
  static let maintenance = Band(rank: 5)

  static let count = 6

  @inline(__always)
  var bit: UInt32 { 1 &<< UInt32(rank) }

  // A mask of pending work has two bits for each band, so that the most urgent band is still the lowest bit.

  /// Work that starts in the order in which it was submitted: the band's run queue.
  @inline(__always)
  var ordered: UInt32 { 1 &<< (2 &* UInt32(rank)) }
  /// Work without an order: the backlogs of the places.
  @inline(__always)
  var loose: UInt32 { 2 &<< (2 &* UInt32(rank)) }
  @inline(__always)
  var both: UInt32 { 3 &<< (2 &* UInt32(rank)) }
  /// The bits of all bands more urgent than this one.
  @inline(__always)
  var moreUrgent: UInt32 { ordered &- 1 }
  /// The bits of all bands for work without an order.
  static let allLoose: UInt32 = 0xAAAA_AAAA
  /// And for work with an order.
  static let allOrdered: UInt32 = 0x5555_5555

  /// The most urgent band of a mask of pending work, which is not empty.
  @inline(__always)
  init(firstIn pending: UInt32) { rank = UInt8(truncatingIfNeeded: pending.trailingZeroBitCount &>> 1) }

  /// `a < b`: `a` is picked before `b`.
  @inline(__always)
  static func < (a: Band, b: Band) -> Bool { a.rank < b.rank }

  /// The word of a worker's name: short, because the kernel keeps 15 bytes of `gc-<band>-<n>`.
  var name: String {
    switch rank {
    case 0: "ui"
    case 1: "user"
    case 2: "default"
    case 3: "utility"
    case 4: "backgnd"
    default: "maint"
    }
  }
}
