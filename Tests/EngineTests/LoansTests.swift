// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GrandCentral

@Suite("What waiting threads lend to bands")
struct LoansTests {
  private let both = Band.normal.ordered | Band.background.loose

  private func loan(_ lender: Band, _ borrower: Band? = nil) -> Loan {
    Loan(code: lender.rank << 3 | (borrower?.rank ?? 7))
  }

  /// The bands that are served at eight turns, one after the other.
  private func turns(_ loans: borrowing Loans, _ pending: UInt32) -> [Band?] {
    (0..<8).map { loans.bandToServe(pending, UInt32($0)) }
  }

  @Test("Q6: without a loan the order of bands is strict")
  func none() {
    let loans = Loans()
    #expect(turns(loans, both).allSatisfy { $0 == nil })
    loans.change(1, loan(.normal, .utility))
    #expect(turns(loans, both).allSatisfy { $0 == nil })
    loans.change(-1, loan(.normal, .utility))
  }

  @Test("W4: a band that is lent to has every second turn, until the last wait is over")
  func everySecondTurn() {
    let loans = Loans()
    loans.change(1, loan(.normal, .background))
    loans.change(1, loan(.normal, .background))
    #expect(turns(loans, both) == [nil, nil, .background, .background, nil, nil, .background, .background])
    loans.change(-1, loan(.normal, .background))
    #expect(turns(loans, both).contains(.background))
    loans.change(-1, loan(.normal, .background))
    #expect(turns(loans, both).allSatisfy { $0 == nil })
  }

  @Test("Q6: what is more urgent than the lender comes before the band that it lends to")
  func lenderIsLessUrgent() {
    let loans = Loans()
    loans.change(1, loan(.utility, .background))
    #expect(turns(loans, both).allSatisfy { $0 == nil })
    #expect(turns(loans, Band.utility.ordered | Band.background.loose).contains(.background))
    loans.change(1, loan(.userInteractive, .background))
    #expect(turns(loans, both).contains(.background))
  }

  @Test("W4: several bands that are lent to have their turns, also where it is not known which one is meant")
  func severalBands() {
    let loans = Loans()
    loans.change(1, loan(.normal))
    let all = Band.normal.both | Band.utility.ordered | Band.background.ordered | Band.maintenance.loose
    let served = (0..<24).compactMap { loans.bandToServe(all, UInt32($0)) }
    for band in [Band.utility, .background, .maintenance] { #expect(served.filter { $0 == band }.count == 4) }
    #expect(!served.contains(.normal))
    loans.change(-1, loan(.normal))
    #expect(turns(loans, all).allSatisfy { $0 == nil })
  }
}
