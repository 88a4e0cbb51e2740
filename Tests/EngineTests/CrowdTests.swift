// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GrandCentral

@Suite("More workers that compute than processors")
struct CrowdTests {
  private let tick: UInt64 = 1_000_000

  /// After how many ticks each of `count` workers is added, where each of them then computes on, or blocks.
  private func growth(from excess: Int, _ count: Int, eachComputes: Bool) -> [Int] {
    var (crowd, excess, ticks, last) = (Crowd(), excess, 0, 0)
    var spans: [Int] = []
    while spans.count < count {
      ticks += 1
      guard crowd.look(excess: excess, computing: excess + 2, places: 2, elapsed: tick), crowd.mayGrow() else {
        continue
      }
      spans.append(ticks - last)
      last = ticks
      if eachComputes { excess += 1 }
    }
    return spans
  }

  /// What a tick finds: nil if there is no crowd, or whether a worker may be added.
  private func look(_ crowd: inout Crowd, excess: Int, places: Int = 2) -> Bool? {
    crowd.look(excess: excess, computing: excess + places, places: places, elapsed: tick) ? crowd.mayGrow() : nil
  }

  @Test(
    "E9: a few workers too many are no crowd", arguments: [(2, 2, false), (4, 64, false), (3, 2, true), (5, 64, true)])
  func few(excess: Int, places: Int, isCrowd: Bool) {
    var crowd = Crowd()
    let found = look(&crowd, excess: excess, places: places)
    #expect((found != nil) == isCrowd)
  }

  @Test("E9: workers that block beside a crowd are replaced, one in each slice")
  func blocking() {
    #expect(growth(from: 8, 6, eachComputes: false) == [1, 40, 10, 10, 10, 10])
  }

  @Test("E9, E11: workers that compute for ever beside a crowd are added the more slowly the more there are")
  func computing() {
    let spans = growth(from: 8, 100, eachComputes: true)
    #expect(spans.prefix(4) == [1, 40, 45, 50])
    let all = spans.reduce(0, +)
    #expect(all > 25_000 && all < 30_000, "\(all) ms")
  }

  @Test("E9: that some of them wait at any time is no end of the crowd, and none is added for it")
  func changing() {
    var (crowd, added) = (Crowd(), 0)
    for tick in 0..<2_000 where look(&crowd, excess: 20 + tick % 11) == true { added += 1 }
    // The first is added at once, one more when the peak has been seen, and then one in each slice.
    #expect(added > 150 && added < 200)
  }

  @Test("E9, E11: a crowd whose members wait all at once is remembered, as they come back")
  func memory() {
    var crowd = Crowd()
    for _ in 0..<5 { _ = look(&crowd, excess: 10) }
    var ticks = 0
    while crowd.isRemembered {
      _ = look(&crowd, excess: 0)
      ticks += 1
    }
    #expect(ticks == 20)
  }

  @Test("E9: a crowd is forgotten when processors have been left over for half a slice")
  func idle() {
    var crowd = Crowd()
    for _ in 0..<20 { _ = look(&crowd, excess: 10) }
    let remembered = (0..<6).map { _ in
      _ = crowd.look(excess: 0, computing: 1, places: 2, elapsed: tick)
      return crowd.isRemembered
    }
    #expect(remembered == [true, true, true, true, false, false])
  }

  @Test("E9: workers that have just been added, and may be about to wait, are not remembered")
  func proof() {
    var crowd = Crowd()
    for _ in 0..<5 {
      let isCrowd = crowd.look(excess: 10, computing: 2, places: 2, elapsed: tick)
      #expect(isCrowd && !crowd.isRemembered)
    }
  }

  @Test("E9: when the crowd is forgotten, the next one begins anew")
  func end() {
    var crowd = Crowd()
    let pause = Array(repeating: 0, count: 8)
    let found = ([50, 50] + pause + [3]).map { look(&crowd, excess: $0) }
    #expect(found == [true, false] + pause.map { _ in nil } + [true])
  }
}
