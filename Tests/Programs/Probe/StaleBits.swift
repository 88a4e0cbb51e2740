// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

extension Scenario {
  static let staleBits: [String: Body] = ["stale-bit-relays": staleBitRelays, "stale-bit-monitor": staleBitMonitor]

  /// One worker, one urgent item, then two queues with much to do: how often does the worker change from one to the other?
  @Sendable private static func staleBitRelays() {
    let (isIn, start) = (Latch(), Latch())
    DispatchQueue.global().async {
      isIn.open()
      while !start.isOpen {}
    }
    require(isIn.wait(), "the worker is busy")
    let count = 10_000
    let (queues, done) = ((0..<2).map { DispatchQueue(label: "queue \($0)") }, Latch(3))
    // One worker runs everything.
    let (last, switches) = (Unprotected(0), Unprotected(0))
    for index in 0..<count {
      for (number, queue) in queues.enumerated() {
        queue.async {
          if last.value != number { switches.value += 1 }
          last.value = number
          if index == count - 1 { done.open() }
        }
      }
    }
    DispatchQueue.global(qos: .userInteractive).async { done.open() }
    start.open()
    require(done.wait(), "all ran")
    report("switches", switches.value)
  }

  /// Two workers run long items, of which one has waited for its turn. Does the monitor, which was woken for it, sleep again?
  @Sendable private static func staleBitMonitor() {
    let (areIn, first, last, done) = (Latch(2), Latch(), Latch(), Latch(3))
    let isIn = Latch()
    for gate in [first, last] {
      DispatchQueue.global().async {
        areIn.open()
        while !gate.isOpen {}
        done.open()
      }
    }
    require(areIn.wait(), "both workers are busy")
    DispatchQueue.global().async {
      isIn.open()
      while !last.isOpen {}
      done.open()
    }
    func monitor() -> ProcessThreads.Record? { ProcessThreads.all().first { $0.name == "gc-monitor" } }
    require(eventually { monitor() != nil }, "the monitor watches over what waits")
    first.open()
    require(isIn.wait(), "the last item runs")
    let quiet = eventually {
      let before = monitor()?.contextSwitches
      usleep(30_000)
      return before == monitor()?.contextSwitches
    }
    report("quiet", quiet)
    last.open()
    require(done.wait(), "all ran")
  }
}
