// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit
import Synchronization

@testable import GrandCentral

nonisolated(unsafe) private var performed = 0

func parkers() -> [Scenario] {
  [
    protocolScenario("K2: a token is not lost, and publishes", of: "Parker") { run in
      let parker = Box(Parker()), data = Plain()
      run.thread {
        data.value = 1
        parker.value.unpark()
      }
      run.thread {
        run.check(parker.value.park(), "the token was lost")
        run.check(data.value == 1, "the token has not published")
      }
    },
    protocolScenario("K1: two tokens are one or two, never none", of: "Parker") { run in
      let parker = Box(Parker())
      run.thread { parker.value.unpark() }
      run.thread { parker.value.unpark() }
      run.thread { run.check(parker.value.park(), "the token was lost") }
    },
    protocolScenario("K4: a park that gives up leaves no mark", of: "Parker", unusual: 2) { run in
      let parker = Box(Parker()), data = Plain()
      var took = false
      run.thread {
        data.value = 1
        parker.value.unpark()
      }
      run.thread {
        took = parker.value.park(until: Deadline.after(1_000_000, on: .uptime))
        if took { run.check(data.value == 1, "the token has not published") }
      }
      run.finally { run.check(parker.value.tryConsume() != took, "the token was lost, or taken twice") }
    },
    protocolScenario("a flag and a token: one of the two looks finds the other's step", of: "Parker") { run in
      // The sleeper raises a flag and looks for a token; the waker leaves a token and looks at the flag.
      let parker = Box(Parker()), flag = Box(AtomicFlag())
      var slept = false, saw = false
      run.thread {
        flag.value.raise()
        slept = !parker.value.tryConsume()
      }
      run.thread {
        parker.value.unpark()
        saw = flag.value.isRaised
      }
      run.finally { run.check(!slept || saw, "both have found nothing") }
    },
    protocolScenario("a duty is done once, by the waker or the sleeper", of: "WakeDuty") { run in
      let duty = Box(WakeDuty())
      performed = 0
      let done: WakeDuty.Function = { performed += 1 }
      run.thread {
        duty.value.arm(done)
        if duty.value.disarm() { done() }
      }
      run.thread { duty.value.perform() }
      run.finally { run.check(performed == 1, "the duty was done \(performed) times") }
    },
    protocolScenario("the waker does a duty before the token: each sees what the other has written", of: "WakeDuty") {
      run in
      let duty = Box(WakeDuty()), parker = Box(Parker())
      counted = Plain()
      let data = counted!
      let done: WakeDuty.Function = { counted!.value += 1 }
      run.thread {
        data.value = 1
        duty.value.arm(done)
        run.check(parker.value.park(), "the token was lost")
        if duty.value.disarm() { done() }
        run.check(data.value == 2, "what the duty has counted is not seen")
      }
      run.thread {
        duty.value.perform()
        parker.value.unpark()
      }
    },
  ]
}

nonisolated(unsafe) private var counted: Plain?

/// A flag in the SeqCst order, as sleeping threads raise it.
struct AtomicFlag: ~Copyable {
  private let word = Atomic(false)
  func raise() { word.store(true, ordering: .sequentiallyConsistent) }
  var isRaised: Bool { word.load(ordering: .sequentiallyConsistent) }
}

func locks() -> [Scenario] {
  [
    protocolScenario("L1: two threads, one at a time, each sees the other's", of: "Lock") { run in
      let lock = Box(Lock()), data = Plain()
      for _ in 0..<2 {
        run.thread {
          lock.value.lock()
          data.value += 1
          lock.value.unlock()
        }
      }
      run.finally { run.check(data.value == 2, "an update was lost") }
    },
    protocolScenario("L2: three threads, no wake-up is lost", of: "Lock") { run in
      let lock = Box(Lock()), data = Plain()
      for _ in 0..<3 { run.thread { lock.value.withLock { data.value += 1 } } }
      run.finally { run.check(data.value == 3, "an update was lost") }
    },
    protocolScenario("two rounds each", of: "Lock", unusual: 0) { run in
      let lock = Box(Lock()), data = Plain()
      for _ in 0..<2 {
        run.thread { for _ in 0..<2 { lock.value.withLock { data.value += 1 } } }
      }
      run.finally { run.check(data.value == 4, "an update was lost") }
    },
    protocolScenario("tryLock and makeWay", of: "Lock") { run in
      let lock = Box(Lock()), data = Plain()
      run.thread {
        lock.value.lock()
        data.value += 1
        lock.value.makeWay()
        data.value += 1
        lock.value.unlock()
      }
      run.thread {
        if lock.value.tryLock() {
          data.value += 1
          lock.value.unlock()
        }
      }
      run.thread { lock.value.withLock { data.value += 1 } }
    },
    protocolScenario("a waiter is chosen, or gives up: its token comes exactly if it was chosen", of: "WaiterList") {
      run in
      let lock = Box(Lock()), list = Box(WaiterList()), data = Plain()
      var woken = false, chosen = false
      run.thread {
        var waiter = Waiter()
        withUnsafeMutablePointer(to: &waiter) { waiter in
          lock.value.withLock { list.value.append(waiter) }
          if waiter.pointee.parker.park(until: Deadline.after(1_000_000, on: .uptime)) {
            woken = true
          } else if lock.value.withLock({ () -> Bool in
            if waiter.pointee.isListed { list.value.remove(waiter) } else { return true }
            return false
          }) {
            woken = waiter.pointee.parker.park()
          }
          if woken { run.check(data.value == 1, "the waker has not published") }
        }
      }
      run.thread {
        let first = lock.value.withLock { list.value.popFirst() }
        data.value = 1
        if let first {
          chosen = true
          Waiter.wake(first)
        }
      }
      run.finally {
        run.check(woken == chosen, "a token was lost, or made up")
        run.check(list.value.isEmpty, "a waiter was left behind")
      }
    },
    protocolScenario("all are chosen, each is woken once", of: "WaiterList") { run in
      let lock = Box(Lock()), list = Box(WaiterList())
      var closed = false
      for _ in 0..<2 {
        run.thread {
          var waiter = Waiter()
          withUnsafeMutablePointer(to: &waiter) { waiter in
            let waits = lock.value.withLock { () -> Bool in
              if !closed { list.value.append(waiter) }
              return !closed
            }
            if waits { run.check(waiter.pointee.parker.park(), "the token was lost") }
          }
        }
      }
      run.thread {
        lock.value.lock()
        closed = true
        let chosen = list.value.chooseAll()
        lock.value.unlock()
        chosen.wakeAll()
      }
    },
  ]
}
