// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

@testable import GrandCentral

@Suite("Timers that are due together")
struct TimersTests {
  private static let (started, fires, served) = (Latch(), Latch(), Latch())

  private static func fire(_ index: Int) -> TimerEntry.Fire { index == 0 ? waits : passes }
  private static let passes: TimerEntry.Fire = { _ in }
  /// The first one waits, unseen, until an item has begun that was submitted while the timers fire.
  private static let waits: TimerEntry.Fire = { _ in
    // Some of them have fired before all were there: the machine has stood still for a second, and nothing is proved.
    if !TimersTests.started.isOpen { _exit(EXIT_SUCCESS) }
    TimersTests.fires.open()
    TimersTests.served.wait(seconds: 1e6)
  }

  @Test("E9: an item that is submitted while thousands of timers fire begins meanwhile")
  func submission() async {
    await #expect(processExitsWith: .success) {
      GrandCentralRuntime.processorOverride = 1
      let (engine, count) = (Engine.shared, 4_000)
      let due = Clock.uptime.now() + 1_000_000_000
      let entries = TimerEntry.Pointer.allocate(capacity: count)
      for index in 0..<count {
        (entries + index).initialize(to: TimerEntry(deadline: due, fire: TimersTests.fire(index)))
        engine.pointee.timers.add(entries + index, on: .uptime, in: engine.pointee)
      }
      TimersTests.started.open()
      TimersTests.fires.wait()
      DispatchQueue.global().async { TimersTests.served.open() }
      _exit(TimersTests.served.wait() ? EXIT_SUCCESS : EXIT_FAILURE)
    }
  }

  @Test("E1: the pool notices that the number of processors has changed, though nobody tells it")
  func processorsChange() async {
    await #expect(processExitsWith: .success) {
      let engine = Engine.shared
      @Sendable func again() {
        usleep(500)
        DispatchQueue.global().async { again() }
      }
      // On any machine something is pending then, and the monitor awake.
      Topology.setOverride(2)
      for _ in 0..<8 { DispatchQueue.global().async { again() } }
      // The first one may be seen as the pool begins.
      for count in [3, 5] {
        Topology.setOverride(count)
        // relaxed: a number.
        if !eventually({ engine.pointee.parallelism.load(ordering: .relaxed) == count }) { _exit(EXIT_FAILURE) }
      }
      _exit(EXIT_SUCCESS)
    }
  }

  @Test("E1: the number of processors that the program sets stays, though the pool was counting them as it was set")
  func overrideBesideCount() async {
    await #expect(processExitsWith: .success) {
      let (engine, gate) = (Engine.shared, Latch())
      var setter: BlockedThread?
      Fork.undisturbed {
        let thread = BlockedThread {
          GrandCentralRuntime.processorOverride = 3
          gate.wait()
        }
        setter = thread
        guard eventually({ Topology.overrideCount == 3 }), thread.isAsleep() else { _exit(EXIT_FAILURE) }
        // A count that has begun before, and has found another number, comes to its end.
        engine.pointee.setParallelism(5)
      }
      gate.open()
      setter?.join()
      // relaxed: a number.
      _exit(engine.pointee.parallelism.load(ordering: .relaxed) == 3 ? EXIT_SUCCESS : EXIT_FAILURE)
    }
  }
}
