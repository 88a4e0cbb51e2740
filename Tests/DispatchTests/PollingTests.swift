// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Synchronization
import Testing

@testable import GrandCentral

@Suite("Waits that may not block")
struct PollingTests {
  /// In a process of its own: the waits of other tests spin.
  @Test("G1, G3, W2: a wait that may not block does not spin either, and costs others none of their credit")
  func credit() async {
    await #expect(processExitsWith: .success) {
      func credit(_ budget: borrowing SpinBudget) -> SpinCredit {
        // relaxed: no other thread waits.
        SpinCredit(rawValue: budget.credit.load(ordering: .relaxed))
      }
      let before = [credit(DispatchSemaphore.spin), credit(DispatchGroup.spin), credit(DispatchWorkItem.spin)]
      let (semaphore, group, item) = (DispatchSemaphore(value: 0), DispatchGroup(), DispatchWorkItem {})
      group.enter()
      for _ in 0..<100 {
        #expect(semaphore.wait(timeout: .now()) == .timedOut)
        #expect(group.wait(timeout: .now()) == .timedOut)
        #expect(item.wait(timeout: .now()) == .timedOut)
        #expect(semaphore.wait(wallTimeout: .now()) == .timedOut)
      }
      group.leave()
      let after = [credit(DispatchSemaphore.spin), credit(DispatchGroup.spin), credit(DispatchWorkItem.spin)]
      #expect(after == before)
    }
  }

  /// A handler of signals that interrupts the thread may signal the semaphore: it would wait for the lock for ever.
  @Test("G3: a wait that may not block takes no lock")
  func holdsNothing() {
    let (semaphore, timeouts) = (DispatchSemaphore(value: 0), Latch(2))
    semaphore.lock.lock()
    let poller = PlainThread {
      if semaphore.wait(timeout: .now()) == .timedOut { timeouts.open() }
      if semaphore.wait(wallTimeout: .now()) == .timedOut { timeouts.open() }
    }
    #expect(timeouts.wait())
    semaphore.lock.unlock()
    poller.join()
    #expect(semaphore.signal() == 0)
    #expect(semaphore.wait(timeout: .now()) == .success)
    #expect(semaphore.wait(timeout: .now()) == .timedOut)
  }
}
