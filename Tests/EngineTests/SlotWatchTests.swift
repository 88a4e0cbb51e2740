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

  /// A worker between two jobs has put a job into its slot, and then there is one processor less.
  private func workerWithoutPlace(_ engine: Engine.Pointer) -> (Worker.Pointer, Job) {
    let (worker, job) = (BareEngine.searcher(engine), BareEngine.job())
    let hasPlace = engine.pointee.takePlace(worker)
    let (place, index) = (worker.pointee.place, worker.pointee.place?.pointee.index)
    place?.pointee.keep(job, by: worker, in: engine.pointee)
    let isAsked = engine.pointee.slotsAreWatched
    engine.pointee.setParallelism(1)
    let isLost = worker.pointee.place == nil
    #expect(hasPlace && index == 1 && !isAsked && isLost)
    return (worker, job)
  }

  @Test("E9: a worker that loses its place between jobs finds what it has just put into the slot")
  func lostPlace() {
    let engine = BareEngine.make(places: 2)
    let (worker, job) = workerWithoutPlace(engine)
    // If there were nothing to run, it would end.
    engine.pointee.close()
    let next = engine.pointee.searchOrSleep(worker, hasLooked: false)
    #expect(next == job)
  }

  @Test("E2: a worker that loses its place between jobs begins another one only when the slot is watched")
  func leftSlot() {
    let engine = BareEngine.make(places: 2)
    let worker = workerWithoutPlace(engine).0
    let other = BareEngine.job()
    engine.pointee.places[0].pointee.enqueue(other, in: engine.pointee)
    let next = engine.pointee.findAnew(worker)
    let isWanted = engine.pointee.slotsNeedWatcher
    #expect(next == other && isWanted)
  }

  @Test("E2: the same where it loses the place in the middle of its search")
  func leftSlotInSearch() {
    let engine = BareEngine.make(places: 2)
    let worker = workerWithoutPlace(engine).0
    let next = engine.pointee.findWorkThoroughly(worker)
    let isWanted = engine.pointee.slotsNeedWatcher
    #expect(next == nil && isWanted)
  }
}
