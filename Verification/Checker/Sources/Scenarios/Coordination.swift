// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit

@testable import GrandCentral

func coordination() -> [Scenario] {
  [
    protocolScenario("a signal is not lost, and publishes", of: "DispatchSemaphore") { run in
      let semaphore = DispatchSemaphore(value: 0), data = Plain()
      run.thread {
        data.value = 1
        semaphore.signal()
      }
      run.thread {
        semaphore.wait()
        run.check(data.value == 1, "the signal has not published")
      }
    },
    protocolScenario("two waiters, two signals", of: "DispatchSemaphore", unusual: 0, isSmall: false) { run in
      let semaphore = DispatchSemaphore(value: 0)
      run.thread { semaphore.wait() }
      run.thread { semaphore.wait() }
      run.thread { for _ in 0..<2 { semaphore.signal() } }
    },
    protocolScenario("a wait that gives up takes no signal", of: "DispatchSemaphore", unusual: 1) { run in
      let semaphore = DispatchSemaphore(value: 0)
      var took = false
      run.thread { semaphore.signal() }
      run.thread { took = semaphore.wait(timeout: .now() + .milliseconds(1)) == .success }
      run.finally {
        let left = semaphore.wait(timeout: .now()) == .success
        run.check(took != left, "the signal was lost, or taken twice")
      }
    },
    protocolScenario("a wait that may not block, beside a signal", of: "DispatchSemaphore") { run in
      let semaphore = DispatchSemaphore(value: 0)
      var took = false
      run.thread { semaphore.signal() }
      run.thread { took = semaphore.wait(timeout: .now()) == .success }
      run.finally {
        let left = semaphore.wait(timeout: .now()) == .success
        run.check(took != left, "the signal was lost, or taken twice")
      }
    },
    protocolScenario("one at a time", of: "DispatchSemaphore") { run in
      let semaphore = DispatchSemaphore(value: 1), data = Plain()
      for _ in 0..<2 {
        run.thread {
          semaphore.wait()
          data.value += 1
          semaphore.signal()
        }
      }
      run.finally { run.check(data.value == 2, "an update was lost") }
    },
    protocolScenario("the last leave wakes, and publishes", of: "DispatchGroup") { run in
      let group = DispatchGroup(), data = Plain()
      group.enter()
      run.thread {
        data.value = 1
        group.leave()
      }
      run.thread {
        group.wait()
        run.check(data.value == 1, "the leave has not published")
      }
    },
    protocolScenario("two leaves, one waiter", of: "DispatchGroup") { run in
      let group = DispatchGroup(), one = Plain(), two = Plain()
      group.enter()
      group.enter()
      run.thread {
        one.value = 1
        group.leave()
      }
      run.thread {
        two.value = 1
        group.leave()
      }
      run.thread {
        group.wait()
        run.check(one.value + two.value == 2, "a leave has not published")
      }
    },
    protocolScenario("a wait that gives up, beside the last leave", of: "DispatchGroup") { run in
      let group = DispatchGroup()
      group.enter()
      run.thread { group.leave() }
      run.thread { _ = group.wait(timeout: .now() + .milliseconds(1)) }
      run.finally { run.check(group.wait(timeout: .now()) == .success, "the group is not empty") }
    },
    protocolScenario("the body runs once, and both see what it has done", of: "DispatchOnce") { run in
      let once = Box(DispatchOnce()), data = Plain()
      for _ in 0..<2 {
        run.thread {
          once.value.run { data.value += 1 }
          run.check(data.value == 1, "the body ran \(data.value) times")
        }
      }
    },
    protocolScenario("three callers", of: "DispatchOnce", unusual: 0) { run in
      // Tried before the threads begin: otherwise the search is about which of them tries first. The scenario of two callers has that.
      InsightRegion.makeOnce()
      let once = Box(DispatchOnce()), data = Plain()
      for _ in 0..<3 {
        run.thread {
          once.value.run { data.value += 1 }
          run.check(data.value == 1, "the body ran \(data.value) times")
        }
      }
    },
  ]
}
