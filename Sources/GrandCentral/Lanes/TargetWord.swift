// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A lane's target in one word: which queue it is, and whether it lives as long as the lane.
///
/// A pusher that does not hold the lane learns both with one load. With two loads the target could change between them,
/// and the pusher would use one queue by what it knows of another.
struct TargetWord: Equatable {
  let rawValue: UInt

  private static let mayGo: UInt = 1

  @inline(__always)
  init(rawValue: UInt) { self.rawValue = rawValue }

  @inline(__always)
  init(_ lane: Borrowed<Lane>?, isLasting: Bool) {
    rawValue = (lane?.bits ?? 0) | (isLasting ? 0 : Self.mayGo)
  }

  /// Whether the queue lives as long as the lane that has it as its target; otherwise it may go with the next change of
  /// target.
  @inline(__always) var isLasting: Bool { rawValue & Self.mayGo == 0 }

  /// Nil for global queues and the main queue.
  @inline(__always)
  var lane: Borrowed<Lane>? { Borrowed(bits: rawValue & ~Self.mayGo) }
}
