// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerKit

@testable import GrandCentral

// The main queue, drained by the scenario's main thread or by one that stands in for it. Lanes whose chain ends there need no
// worker: so whole queues are searched, from the submitter to the item's end.

/// A counter of the kernel's: whether it polls readable. Reading empties it.
private func isSignalled(_ descriptor: Int32) -> Bool {
  var count: UInt64 = 0
  return withUnsafeMutableBytes(of: &count) { gc_read(descriptor, $0.baseAddress, $0.count) } == 8
}

func mainQueue() -> [Scenario] {
  [
    protocolScenario("an item comes while the descriptor is made: it polls readable", of: "MainQueue", unusual: 0) { run in
      var descriptor: Int32 = -1
      let job = Job(invoke: { _ in }, band: .normal)
      run.thread { GlobalQueues.main.enqueue(job) }
      run.thread { descriptor = MainLoop.descriptor }
      run.finally { run.check(isSignalled(descriptor), "an item is there, and nobody is told") }
    },
    protocolScenario("an item comes while the loop drains: it runs, or the descriptor polls readable", of: "MainQueue", unusual: 0)
    { run in
      let descriptor = MainLoop.descriptor, data = Plain(), ran = Counter()
      run.thread {
        data.value = 1
        DispatchQueue.main.async {
          run.check(data.value == 1, "the submitter has not published")
          ran.value += 1
        }
      }
      run.thread { MainLoop.drain() }
      run.finally {
        if ran.value == 0 {
          run.check(isSignalled(descriptor), "an item is there, and nobody is told")
          MainLoop.drain()
        }
        run.check(ran.value == 1, "the item ran \(ran.value) times")
      }
    },
  ]
}
