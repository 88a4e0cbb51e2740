// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport

/// The samples of both sides so far, and whether they suffice.
///
/// Operations that block fall into one of several regimes (both threads on one processor, or not), often for a whole
/// sample. Where the rounds disagree, more of them are run, as long as that takes little time.
struct Rounds {
  private(set) var ours: [Sample] = []
  private(set) var theirs: [Sample] = []
  private let least: Int
  private let most: Int
  private let deadline: UInt64

  /// Half of the rounds must agree this well with each other.
  private static let agreement = 0.05

  init(least: Int, isQuick: Bool) {
    self.least = least
    most = least * (isQuick ? 3 : 5)
    deadline = bench_now() + (isQuick ? 500_000_000 : 3_000_000_000)
  }

  var count: Int { ours.count }

  mutating func add(ours: Sample, theirs: Sample?) {
    self.ours.append(ours)
    if let theirs { self.theirs.append(theirs) }
  }

  func wantsAnother(_ figures: [Operation.Figure]) -> Bool {
    if count < least { return true }
    if count >= most || bench_now() > deadline { return false }
    return figures.contains { figure in
      guard let ratio = Ratio(ours: ours, theirs: theirs, figure: figure) else { return false }
      return ratio.middleHalf > Self.agreement * ratio.median
    }
  }
}
