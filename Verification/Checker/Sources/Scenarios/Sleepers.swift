// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerKit
import Synchronization

@testable import GrandCentral

// Falling asleep, being woken, waiting in a job, and the watch over slots: two roles at a time.

func sleepers() -> [Scenario] { sleep() + slots() }

private func sleep() -> [Scenario] {
  /// The searcher finds the job, or sees that something is pending before it sleeps, or is woken.
  /// A place has no backlog before its first job: then the searcher has to see the backlog as well as the job.
  func submission(_ name: String, isFirst: Bool = false, _ submit: @escaping (Job) -> Void) -> Scenario {
    protocolScenario(name, of: "Sleep", unusual: 0) { run in
      engine.pointee.setParallelism(1)
      setPool(live: 1, searching: 1)
      let worker = engine.pointee.workers.take(), job = makeJob(), first = makeJob()
      _ = engine.pointee.takePlace(worker)
      // The bit outlives the work.
      if isFirst {
        engine.pointee.pending.store(Band.normal.loose, ordering: .relaxed)
      } else {
        engine.pointee.places[0].pointee.enqueue(first, in: engine.pointee)
        _ = engine.pointee.places[0].pointee.dequeue(.normal)
      }
      var isFound = false, isSeen = false
      run.thread {
        sign(job)
        submit(job)
      }
      run.thread {
        if let found = engine.pointee.findWorkThoroughly(worker) {
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
    submission("S1 to W4: the first job of a place is not slept over", isFirst: true) { engine.pointee.submitAway($0) },
    protocolScenario("S1 to W4: a job in a place just made is not slept over", of: "Sleep", unusual: 0) { run in
      setPool(live: 1, searching: 1)
      engine.pointee.pending.store(Band.normal.loose, ordering: .relaxed)
      let worker = engine.pointee.workers.take(), job = makeJob()
      var isSeen = false
      run.thread {
        engine.pointee.setParallelism(2)
        engine.pointee.places[1].pointee.enqueue(job, in: engine.pointee)
      }
      run.thread {
        _ = engine.pointee.settle(Band.normal.loose)
        engine.pointee.joinIdle(worker)
        isSeen = engine.pointee.pending.load(ordering: .sequentiallyConsistent) != 0
      }
      run.finally { run.check(isSeen || worker.pointee.parker.tryConsume(), "a job waits, and everybody sleeps") }
    },
    protocolScenario("what lies beside the newest sleeper: the place that it had", of: "IdleList", unusual: 0) { run in
      engine.pointee.setParallelism(1)
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
    protocolScenario("the newest sleeper is woken: the one below it can be read", of: "IdleList", unusual: 0) { run in
      let list = Box(IdleList()), table = Box(WorkerTable())
      run.thread {
        let workers = [table.value.take(), table.value.take()]
        list.value.lock.withLock { for worker in workers { list.value.push(worker) } }
      }
      // A waker sees the sleepers by the lock, and passes them on.
      run.thread { list.value.lock.withLock { _ = list.value.pop() } }
      run.thread { run.check(list.value.placeOfNewest == nil, "nobody has a place") }
    },
    protocolScenario("F2: the last searcher stops beside a submission", of: "Sleep", unusual: 0) { run in
      let sleeper = addSleeper(live: 2, target: 2)
      run.thread { engine.pointee.stopSearching() }
      run.thread { engine.pointee.submit(makeJob()) }
      run.finally { run.check(sleeper.pointee.parker.tryConsume(), "a job waits, and nobody looks for it") }
    },
    protocolScenario("S4: two submit, two sleep: one wake-up is claimed", of: "Sleep", unusual: 0) { run in
      let first = addSleeper(live: 2, target: 2), second = engine.pointee.workers.take()
      // The second worker is asleep as well, so no worker searches.
      engine.pointee.joinIdle(second)
      engine.pointee.pending.store(Band.normal.ordered, ordering: .relaxed)
      for _ in 0..<2 { run.thread { engine.pointee.wakeIfNeeded() } }
      run.finally {
        let pool = engine.pointee.pool.load(ordering: .relaxed)
        run.check(pool.searching == 1 && pool.sleeping == 1, "the counts are wrong")
        run.check(second.pointee.parker.tryConsume() && !first.pointee.parker.tryConsume(), "the newest was not woken")
      }
    },
    protocolScenario("B2, B3: a job waits beside a submission", of: "Blocking", unusual: 0) { run in
      let sleeper = addSleeper(live: 2, target: 1), worker = engine.pointee.workers.take()
      engine.pointee.stopSearching()
      standInForMonitor()
      run.thread {
        become(worker)
        _ = Blocking.begin()
      }
      run.thread { engine.pointee.submit(makeJob()) }
      run.finally {
        run.check(sleeper.pointee.parker.tryConsume(), "a job waits, and no worker for the one that blocks")
      }
    },
    protocolScenario("a worker is back from a wait, and another one wants its place", of: "Blocking", unusual: 0) {
      run in
      engine.pointee.setParallelism(1)
      setPool(live: 2, searching: 1)
      let worker = engine.pointee.workers.take(), other = engine.pointee.workers.take()
      _ = engine.pointee.takePlace(worker)
      worker.pointee.progress.store(1, ordering: .relaxed)
      run.thread {
        become(worker)
        let duty = WakeDuty()
        let wait = Blocking.begin(duty)
        wait.end(duty)
      }
      run.thread { _ = engine.pointee.takePlace(other) }
      run.finally {
        let pool = engine.pointee.pool.load(ordering: .relaxed)
        run.check(pool.blocked == 0, "a worker that is back is counted as blocked")
        let holds = engine.pointee.holder(of: engine.pointee.places[0]) == worker
        run.check(!holds || pool.adrift == 0, "a worker that has a place is adrift")
        worker.pointee.recover(engine.pointee)
        run.check(engine.pointee.pool.load(ordering: .relaxed).adrift == 0, "the count is wrong")
      }
    },
    protocolScenario("a worker ends beside a submission that finds the budget used up", of: "Sleep", unusual: 0) {
      run in
      Settings.setThreadBudget(1)
      engine.pointee.setParallelism(1)
      engine.pointee.exhaustionReported.store(true, ordering: .relaxed)
      engine.pointee.pool.update {
        $0.rawValue = PoolState.liveOne
        $0.block()
      }
      standInForMonitor()
      _ = Shortages.threads.isShort
      // The kernel refuses a new thread, so that no other one takes part; but one of the two threads must ask for a worker.
      ck_machine_limit_threads(1)
      run.thread { engine.pointee.workerHasEnded() }
      var wake = PoolState.Wake.nothing
      run.thread {
        // S2, S3
        engine.pointee.pending.bitwiseOr(Band.normal.ordered, ordering: .sequentiallyConsistent)
        wake = engine.pointee.pool.load(ordering: .sequentiallyConsistent).wake(parallelism: 1, budget: 1)
      }
      run.finally {
        run.check(
          wake != .exhausted || Shortages.threads.isShort, "a job waits, there is no worker, and nobody asks for one")
      }
    },
    protocolScenario("a bit is settled beside a submission: pending work keeps a bit", of: "PendingBands", unusual: 0) {
      run in
      standInForPool()
      engine.pointee.setParallelism(1)
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
      engine.pointee.setParallelism(2)
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
      engine.pointee.setParallelism(2)
      let holder = engine.pointee.workers.take(), watcher = engine.pointee.workers.take(), job = makeJob()
      _ = engine.pointee.takePlace(holder)
      _ = engine.pointee.takePlace(watcher)
      // The holder is in a job. It has been watched since an earlier filling of its slot, which is gone.
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
      engine.pointee.setParallelism(2)
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
          "a full slot, and the only worker that could watch sleeps")
      }
    },
    protocolScenario("two become the watcher: one does, and has the other's notes", of: "SlotWatch", unusual: 0) {
      run in
      standInForPool()
      engine.pointee.setParallelism(2)
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
    protocolScenario(
      "one gives the watch up, another one takes it over: it is on while somebody keeps it", of: "SlotWatch", unusual: 0
    ) {
      run in
      standInForPool()
      engine.pointee.setParallelism(2)
      let watchers = [engine.pointee.workers.take(), engine.pointee.workers.take()]
      // Nothing was filled since the last look.
      engine.pointee.slotWatch.watcher.store(UnsafeMutableRawPointer(watchers[0]), ordering: .relaxed)
      engine.pointee.slotWatch.state.store(SlotWatch.on, ordering: .relaxed)
      run.thread { _ = engine.pointee.stealAgedSlot(watchers[0]) }
      run.thread {
        // This worker is between jobs, so it asks for no watch.
        engine.pointee.places[0].pointee.keep(makeJob(), by: watchers[1], in: engine.pointee)
        _ = engine.pointee.stealAgedSlot(watchers[1])
      }
      run.finally {
        let watcher = engine.pointee.slotWatch.watcher.load(ordering: .relaxed)
        run.check(watcher == nil || engine.pointee.slotsAreWatched, "a watcher that would never look")
      }
    },
  ]
}
