// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Synchronization
import Testing

@testable import GrandCentral

@Suite("Locks and parkers under stress")
struct PrimitivesLockStress {
  private final class Guarded: @unchecked Sendable {  // why: `value` is what the lock under test guards
    let lock = Lock()
    var value = 0
  }

  @Test("a lock lets one thread in at a time, and nobody sleeps for ever")
  func exclusion() {
    rounds {
      let shared = Guarded()
      PlainThread.concurrently(4) { index in
        for turn in 0..<2_000 {
          if index == 0, turn % 3 == 0, shared.lock.tryLock() {
            shared.value += 1
            shared.lock.unlock()
          } else {
            shared.lock.lock()
            shared.value += 1
            shared.lock.unlock()
          }
        }
      }
      #expect(shared.value == 8_000)
    }
  }

  private final class PingPong: @unchecked Sendable {  // why: the parkers under test order the use of `value`
    let ping = Parker()
    let pong = Parker()
    var value = 0
  }

  @Test("two threads that unpark each other go on for ever, and see each other's writes", arguments: [0, 50])
  func pingPong(spin: Int) {
    rounds {
      let shared = PingPong()
      let turns = 500
      let other = PlainThread {
        for turn in 0..<turns {
          #expect(shared.ping.park(spin: spin) == true)
          #expect(shared.value == 2 * turn + 1)
          shared.value += 1
          shared.pong.unpark()
        }
      }
      for turn in 0..<turns {
        shared.value += 1
        shared.ping.unpark()
        #expect(shared.pong.park(until: .never, spin: spin) == true)
        #expect(shared.value == 2 * turn + 2)
      }
      other.join()
    }
  }

  @Test("no token is lost or doubled when a park gives up at the moment of the unpark")
  func deadlines() {
    let seed = Stress.seed("parks that give up")
    rounds {
      let shared = PingPong()
      let turns = 1_000
      let other = PlainThread {
        var random = SeededRandom(seed: seed)
        for _ in 0..<turns {
          let start = gc_cycles()
          let delay = UInt64(random.below(40_000))
          while gc_cycles() &- start < delay {}
          shared.ping.unpark()
          #expect(shared.pong.park() == true)
        }
      }
      gc_thread_set_timer_slack(1)
      var random = SeededRandom(seed: ~seed)
      for _ in 0..<turns {
        let patience = UInt64(random.below(5_000))
        let latest = DispatchTime.now() + Patience.seconds
        var isLost = false
        while !isLost, !shared.ping.park(until: Deadline.after(patience, on: .uptime)) { isLost = .now() > latest }
        if isLost { Issue.record("a token was lost") }
        shared.pong.unpark()
      }
      gc_thread_set_timer_slack(0)
      other.join()
      #expect(shared.ping.tryConsume() == false)
    }
  }

  private final class Semaphore: @unchecked Sendable {  // why: `waiters` and `value` are guarded by `lock`
    let lock = Lock()
    var waiters = WaiterList()
    var value = 0

    func signal() {
      lock.lock()
      let waiter = waiters.popFirst()
      if waiter == nil { value += 1 }
      lock.unlock()
      waiter?.pointee.parker.unpark()
    }

    /// Waits on the caller's stack; gives up after `patience`.
    func wait(_ patience: UInt64) -> Bool {
      lock.lock()
      if value > 0 {
        value -= 1
        lock.unlock()
        return true
      }
      var storage = Waiter()
      return withUnsafeMutablePointer(to: &storage) { waiter in
        waiters.append(waiter)
        lock.unlock()
        if waiter.pointee.parker.park(until: Deadline.after(patience, on: .uptime)) { return true }
        lock.lock()
        let chosen = !waiter.pointee.isListed
        if !chosen { waiters.remove(waiter) }
        lock.unlock()
        return chosen ? waiter.pointee.parker.park() : false
      }
    }
  }

  @Test("waiters on stacks: each signal wakes one wait, or stays, whichever waiters give up meanwhile")
  func waiters() {
    let seed = Stress.seed("waiters on stacks")
    rounds {
      let semaphore = Semaphore()
      let taken = Counter()
      PlainThread.concurrently(4) { index in
        var random = SeededRandom(seed: seed &+ UInt64(index))
        for _ in 0..<300 {
          if index < 2 { semaphore.signal() } else if semaphore.wait(random.next() >> 45) { taken.add() }
        }
      }
      #expect(taken.value + semaphore.value == 600)
      #expect(semaphore.waiters.isEmpty == true)
    }
  }
}
