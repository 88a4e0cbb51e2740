// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit

@testable import GrandCentral

// A thread that adds something to wait for looks at the sleepers afterwards. A thread that sleeps says so, and looks afterwards
// at what there is to wait for. One sees the other. The flag stands for the sleep protocol's word, or the poller's announcement.

func tables() -> [Scenario] {
  func timer(_ name: String, isSeen: @escaping () -> Bool) -> Scenario {
    protocolScenario(name, of: "Timers", unusual: 0) { run in
      standInForPool()
      let flag = Box(AtomicFlag())
      let entry = Memory.allocate(64, alignment: 64).bindMemory(to: TimerEntry.self, capacity: 1)
      entry.initialize(to: TimerEntry(deadline: 1 << 40))
      // Its wheel is made.
      Engine.shared.pointee.timers.add(entry, on: .uptime, in: Engine.shared.pointee)
      _ = Engine.shared.pointee.timers.cancel(entry, on: .uptime)
      var sleeps = false, wakes = false
      run.thread {
        Engine.shared.pointee.timers.add(entry, on: .uptime, in: Engine.shared.pointee)
        wakes = flag.value.isRaised
      }
      run.thread {
        flag.value.raise()
        sleeps = !isSeen()
      }
      run.finally { run.check(!sleeps || wakes, "a timer is added, and nobody looks after it") }
    }
  }
  return [
    timer("a timer is added, a sleeper looks whether there are any") { !Engine.shared.pointee.timers.isEmpty },
    timer("a timer is added, the poller looks how long it may sleep") {
      Engine.shared.pointee.timers.earliest(on: .uptime) != .max
    },
    protocolScenario("a descriptor is watched, a sleeper looks whether any is", of: "DescriptorTable", unusual: 0) {
      run in
      let table = Box(DescriptorTable()), poller = Box(EpollPoller()), flag = Box(AtomicFlag()), pipe = makePipe()
      run.check(poller.value.makeReady() == nil, "there is no epoll")
      let watch = DescriptorWatch.Pointer.allocate(capacity: 1)
      watch.initialize(
        to: DescriptorWatch(pipe.reading, .readable, context: UnsafeMutableRawPointer(watch), report: { _, _ in true }))
      var sleeps = false, wakes = false
      run.thread {
        run.check(table.value.add(watch, on: poller.value) == .watched, "the descriptor is not watched")
        wakes = flag.value.isRaised
      }
      run.thread {
        flag.value.raise()
        sleeps = table.value.isEmpty
      }
      run.finally { run.check(!sleeps || wakes, "a descriptor is watched, and nobody waits for it") }
    },
    protocolScenario("the counter's pace is measured from one moment", of: "Cycles", unusual: 0) { run in
      ck_machine_hide_pace()
      ck_machine_compute(1_000_000)
      // So soon after the first moment nothing is known: both go by the guess.
      for _ in 0..<2 {
        run.thread { run.check(Cycles.perMillisecond == 2_500_000, "the pace is measured from no moment") }
      }
    },
  ]
}
