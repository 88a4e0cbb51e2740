// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

/// Workers that hold no place and run on: other work starts all the same. Each scenario reports how many items ended in time.
extension Scenario {
  static let displacing: [String: Body] = [
    "long-after-wait": longAfterWait, "long-beside-blocked": longBesideBlocked,
    "long-with-fewer-processors": longWithFewer, "flood-of-urgent-items": floodOfUrgentItems,
  ]

  /// Submits an urgent item and one of a queue; reports how many have run.
  private static func reportOthers() {
    let (urgent, queue) = (Latch(), Latch())
    DispatchQueue.global(qos: .userInteractive).async { urgent.open() }
    DispatchQueue(label: "other").async { queue.open() }
    report("ran", (urgent.wait() ? 1 : 0) + (queue.wait() ? 1 : 0))
    exit(0)
  }

  /// Items that wait for what the pool does next come back to find their places taken, and compute for ever.
  @Sendable private static func longAfterWait() {
    let (semaphore, back) = (DispatchSemaphore(value: 0), Latch(2))
    for index in 0..<2 {
      DispatchQueue(label: "computes-\(index)").async {
        semaphore.wait()
        back.open()
        while true {}
      }
    }
    for index in 0..<2 { DispatchQueue(label: "signals-\(index)").async { semaphore.signal() } }
    require(back.wait(), "both are back")
    reportOthers()
  }

  /// Items that block where nobody sees it have workers added, which meet items that compute for ever.
  @Sendable private static func longBesideBlocked() {
    let computing = Latch(2)
    for _ in 0..<2 { DispatchQueue.global().async { pause() } }
    for _ in 0..<6 {
      DispatchQueue.global().async {
        computing.open()
        while true {}
      }
    }
    require(computing.wait(), "two compute")
    reportOthers()
  }

  @Sendable private static func longWithFewer() {
    GrandCentralRuntime.processorOverride = 4
    let computing = Latch(3)
    for index in 0..<3 {
      DispatchQueue(label: "computes-\(index)").async {
        computing.open()
        while true {}
      }
    }
    require(computing.wait(), "all compute")
    GrandCentralRuntime.processorOverride = 1
    reportOthers()
  }

  /// Urgent items come while long ones compute: the same few threads serve them.
  @Sendable private static func floodOfUrgentItems() {
    for _ in 0..<100 { DispatchQueue.global(qos: .background).async { while true {} } }
    for _ in 0..<500 {
      let ran = Latch()
      DispatchQueue.global(qos: .userInteractive).async { ran.open() }
      require(ran.wait(), "the urgent item ran")
    }
    report("threads", GrandCentralRuntime.workerCount)
    exit(0)
  }
}
