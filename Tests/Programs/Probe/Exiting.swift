// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

extension Scenario {
  static let exiting: [String: Body] = [
    "exit-main": { becomeBusy { leave() } },
    "exit-item": { becomeBusy { DispatchQueue(label: "leaving").async { leave() } } },
    "exit-timer": { becomeBusy { DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { leave() } } },
    "exit-main-queue": {
      becomeBusy(waiting: false) { DispatchQueue.main.async { leave() } }
      dispatchMain()
    },
    "return-from-main": { becomeBusy(waiting: false) {} },
  ]

  private static func leave() { exit(7) }

  /// Calls `then` when queues, timers, groups and concurrentPerform are all at work and will be for ever.
  private static func becomeBusy(waiting: Bool = true, _ then: @escaping Body) {
    let warm = Latch(64)
    let queues = (0..<8).map { index in
      DispatchQueue(label: "busy-\(index)", attributes: index % 2 == 0 ? [] : .concurrent)
    }
    @Sendable func churn(_ index: Int) {
      warm.open()
      let next = queues[index % 8]
      let flags: DispatchWorkItemFlags = index % 5 == 0 ? .barrier : []
      next.async(flags: flags) { churn(index &+ 1) }
      if index % 100 == 0 {
        next.asyncAfter(deadline: .now() + .microseconds(50)) {}
        DispatchQueue.concurrentPerform(iterations: 4) { _ in }
      }
    }
    for index in 0..<16 { queues[index % 8].async { churn(index) } }
    let blocked = Latch()
    for _ in 0..<4 { DispatchQueue.global().async { blocked.wait() } }
    require(warm.wait(), "it became busy")
    then()
    if waiting { blocked.wait() }
  }
}
