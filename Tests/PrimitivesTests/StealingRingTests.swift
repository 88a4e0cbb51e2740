// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

@Suite("A stealing ring")
struct StealingRingTests {
  @Test("takes 256 values and no more")
  func capacity() {
    let ring = StealingRing()
    for number in 0..<StealingRing.capacity { #expect(ring.push(pointer(number)) == true) }
    #expect(ring.push(pointer(999)) == false)
    #expect(ring.count == StealingRing.capacity)
    #expect(ring.steal() == pointer(0))
    #expect(ring.push(pointer(256)) == true)
    #expect(ring.push(pointer(999)) == false)
  }

  @Test("gives values out in the order of their pushes, to owner and thieves alike")
  func model() {
    var random = SeededRandom(seed: Stress.seed("stealing ring"))
    let ring = StealingRing()
    var model: ArraySlice<Int> = []
    for number in 0..<50_000 {
      switch random.below(20) {
      case 0..<11:
        let fits = model.count < StealingRing.capacity
        #expect(ring.push(pointer(number)) == fits)
        if fits { model.append(number) }
      case 11..<16: #expect(ring.pop() == model.popFirst().map { pointer($0) })
      default: #expect(ring.steal() == model.popFirst().map { pointer($0) })
      }
      #expect(ring.count == model.count)
    }
  }
}
