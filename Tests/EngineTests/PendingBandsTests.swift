// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Synchronization
import Testing

@testable import GrandCentral

@Suite("The pending bits")
struct PendingBandsTests {
  /// An engine without workers. It is never freed, as the real one.
  private nonisolated(unsafe) static let engine: Engine.Pointer = {
    let engine = Engine.Pointer.allocate(capacity: 1)
    engine.initialize(to: Engine())
    return engine
  }()

  @Test("E3: a bit whose band is empty is cleared, a bit whose band holds a job stays")
  func settles() {
    let engine = Self.engine
    let (empty, full) = (Band.userInteractive, Band.background)
    let job = Job(invoke: { _ in }, flags: [], qos: 0, band: full, owner: nil)
    engine.pointee.runQueues[Int(full.rank)].enqueue(job.raw)
    engine.pointee.pending.store(empty.both | full.ordered, ordering: .sequentiallyConsistent)
    #expect(engine.pointee.settle(empty.both | full.ordered) == full.ordered)
    #expect(engine.pointee.pending.load(ordering: .sequentiallyConsistent) == full.ordered)

    #expect(engine.pointee.runQueues[Int(full.rank)].dequeue() == job.raw)
    #expect(engine.pointee.settle(full.ordered) == 0)
    #expect(engine.pointee.pending.load(ordering: .sequentiallyConsistent) == 0)
    job.recycle()
  }

  @Test("Q6: a band that runs empty in the ordinary way has not waited when it has work again")
  func forgets() {
    let engine = Self.engine
    let both = Band.userInitiated.ordered | Band.utility.ordered
    #expect(engine.pointee.starvation.bandThatHasWaited(both, bound: 100, now: 1_000) == nil)
    #expect(engine.pointee.settle(Band.utility.ordered) == 0)
    #expect(engine.pointee.starvation.bandThatHasWaited(both, bound: 100, now: 5_000) == nil)
    #expect(engine.pointee.starvation.bandThatHasWaited(both, bound: 100, now: 5_100) == .utility)
  }

  @Test("one urgent item does not make lanes of other bands give way after each of their items")
  func relays() {
    let result = Probe.run(
      "stale-bit-relays", environment: ["GRANDCENTRAL_THREADS": "1", "GRANDCENTRAL_THREAD_BUDGET": "1"])
    #expect(result.ended, "\(result)")
    #expect(result.number("switches") ?? .max < 2_000, "\(result)")
  }

  @Test("E3: the monitor sleeps while items run long and nothing waits")
  func monitor() {
    let result = Probe.run("stale-bit-monitor", environment: ["GRANDCENTRAL_THREADS": "2"])
    #expect(result.ended, "\(result)")
    #expect(result.number("quiet") == 1, "\(result)")
  }
}
