// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerKit
import Synchronization

@testable import GrandCentral

// The engine's hand-overs, two roles at a time: the steps are the engine's own, its threads are the scenario's.

func handOvers() -> [Scenario] { places() + displacement() }

private func places() -> [Scenario] {
  [
    protocolScenario("P2: two workers want the last place: one has it, and its record can be read", of: "Places") {
      run in
      standInForPool()
      engine.pointee.setParallelism(1)
      for _ in 0..<2 {
        run.thread {
          let worker = engine.pointee.workers.take()
          _ = engine.pointee.takePlace(worker)
          if let holder = engine.pointee.holder(of: engine.pointee.places[0]) { _ = holder.pointee.name }
        }
      }
      run.finally {
        let holder = engine.pointee.holder(of: engine.pointee.places[0])
        run.check(holder?.pointee.place != nil, "nobody has the place")
      }
    },
    addedBesideThief("finds it empty: the map says so", bitIsSet: true),
    addedBesideThief("clears its bit again", bitIsSet: false),
    protocolScenario("the first job of a band in a place, beside a thief", of: "Place", unusual: 0) { run in
      standInForPool()
      engine.pointee.setParallelism(1)
      let place = engine.pointee.places[0], job = makeJob(.utility)
      var taken: Job?
      run.thread {
        sign(job)
        place.pointee.enqueue(job, in: engine.pointee)
      }
      run.thread {
        taken = place.pointee.dequeue(.utility)
        if let taken { run.check(isSigned(taken), "the job is not what was submitted") }
      }
      run.finally { run.check(place.pointee.count(.utility) == (taken == nil ? 1 : 0), "a job was lost") }
    },
    protocolScenario("two add the first job of a band to a place: both lie there", of: "Place", unusual: 0) { run in
      standInForPool()
      engine.pointee.setParallelism(1)
      let place = engine.pointee.places[0], jobs = [makeJob(.utility), makeJob(.utility)]
      for job in jobs { run.thread { place.pointee.enqueue(job, in: engine.pointee) } }
      run.finally { run.check(place.pointee.count(.utility) == 2, "a job was lost") }
    },
    protocolScenario("more places, while somebody looks at all of them", of: "Places", unusual: 0) { run in
      standInForPool()
      engine.pointee.setParallelism(1)
      run.thread { engine.pointee.setParallelism(2) }
      run.thread {
        for index in 0..<engine.pointee.places.count {
          run.check(engine.pointee.places[index].pointee.isEmpty, "a new place is empty")
        }
      }
    },
    protocolScenario(
      "the slot: what the holder keeps is published to the thief, and what it finds there to the holder", of: "Place"
    ) {
      run in
      standInForPool()
      engine.pointee.setParallelism(1)
      let worker = engine.pointee.workers.take(), jobs = [makeJob(), makeJob()]
      _ = engine.pointee.takePlace(worker)
      let place = engine.pointee.places[0]
      run.thread {
        for job in jobs {
          sign(job)
          place.pointee.keep(job, by: worker, in: engine.pointee)
        }
      }
      run.thread {
        if let job = place.pointee.takeSlot() { run.check(isSigned(job), "the job is not what was kept") }
        if let job = place.pointee.dequeue(.normal) { run.check(isSigned(job), "the job is not what was kept") }
      }
    },
  ]
}

