// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Distance between words that different threads write.
///
/// Swift aligns nothing beyond 16 bytes, so such words are kept apart by a gap instead of by alignment: with a whole
/// `Gap` between two words they never share a pair of lines, wherever the memory starts.
enum CacheLine {
  /// Two 64-byte lines: processors fetch them in pairs.
  static let size = 128

  /// A stored property that separates the one before it from the one after it.
  struct Gap: Sendable {
    private let a: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    private let b: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    private let c: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    private let d: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
  }
}
