// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

@Suite("A lock")
struct LockTests {
  @Test("cannot be taken twice, and can be taken again after it was released")
  func exclusive() {
    let lock = Lock()
    #expect(lock.tryLock() == true)
    #expect(lock.tryLock() == false)
    lock.unlock()
    #expect(lock.tryLock() == true)
    lock.unlock()
  }

  @Test("is held for the body of withLock, and no longer")
  func scoped() {
    let lock = Lock()
    #expect(lock.withLock { lock.tryLock() } == false)
    #expect(lock.tryLock() == true)
  }

  @Test("wakes a thread that sleeps for it")
  func wakes() {
    let shared = SharedLock()
    shared.lock.lock()
    let sleeper = BlockedThread {
      shared.lock.lock()
      shared.lock.unlock()
    }
    #expect(sleeper.isAsleep())
    shared.lock.unlock()
    sleeper.join()
    #expect(shared.lock.tryLock() == true)
  }

  private final class SharedLock: Sendable {
    let lock = Lock()
  }
}
