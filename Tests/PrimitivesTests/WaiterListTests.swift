// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

@Suite("A waiter list")
struct WaiterListTests {
  @Test("does what an array of waiters does, whichever waiters give up in between")
  func model() {
    var random = SeededRandom(seed: Stress.seed("waiter list"))
    let waiters = UnsafeMutablePointer<Waiter>.allocate(capacity: 16)
    for index in 0..<16 { (waiters + index).initialize(to: Waiter(word: UInt64(index))) }
    defer {
      waiters.deinitialize(count: 16)
      waiters.deallocate()
    }
    var list = WaiterList()
    var model: [Int] = []
    for _ in 0..<20_000 {
      let index = random.below(16)
      if random.oneIn(4) {
        #expect(list.popFirst() == (model.isEmpty ? nil : waiters + model.removeFirst()))
      } else if model.contains(index) {
        list.remove(waiters + index)
        model.removeAll { $0 == index }
      } else {
        list.append(waiters + index)
        model.append(index)
      }
      #expect(list.isEmpty == model.isEmpty)
      #expect(waiters[index].isListed == model.contains(index))
    }
    for index in model { #expect(list.popFirst()?.pointee.word == UInt64(index)) }
    #expect(list.isEmpty == true)
  }
}
