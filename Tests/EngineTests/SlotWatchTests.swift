// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import GrandCentral

@Suite("What lies in a slot is watched")
struct SlotWatchTests {
  /// A worker that runs a job and holds a place.
  private func busyWorker(_ engine: Engine.Pointer) -> (Worker.Pointer, Place.Pointer) {
    let worker = engine.pointee.workers.take()
    let hasPlace = engine.pointee.takePlace(worker)
    #expect(hasPlace)
    worker.pointee.progress.store(1, ordering: .relaxed)
    return (worker, worker.pointee.place!)
  }

  @Test("E2: the watcher of an engine that is being closed ends with the watch switched off")
  func closing() {
    let engine = BareEngine.make(places: 2)
    let (busy, place) = busyWorker(engine)
    // A watch is asked for, and at the watcher's first look the slot has been filled again.
    for _ in 0..<2 {
      place.pointee.keep(BareEngine.job(), by: busy, in: engine.pointee)
      _ = place.pointee.takeSlot()
    }
    let isWanted = engine.pointee.slotsNeedWatcher
    #expect(isWanted)
    engine.pointee.close()
    let next = engine.pointee.searchOrSleep(BareEngine.searcher(engine), hasLooked: false)
    #expect(next == nil, "the worker has ended")
    let (isOn, watcher) = (engine.pointee.slotsAreWatched, engine.pointee.slotWatch.watcher.load(ordering: .relaxed))
    #expect(!isOn && watcher == nil)
  }
}
