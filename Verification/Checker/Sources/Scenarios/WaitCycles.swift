// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerKit

@testable import GrandCentral

// Waits that are looked at while lanes and groups change hands. A cycle that is told of ends the run as a failure, where there
// is none; and where there is one, the last of its threads tells of it.

func waitCycles() -> [Scenario] {
  [
    watched("a lane that is handed over closes no cycle", isSmall: false) { run in
      let (near, far, data) = (DispatchQueue(label: "near"), DispatchQueue(label: "far"), Plain())
      run.thread { near.sync { far.sync { data.value += 1 } } }
      run.thread {
        far.sync {}
        near.sync { data.value += 1 }
      }
      run.finally { run.check(data.value == 2, "an item was lost") }
    },
    watched("a lane that is handed over to the second of two waiters closes no cycle", isSmall: false) { run in
      let (near, far, data) = (DispatchQueue(label: "near"), DispatchQueue(label: "far"), Plain())
      run.thread { near.sync { far.sync { data.value += 1 } } }
      for _ in 0..<2 {
        run.thread {
          far.sync {}
          near.sync { data.value += 1 }
        }
      }
      run.finally { run.check(data.value == 3, "an item was lost") }
    },
    watched("a reader that was let in closes no cycle with a barrier behind it", isSmall: false) { run in
      let cache = DispatchQueue(label: "cache", attributes: .concurrent), serial = DispatchQueue(label: "serial")
      let data = Plain()
      run.thread { cache.sync { serial.sync { data.value += 1 } } }
      run.thread {
        serial.sync {}
        cache.sync(flags: .barrier) { data.value += 1 }
      }
      run.finally { run.check(data.value == 2, "an item was lost") }
    },
    // Small, but its end takes two minutes.
    watched(
      "a group that was left, and entered again, closes no cycle with the waiter that was let go", isSmall: false
    ) { run in
      standInForPool()
      let (queue, group, waits) = (DispatchQueue(label: "queue"), DispatchGroup(), Box(Parker()))
      group.enter()
      run.thread {
        queue.sync {
          var waiter = Waiter()
          withUnsafeMutablePointer(to: &waiter) { waiter in
            run.check(group.join(waiter, urgency: 0), "the group is entered")
            waits.value.unpark()
            WaitGraph.park(waiter.pointee.parker, in: .object(group.awaited(by: waiter)))
          }
        }
      }
      run.thread {
        // Had the waiter come later, it would wait for an item behind its own.
        _ = waits.value.park()
        group.leave()
        queue.async(group: group) {}
      }
    },
    watched("of two threads that wait for each other the last one tells of it", unusual: 0) { run in
      Settings.setCycles(.report)
      let lanes = (0..<2).map { DispatchQueue(label: "lane \($0)") }
      let here = [Box(Parker()), Box(Parker())]
      var told = [false, false]
      for index in 0..<2 {
        run.thread {
          lanes[index].sync {
            let other = lanes[1 - index].reference
            var record = WaitRecord(.turn(on: other, reads: false, below: other), nil)
            withUnsafeMutablePointer(to: &record) { record in
              WaitGraph.enter(record)
              here[1 - index].value.unpark()
              _ = here[index].value.park()
              WaitGraph.leave(record)
              told[index] = record.pointee.isReported
            }
          }
        }
      }
      run.finally { run.check(told == [true, true], "told of \(told)") }
    },
    watched("records come and go beside a walk, with all that their threads hold") { run in
      let lanes = (0..<2).map { DispatchQueue(label: "lane \($0)") }
      for index in 0..<2 {
        run.thread {
          // The first thread waits for the second one's lane; the second one waits for a lane that no thread holds.
          let free = DispatchQueue(label: "free")
          lanes[index].sync {
            let other = (index == 0 ? lanes[1] : free).reference
            var record = WaitRecord(.turn(on: other, reads: false, below: other), nil)
            withUnsafeMutablePointer(to: &record) { record in
              WaitGraph.enter(record)
              WaitGraph.leave(record)
            }
          }
        }
      }
    },
  ]
}

/// Waiting threads look for cycles at once.
private func watched(
  _ name: String, unusual: Int = 1, isSmall: Bool = true, _ body: @escaping (ScenarioRun) -> Void
) -> Scenario {
  protocolScenario(name, of: "WaitGraph", unusual: unusual, isSmall: isSmall) { run in
    Settings.setCycles(.trap)
    Settings.setCyclePatience(nanoseconds: 0)
    body(run)
  }
}
