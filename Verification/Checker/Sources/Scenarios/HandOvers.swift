// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerKit
import Synchronization

@testable import GrandCentral

// The engine's hand-overs, two roles at a time: the steps are the engine's own, its threads are the scenario's.

func handOvers() -> [Scenario] { places() + displacement() + sleep() + slots() }

/// A job that nobody runs: its node is the plain location that it publishes.
private func makeJob(_ band: Band = .normal) -> Job {
  Job(invoke: { _ in }, flags: [], qos: 0, band: band, owner: nil)
}

private var engine: Engine.Pointer { Engine.shared }

/// The job's owner is written before it is submitted, and read by whoever finds it.
private func sign(_ job: Job) { job.owner = UnsafeMutableRawPointer(bitPattern: 0x40) }

private func isSigned(_ job: Job) -> Bool { job.owner == UnsafeMutableRawPointer(bitPattern: 0x40) }

/// Counts the calling scenario's workers as live, `searching` of them as searching; nobody else is woken or started.
private func setPool(live: Int, searching: Int = 0) {
  engine.pointee.pool.update {
    $0.rawValue = UInt64(live) * PoolState.liveOne + UInt64(searching) * PoolState.searchingOne
  }
}

private func places() -> [Scenario] {
  [
    protocolScenario("P2: two workers want the last place: one has it, and its record can be read", of: "Places") {
      run in
      standInForPool()
      engine.pointee.setTarget(1)
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
    protocolScenario("a job is added to a place beside a thief that finds it empty: the map says so", of: "Places") {
      run in
      standInForPool()
      engine.pointee.setTarget(1)
      let place = engine.pointee.places[0], first = makeJob(), job = makeJob()
      place.pointee.enqueue(first, in: engine.pointee)
      _ = place.pointee.dequeue(.normal)
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
    },
    protocolScenario("the first job of a band in a place, beside a thief", of: "Place", unusual: 0) { run in
      standInForPool()
      engine.pointee.setTarget(1)
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
    protocolScenario("more places, while somebody looks at all of them", of: "Places", unusual: 0) { run in
      standInForPool()
      engine.pointee.setTarget(1)
      run.thread { engine.pointee.setTarget(2) }
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
      engine.pointee.setTarget(1)
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
  func setAside(_ status: UInt32, _ name: String) -> Scenario {
    protocolScenario(name, of: "Displacement", unusual: 0) { run in
      engine.pointee.setTarget(1)
      setPool(live: 1, searching: 0)
      let worker = engine.pointee.workers.take()
      worker.pointee.progress.store(1, ordering: .relaxed)
      run.thread {
        // The end of a job, as in `Worker.start`; then the worker goes to sleep.
        worker.pointee.progress.store(2, ordering: .relaxed)
        if worker.pointee.status.load(ordering: .relaxed) != Worker.Status.running {
          worker.pointee.recover(engine.pointee)
        }
        engine.pointee.startSearching()
        engine.pointee.joinIdle(worker)
      }
      run.thread { _ = engine.pointee.setAside(worker, 1, as: status) }
      run.finally {
        let pool = engine.pointee.pool.load(ordering: .relaxed)
        run.check(pool.adrift + pool.blocked == 0, "a worker that sleeps is counted as adrift or blocked")
        run.check(worker.pointee.status.load(ordering: .relaxed) == Worker.Status.running, "a sleeper runs no job")
      }
    }
  }
  return [
    setAside(Worker.Status.adrift, "D1: a job ends while its worker is set adrift"),
    setAside(Worker.Status.stalled, "D1: a job ends while its worker is found blocked"),
    protocolScenario("D2: two set a worker aside: it is counted once", of: "Displacement") { run in
      engine.pointee.setTarget(1)
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

private func sleep() -> [Scenario] {
  /// The searcher finds the job, or sees that something is pending before it sleeps, or is woken.
  func submission(_ name: String, _ submit: @escaping (Job) -> Void) -> Scenario {
    protocolScenario(name, of: "Sleep", unusual: 0) { run in
      engine.pointee.setTarget(1)
      setPool(live: 1, searching: 1)
      let worker = engine.pointee.workers.take(), job = makeJob(), first = makeJob()
      _ = engine.pointee.takePlace(worker)
      // Its queue is made, and the bit outlives the work.
      engine.pointee.places[0].pointee.enqueue(first, in: engine.pointee)
      _ = engine.pointee.places[0].pointee.dequeue(.normal)
      var isFound = false, isSeen = false
      run.thread {
        sign(job)
        submit(job)
      }
      run.thread {
        if let found = engine.pointee.findWorkThoroughly(worker.pointee.place) {
          run.check(isSigned(found), "the job is not what was submitted")
          isFound = true
          return
        }
        engine.pointee.joinIdle(worker)
        isSeen = engine.pointee.pending.load(ordering: .sequentiallyConsistent) != 0
      }
      run.finally {
        let isWoken = worker.pointee.parker.tryConsume()
        run.check(isFound || isSeen || isWoken, "a job waits, and everybody sleeps")
      }
    }
  }
  return [
    submission("S1 to W4: a job for a global queue is not slept over") { engine.pointee.submit($0) },
    submission("S1 to W4: a job without an order is not slept over") { engine.pointee.submitAway($0) },
    protocolScenario("what lies beside the newest sleeper: the place that it had", of: "IdleList", unusual: 0) { run in
      engine.pointee.setTarget(1)
      setPool(live: 1, searching: 1)
      run.thread {
        let worker = engine.pointee.workers.take()
        _ = engine.pointee.takePlace(worker)
        engine.pointee.joinIdle(worker)
      }
      run.thread {
        if let place = engine.pointee.idle.placeOfNewest { run.check(place.pointee.isEmpty, "nothing was submitted") }
      }
    },
    protocolScenario("a bit is settled beside a submission: pending work keeps a bit", of: "PendingBands", unusual: 0) {
      run in
      standInForPool()
      engine.pointee.setTarget(1)
      let job = makeJob(), first = makeJob()
      engine.pointee.submit(first)
      _ = engine.pointee.runQueues[Int(Band.normal.rank)].dequeue()
      run.thread { engine.pointee.submit(job) }
      run.thread { _ = engine.pointee.settle(Band.normal.ordered) }
      run.finally {
        run.check(
          engine.pointee.pending.load(ordering: .relaxed) & Band.normal.ordered != 0,
          "work is pending, and no bit says so")
      }
    },
    protocolScenario("two wake the same sleeper: it has one token, and is off the list once", of: "Sleep", unusual: 0) {
      run in
      engine.pointee.setTarget(2)
      setPool(live: 1, searching: 1)
      let worker = engine.pointee.workers.take()
      engine.pointee.joinIdle(worker)
      var left = false
      run.thread { engine.pointee.submit(makeJob()) }
      run.thread {
        engine.pointee.leaveIdle(worker)
        left = true
      }
      run.finally {
        let pool = engine.pointee.pool.load(ordering: .relaxed)
        run.check(left && pool.sleeping == 0 && pool.searching == 1, "the counts are wrong")
        run.check(!worker.pointee.parker.tryConsume(), "a token is left")
      }
    },
  ]
}

private func slots() -> [Scenario] {
  [
    protocolScenario("S1: a slot is filled while the watch is being switched off", of: "SlotWatch", unusual: 0) { run in
      standInForPool()
      engine.pointee.setTarget(2)
      let holder = engine.pointee.workers.take(), watcher = engine.pointee.workers.take(), job = makeJob()
      _ = engine.pointee.takePlace(holder)
      _ = engine.pointee.takePlace(watcher)
      // In a job, and watched since a filling that is gone.
      holder.pointee.progress.store(1, ordering: .relaxed)
      holder.pointee.place!.pointee.keep(makeJob(), by: holder, in: engine.pointee)
      _ = holder.pointee.place!.pointee.takeSlot()
      var taken: Job?
      run.thread {
        sign(job)
        holder.pointee.place!.pointee.keep(job, by: holder, in: engine.pointee)
      }
      run.thread { taken = engine.pointee.stealAgedSlot(watcher) }
      run.finally {
        if let taken { run.check(isSigned(taken), "the job is not what was kept") }
        run.check(taken != nil || engine.pointee.slotsAreWatched, "a full slot that nobody watches")
      }
    },
    protocolScenario("S2: a watch is asked for beside a worker that falls asleep", of: "SlotWatch", unusual: 0) { run in
      engine.pointee.setTarget(2)
      setPool(live: 2, searching: 1)
      let holder = engine.pointee.workers.take(), sleeper = engine.pointee.workers.take(), job = makeJob()
      _ = engine.pointee.takePlace(holder)
      _ = engine.pointee.takePlace(sleeper)
      holder.pointee.progress.store(1, ordering: .relaxed)
      var isFound = false, isSeen = false
      run.thread { holder.pointee.place!.pointee.keep(job, by: holder, in: engine.pointee) }
      run.thread {
        isFound = engine.pointee.stealAgedSlot(sleeper) != nil
        if isFound { return }
        engine.pointee.joinIdle(sleeper)
        isSeen = engine.pointee.isWatcher(sleeper) || engine.pointee.slotsNeedWatcher
      }
      run.finally {
        run.check(
          isFound || isSeen || sleeper.pointee.parker.tryConsume(),
          "a full slot, and the only one who could watch sleeps")
      }
    },
    protocolScenario("two become the watcher: one does, and has the other's notes", of: "SlotWatch", unusual: 0) {
      run in
      standInForPool()
      engine.pointee.setTarget(2)
      let holder = engine.pointee.workers.take()
      _ = engine.pointee.takePlace(holder)
      holder.pointee.progress.store(1, ordering: .relaxed)
      holder.pointee.place!.pointee.keep(makeJob(), by: holder, in: engine.pointee)
      let watchers = [engine.pointee.workers.take(), engine.pointee.workers.take()]
      var taken = 0
      for watcher in watchers { run.thread { if engine.pointee.stealAgedSlot(watcher) != nil { taken += 1 } } }
      run.finally {
        run.check(taken == 1 || engine.pointee.slotsAreWatched, "a full slot that nobody watches")
        run.check(taken <= 1, "a job was taken twice")
      }
    },
  ]
}