private func displacement() -> [Scenario] {
  /// The end of a job, as in `Worker.start`; then the worker goes to sleep.
  func endJob(_ worker: Worker.Pointer) {
    worker.pointee.progress.store(2, ordering: .relaxed)
    if worker.pointee.status.load(ordering: .relaxed) != Worker.Status.running {
      worker.pointee.recover(engine.pointee)
    }
    engine.pointee.startSearching()
    engine.pointee.joinIdle(worker)
  }
  func setAside(_ status: UInt32, _ name: String) -> Scenario {
    protocolScenario(name, of: "Displacement", unusual: 0) { run in
      engine.pointee.setParallelism(1)
      setPool(live: 1, searching: 0)
      let worker = engine.pointee.workers.take()
      worker.pointee.progress.store(1, ordering: .relaxed)
      run.thread { endJob(worker) }
      run.thread { _ = engine.pointee.setAside(worker, 1, as: status) }
      run.finally {
        let pool = engine.pointee.pool.load(ordering: .relaxed)
        run.check(pool.adrift + pool.blocked == 0, "a worker that sleeps is counted as adrift or blocked")
        run.check(worker.pointee.status.load(ordering: .relaxed) == Worker.Status.running, "a sleeper runs no job")
      }
    }
  }
  func move(from old: UInt32, to new: UInt32, _ name: String) -> Scenario {
    protocolScenario(name, of: "Displacement", unusual: 0) { run in
      engine.pointee.setParallelism(1)
      setPool(live: 1, searching: 0)
      let worker = engine.pointee.workers.take()
      worker.pointee.progress.store(1, ordering: .relaxed)
      _ = engine.pointee.setAside(worker, 1, as: old)
      run.thread { endJob(worker) }
      run.thread { worker.pointee.move(from: old, to: new, in: engine.pointee) }
      run.finally {
        let pool = engine.pointee.pool.load(ordering: .relaxed)
        run.check(pool.adrift == 0 && pool.blocked == 0 && pool.sleeping == 1, "the count is wrong")
        run.check(worker.pointee.status.load(ordering: .relaxed) == Worker.Status.running, "a sleeper runs no job")
      }
    }
  }
  return [
    move(from: Worker.Status.stalled, to: Worker.Status.adrift, "D3: a job ends while its worker computes again"),
    move(from: Worker.Status.adrift, to: Worker.Status.stalled, "D3: a job ends while its worker, adrift, blocks"),
    protocolScenario("a grant lets one worker take a place in a crowd", of: "Crowd") { run in
      let grant = Plain()
      engine.pointee.crowd.store(1, ordering: .relaxed)
      for _ in 0..<2 { run.thread { if engine.pointee.useGrant() { grant.value += 1 } } }
      run.finally { run.check(grant.value == 1, "the grant was used twice, or by nobody") }
    },
    setAside(Worker.Status.adrift, "D1: a job ends while its worker is set adrift"),
    setAside(Worker.Status.stalled, "D1: a job ends while its worker is found blocked"),
    protocolScenario("D2: two set a worker aside: it is counted once", of: "Displacement") { run in
      engine.pointee.setParallelism(1)
      setPool(live: 1)
      let worker = engine.pointee.workers.take()
      worker.pointee.progress.store(1, ordering: .relaxed)
      run.thread { _ = engine.pointee.setAside(worker, 1, as: Worker.Status.adrift) }
      run.thread { _ = engine.pointee.setAside(worker, 1, as: Worker.Status.stalled) }
      run.finally {
        worker.pointee.recover(engine.pointee)
        let pool = engine.pointee.pool.load(ordering: .relaxed)
        run.check(pool.adrift == 0 && pool.blocked == 0, "the count is wrong")
      }
    },
  ]
}

/// A job is added to an empty place beside a thief; the place's bit is set, or was cleared before.
private func addedBesideThief(_ does: String, bitIsSet: Bool) -> Scenario {
  protocolScenario("a job is added to a place beside a thief that \(does)", of: "Places") { run in
    standInForPool()
    engine.pointee.setParallelism(1)
    let place = engine.pointee.places[0], first = makeJob(), job = makeJob()
    place.pointee.enqueue(first, in: engine.pointee)
    _ = place.pointee.dequeue(.normal)
    if !bitIsSet { engine.pointee.places.clearFilled(0) }
    run.thread {
      sign(job)
      place.pointee.enqueue(job, in: engine.pointee)
    }
    run.thread {
      if let found = place.pointee.dequeue(.normal) {
        run.check(isSigned(found), "the job is not what was submitted")
      } else if place.pointee.isEmpty {
        engine.pointee.places.clearFilled(0)
      }
    }
    run.finally {
      run.check(
        place.pointee.isEmpty || engine.pointee.places.filled.load(ordering: .relaxed) != 0,
        "a job that no thief will find")
    }
  }
}
