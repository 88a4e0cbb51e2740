// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

@Suite("E10: a thread that spins before it sleeps")
struct SpinBudgetTests {
  /// How many of `waits` spin, when every spin ends as `isHit` says.
  private func spins(_ credit: inout SpinCredit, waits: Int, price: Int32, isHit: Bool) -> Int {
    var spins = 0
    for _ in 0..<waits where credit.isLeft || credit.wait() {
      spins += 1
      isHit ? credit.earn(price) : credit.pay(price)
    }
    return spins
  }

  @Test("spins at every wait while its spins pay")
  func hitsSpinOn() {
    var credit = SpinCredit(price: 8)
    #expect(spins(&credit, waits: 10_000, price: 8, isHit: true) == 10_000)
    #expect(credit.balance == SpinCredit.most)
  }

  @Test("gives up spinning after a few spins in vain, and tries ever more rarely")
  func missesEndIt() {
    var credit = SpinCredit(price: 8)
    for _ in 0..<100 { credit.earn(8) }
    let first = spins(&credit, waits: 64, price: 8, isHit: false)
    #expect(first == Int(SpinCredit.most / 8))
    // 64 + 128 + 256 waits are three trials; after them one wait in 512 tries.
    let later = spins(&credit, waits: 100_000, price: 8, isHit: false)
    #expect(later >= 190 && later <= 200, "\(later) trials")
  }

  @Test("does not spin for long if one spin in four is in vain, as a miss costs more than a hit saves")
  func missesWeighMore() {
    var credit = SpinCredit(price: 8)
    var spins = 0
    for wait in 0..<100_000 where credit.isLeft || credit.wait() {
      spins += 1
      wait % 4 == 0 ? credit.pay(8) : credit.earn(8)
    }
    #expect(spins < 10_000, "\(spins) spins")
  }

  @Test("spins again at once when a trial has paid, and keeps that up while trials pay")
  func betterTimesAreNoticed() {
    var credit = SpinCredit(price: 8)
    _ = spins(&credit, waits: 100_000, price: 8, isHit: false)
    let waits = Int(SpinCredit.longest(8)) + 1
    #expect(spins(&credit, waits: waits, price: 8, isHit: true) >= 1)
    #expect(credit.isLeft && credit.interval == SpinCredit.shortest(8))
    #expect(spins(&credit, waits: 1_000, price: 8, isHit: true) == 1_000)
  }

  @Test("tries a short spin more often than a long one: trials cost a sixty-fourth of the waits")
  func trialsAreAsRareAsTheyAreDear() {
    for price: Int32 in [1, 2, 8] {
      var credit = SpinCredit(price: price)
      let trials = spins(&credit, waits: 100_000, price: price, isHit: false)
      #expect(trials * Int(price) <= 100_000 / 50, "\(trials) trials of \(price)")
    }
  }

  @Test("survives as a word whatever its numbers are")
  func wordsAreExact() {
    var credit = SpinCredit(price: 8)
    for step in 0..<5_000 {
      #expect(SpinCredit(rawValue: credit.rawValue) == credit)
      if step % 3 == 0 { credit.pay(8) } else if !credit.isLeft { _ = credit.wait() }
    }
  }

  @Test("looks once and no more when the answer is there")
  func answersEndTheSpin() {
    guard Backoff.maySpin else { return }
    let budget = SpinBudget(nanoseconds: SpinBudget.answer)
    var looks = 0
    let found: Int? = budget.run {
      looks += 1
      return 7
    }
    #expect(found == 7 && looks == 1)
  }

  @Test("takes an answer for a miss if it has lost its processor meanwhile")
  func lostProcessorsAreMisses() {
    guard Backoff.maySpin else { return }
    let budget = SpinBudget(nanoseconds: SpinBudget.answer)
    var spins = 0
    for _ in 0..<40 {
      // A look that takes as long as another program's time slice counts as if that program had run.
      let found: Int? = budget.run {
        spins += 1
        let end = Clock.uptime.now() + 200_000
        while Clock.uptime.now() < end {}
        return 1
      }
      #expect(found == 1 || found == nil)
    }
    #expect(spins <= Int(SpinCredit.start / 8), "\(spins) spins")
  }
}
