// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What threads that wait lend to bands, for as long as they wait: their own urgency (Contract.W4).
///
/// A queue in which the awaited item lies moves up by itself (`Lane.boost`). An item that has left its queue, as those of concurrent queues
/// do, or that was put into a global queue, lies in a run queue among others, and cannot be moved. So the whole band is served: every
/// second turn, and in order.
///
/// A loan counts against work that is as urgent as its lender, or less. Work that is more urgent still comes first.
struct Loans: ~Copyable, @unchecked Sendable {  // every field is atomic
  /// How many threads wait, by what each of them has lent: see `Loan`.
  private let counts = InlineArray<48, Atomic<Int>> { _ in Atomic(0) }
  /// How many there are in all.
  private let all = Atomic<Int>(0)

  /// Begins `count` loans, or ends them: -1.
  @inline(never)
  func change(_ count: Int, _ loan: Loan) {
    // relaxed: hints for searches; one that misses a loan sees it at its next turn.
    all.wrappingAdd(count, ordering: .relaxed)
    counts[Int(loan.code)].wrappingAdd(count, ordering: .relaxed)
  }

  /// The band that is served in place of the first one of `pending`, if this turn is for one that was lent to.
  func bandToServe(_ pending: UInt32, _ turn: UInt32) -> Band? {
    // relaxed: see `change`.
    if turn & 2 == 0 || all.load(ordering: .relaxed) == 0 { return nil }
    let served = Band(firstIn: pending)
    var lent: UInt32 = 0
    for code in 0..<counts.count where counts[code].load(ordering: .relaxed) > 0 {
      let loan = Loan(code: UInt8(code))
      // Not if what is served is more urgent than the lender.
      if loan.lender <= served { lent |= loan.borrowers & pending & ~served.both }
    }
    // One bit for each band. If there are several, each has its turn.
    lent = (lent | lent &>> 1) & Band.allOrdered
    if lent == 0 { return nil }
    for _ in 0..<Int(turn &>> 2) % lent.nonzeroBitCount { lent &= lent &- 1 }
    return Band(firstIn: lent)
  }
}

/// What one thread that waits has lent: three bits for its own band, three for the rank of the band that it lends to.
struct Loan {
  let code: UInt8

  static let none = Loan(code: 0)
  /// In place of a rank: every band that is less urgent than the lender, for it is not known which.
  private static let anyRank: UInt8 = 7

  init(code: UInt8) { self.code = code }

  init(from lender: Band, to borrower: Band?) { code = lender.rank << 3 | (borrower?.rank ?? Self.anyRank) }

  var lender: Band { Band(rank: code >> 3) }
  /// The bits of the bands that it lends to.
  var borrowers: UInt32 {
    let rank = code & 7
    return rank == Self.anyRank ? ~(lender.moreUrgent | lender.both) : Band(rank: rank).both
  }
}
