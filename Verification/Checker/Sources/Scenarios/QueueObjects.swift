// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerKit

@testable import GrandCentral

// What a queue carries beside its items: extras, values by key, its target, its suspension.

private func lane(_ label: String = "lane", target: DispatchQueue? = nil) -> DispatchQueue {
  DispatchQueue(label: label, target: target)
}

func queueObjects() -> [Scenario] {
  [
    protocolScenario("two threads need a queue's extras: both have the same ones", of: "DispatchObject", unusual: 0) {
      run in
      let queue = lane()
      var found: [ObjectIdentifier] = []
      for _ in 0..<2 {
        run.thread {
          let extras = queue.readyExtras
          extras.lock.withLock { extras.suspensions += 1 }
          found.append(ObjectIdentifier(extras))
        }
      }
      run.finally { run.check(found.count == 2 && found[0] == found[1], "two extras were made") }
    },
    protocolScenario("a look at extras that another thread makes", of: "DispatchObject", unusual: 0) { run in
      let queue = lane()
      run.thread { _ = queue.readyExtras }
      run.thread { _ = queue.floor }
    },
    protocolScenario("a value is set and looked up", of: "Specifics", unusual: 0) { run in
      let specifics = Box(Specifics()), key = DispatchSpecificKey<Int>()
      let raw = UnsafeRawPointer(Unmanaged.passUnretained(key).toOpaque())
      run.thread { _ = specifics.value.replace(raw, with: SpecificValue(key: key, value: 7)) }
      run.thread {
        guard let found = specifics.value.lookUp(raw) else { return }
        run.check(found.value(of: Int.self) == 7, "the value is not the one that was set")
        found.leave()
      }
    },
    protocolScenario("a value that is replaced: its finder has left", of: "Specifics", unusual: 0) { run in
      let specifics = Box(Specifics()), key = DispatchSpecificKey<Int>(), box = Plain()
      let raw = UnsafeRawPointer(Unmanaged.passUnretained(key).toOpaque())
      _ = specifics.value.replace(raw, with: SpecificValue(key: key, value: 1))
      run.thread {
        guard let found = specifics.value.lookUp(raw) else { return }
        // Stands in for the box's memory.
        _ = box.value
        found.leave()
      }
      run.thread {
        let old = specifics.value.replace(raw, with: nil)
        run.check(old != nil, "the value was lost")
        box.value = 1
      }
    },
    protocolScenario("a look for a value that is not there lets the next one in", of: "Specifics", unusual: 0) { run in
      let specifics = Box(Specifics()), key = DispatchSpecificKey<Int>()
      let raw = UnsafeRawPointer(Unmanaged.passUnretained(key).toOpaque())
      run.thread { specifics.value.lookUp(raw)?.leave() }
      run.thread {
        run.check(specifics.value.replace(raw, with: SpecificValue(key: key, value: 7)) == nil, "nothing was set")
      }
    },
    protocolScenario("a new target is whole for a walk along the chain", of: "Lane+Target", unusual: 0) { run in
      let queue = lane()
      run.thread { queue.setTarget(queue: lane("new")) }
      run.thread {
        let names = queue.find { $0.kind.isRunQueue ? $0.name : $0.name == "new" ? "new" : nil }
        run.check(names != nil, "the chain has no end")
      }
    },
    protocolScenario("two threads set a queue's target", of: "Lane+Target", unusual: 0) { run in
      let queue = lane(target: .main)
      for target in [lane("one", target: .main), lane("two", target: .main)] {
        run.thread { queue.setTarget(queue: target) }
      }
      run.finally {
        for _ in 0..<4 { MainLoop.drain() }
        run.check(queue.find { $0.name == "one" || $0.name == "two" ? true : nil } == true, "no target was set")
      }
    },
    protocolScenario("a target is replaced while another thread uses it", of: "Lane+Target", unusual: 0) { run in
      // The first target that is not a global queue is kept; the second one goes with its last reference.
      let queue = lane(target: lane("first"))
      queue.setTarget(queue: lane("second"))
      run.thread { queue.setTarget(queue: lane("third")) }
      run.thread { queue.withTarget { target in run.check(!target.name.isEmpty, "the target is gone") } }
    },
    protocolScenario(
      "a queue is suspended while it is drained: nothing runs that comes later", of: "Lane+Drain", unusual: 0
    ) {
      run in
      standInForPool()
      let queue = lane(), isSuspended = Plain(), late = Plain()
      queue.async {}
      run.thread { work() }
      run.thread {
        queue.suspend()
        isSuspended.value = 1
        queue.async { if isSuspended.value == 1 { late.value += 1 } }
        isSuspended.value = 0
        queue.resume()
      }
      run.finally {
        work()
        run.check(late.value == 0, "an item has run while its queue was suspended")
      }
    },
  ]
}
