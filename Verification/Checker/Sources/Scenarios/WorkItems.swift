// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerKit

@testable import GrandCentral

/// Work items, performed by a thread of the scenario.
func workItems() -> [Scenario] {
  [
    protocolScenario("a waiter sees what the item has done", of: "DispatchWorkItem", unusual: 0) { run in
      let data = Plain(), item = DispatchWorkItem { data.value = 1 }
      run.thread { item.perform() }
      run.thread {
        item.wait()
        run.check(data.value == 1, "the item has not published")
      }
    },
    protocolScenario("a look finds the item finished, and sees what it has done", of: "DispatchWorkItem", unusual: 0) {
      run in
      let data = Plain(), item = DispatchWorkItem { data.value = 1 }
      run.thread { item.perform() }
      run.thread { if item.tryWait() { run.check(data.value == 1, "the item has not published") } }
    },
    protocolScenario("a wait that gives up beside the item's end", of: "DispatchWorkItem") { run in
      let item = DispatchWorkItem {}
      run.thread { item.perform() }
      run.thread { _ = item.wait(timeout: .now() + .milliseconds(1)) }
      run.finally { run.check(item.tryWait(), "the item has not finished") }
    },
    protocolScenario(
      "cancelled beside its run: the closure goes once, after its last use", of: "DispatchWorkItem", unusual: 0
    ) { run in
      let data = Plain()
      var item: DispatchWorkItem? = DispatchWorkItem { data.value += 1 }
      let runner = item!, canceller = item!
      item = nil
      run.thread { runner.perform() }
      run.thread { canceller.cancel() }
      run.finally {
        run.check(runner.isCancelled && runner.tryWait(), "the item has not ended")
        run.check(data.value <= 1, "the item ran twice")
      }
    },
    protocolScenario(
      "B1: a queue is forgotten when its booster has let go of it", of: "DispatchWorkItem", unusual: 0
    ) { run in
      let item = DispatchWorkItem {}, queue = DispatchQueue(label: "busy"), memory = Plain()
      // The queue has work, so it notes the waiter's urgency.
      run.check(queue.state.update { $0.acquire(Thread.id) }, "the queue is not free")
      item.noteSubmission(to: queue)
      run.thread {
        // Stands in for the queue's memory.
        _ = memory.value
        item.boostSubmission()
      }
      run.thread {
        item.forgetSubmission()
        if queue.state.load(ordering: .relaxed).urgency != 0 { memory.value = 1 }
      }
    },
    protocolScenario("B1: a booster sees the queue whole", of: "DispatchWorkItem", unusual: 0) { run in
      let item = DispatchWorkItem {}
      run.thread {
        let queue = DispatchQueue(label: "new")
        item.noteSubmission(to: queue)
        item.forgetSubmission()
      }
      run.thread { item.boostSubmission() }
    },
    protocolScenario("two boost a queue that is forgotten", of: "DispatchWorkItem", unusual: 0) { run in
      let item = DispatchWorkItem {}, queue = DispatchQueue(label: "noted")
      item.noteSubmission(to: queue)
      for _ in 0..<2 { run.thread { item.boostSubmission() } }
      run.thread { item.forgetSubmission() }
      run.finally {
        run.check(item.submittedTo.load(ordering: .relaxed) == 0, "\(queue.label) was not forgotten")
      }
    },
  ]
}
