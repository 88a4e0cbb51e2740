// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import Testing

@testable import GrandCentral

@Suite("A worker that stands in for the monitor")
struct VacancyTests {
  private static let fires = Counter()

  /// What an event does: the lane that it makes runnable goes into the worker's slot.
  private static let fire: TimerEntry.Fire = { _ in
    VacancyTests.fires.add()
    Engine.shared.pointee.submitUnordered(BareEngine.job())
  }

  @Test("E6: what a sleeper finds as it stands in does not lie in its slot while it naps")
  func slot() async {
    await #expect(processExitsWith: .success) {
      GrandCentralRuntime.processorOverride = 1
      let engine = Engine.shared
      // This thread is a worker, beside one that searches: no other one is woken or started.
      engine.pointee.pool.updateInOrder { _ = $0.claimReinforcement(parallelism: .max, budget: .max) }
      let worker = BareEngine.searcher(engine)
      gc_thread_self().pointee.worker = UnsafeMutableRawPointer(worker)
      guard engine.pointee.takePlace(worker), let place = worker.pointee.place else { _exit(EXIT_FAILURE) }
      // Something is pending, which it leaves to others.
      engine.pointee.submit(BareEngine.job())
      let timer = TimerEntry.Pointer.allocate(capacity: 1)
      timer.initialize(to: TimerEntry(deadline: 0, fire: VacancyTests.fire))
      engine.pointee.timers.add(timer, on: .uptime, in: engine.pointee)
      engine.pointee.joinIdle(worker)
      let hasLooked = engine.pointee.standIn(worker) && VacancyTests.fires.value == 1
      _exit(hasLooked && place.pointee.slotIsEmpty ? EXIT_SUCCESS : EXIT_FAILURE)
    }
  }
}
