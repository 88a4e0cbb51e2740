// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit
import Synchronization

@testable import GrandCentral

// The last threads of the budget (`Reserve.swift`): how many workers are in ordered work at most, and that no work is slept over because
// of that. A worker that is `busy` is in ordered work, and waits there for ever: it is awake.

func reserves() -> [Scenario] { limits() + noted() + withheld() + lent() + grants() }

/// Of so many workers that live some are busy, the others search. The budget was used up before, so the limit is there.
private func setReserve(budget: Int, live: Int, busy: Int, limit: Int) {
  Settings.setThreadBudget(budget)
  engine.pointee.setParallelism(1)
  // A worker without a place is not one too many.
  engine.pointee.allowance.store(4, ordering: .relaxed)
  engine.pointee.monitor.state.store(Monitor.State.asleep, ordering: .relaxed)
  _ = Shortages.threads.isShort
  setPool(live: live, searching: live - busy)
  engine.pointee.pool.update { $0.rawValue += UInt64(busy) * PoolState.blockedOne }
  engine.pointee.orderedLimit.store(limit, ordering: .relaxed)
}

/// One of the searchers sleeps.
private func makeSleeper() -> Worker.Pointer {
  let worker = engine.pointee.workers.take()
  engine.pointee.joinIdle(worker)
  return worker
}

/// Ordered work waits, and no thread was told.
private func leaveOrdered(_ count: Int = 1, _ band: Band = .normal) {
  for _ in 0..<count { engine.pointee.runQueues[Int(band.rank)].enqueue(makeJob(band).raw) }
  engine.pointee.pending.bitwiseOr(band.ordered, ordering: .relaxed)
}

/// How many jobs of `band` the worker has begun after one look: none, or one.
private func begin(_ worker: Worker.Pointer, _ band: Band = .normal) -> Int {
  engine.pointee.takeShared(from: band, for: worker) == nil ? 0 : 1
}

/// As `begin`, of a worker that sleeps and wakes up.
private func wakeUpAndBegin(_ worker: Worker.Pointer) -> Int {
  engine.pointee.leaveIdle(worker)
  return begin(worker)
}

/// The calling thread is the worker's, until it has found a job or would end.
private func search(_ worker: Worker.Pointer) -> Job? {
  become(worker)
  return engine.pointee.searchOrSleep(worker, hasLooked: false)
}

/// As in `searchOrSleep`: joins the idle list, and looks once more.
///
/// - Returns: whether it would leave the list again.
private func fallAsleep(_ worker: Worker.Pointer) -> Bool {
  engine.pointee.joinIdle(worker)
  return engine.pointee.pending.load(ordering: .sequentiallyConsistent) & engine.pointee.searchable != 0
}

/// What the monitor does with the reserve at one tick, a slice after the last one. No worker is added.
private func tick(_ reserve: inout Reserve, hasStarted: Bool = false) {
  let isWithheld = engine.pointee.lookAfter(
    &reserve, hasStarted: hasStarted, isLoose: false, elapsed: Slices.slice)
  if !isWithheld { engine.pointee.reinforce(parallelism: .max, budget: 0) }
}

private var limit: Int { engine.pointee.orderedLimit.load(ordering: .relaxed) }

// MARK: R1: the limit

private func limits() -> [Scenario] {
  /// One worker is awake, and may begin ordered work. If another one wakes up beside it, both together are one too many.
  func wakesBeside(_ name: String, sleepers count: Int) -> Scenario {
    protocolScenario(name, of: "Reserve", unusual: 0) { run in
      setReserve(budget: 4, live: 4, busy: 3 - count, limit: 3)
      let first = engine.pointee.workers.take(), sleepers = (0..<count).map { _ in makeSleeper() }
      leaveOrdered(4)
      var inside = 3 - count
      run.thread { inside += begin(first) }
      for sleeper in sleepers { run.thread { inside += wakeUpAndBegin(sleeper) } }
      run.finally { run.check(inside <= 3, "\(inside) workers are in ordered work, where 3 may be") }
    }
  }
  return [
    wakesBeside("R1: a worker wakes up beside one that begins ordered work", sleepers: 1),
    wakesBeside("R1: two workers wake up beside one that begins ordered work", sleepers: 2),
  ]
}

// MARK: R1: the limit is there when the threads are

/// As a thread that adds a worker (`carryOut`, `startWorker`), but that the worker has no thread.
private func addWorker() {
  engine.pointee.idle.lock.lock()
  _ = engine.pointee.pool.updateInOrder { $0.claimReinforcement(parallelism: .max, budget: Settings.threadBudget) }
  engine.pointee.idle.lock.unlock()
  engine.pointee.noteThreads()
}

private func noted() -> [Scenario] {
  /// Workers have ended since the budget was used up, and are being added again: the monitor takes the limit away beside that.
  func forgotten(_ name: String, starters: Int, isSmall: Bool = true) -> Scenario {
    protocolScenario(name, of: "Reserve", unusual: 0, isSmall: isSmall) { run in
      setReserve(budget: 4, live: 2, busy: 2, limit: 3)
      let last = engine.pointee.workers.take()
      leaveOrdered()
      var left = 2, inside = 3
      for _ in 0..<starters {
        run.thread {
          for _ in 0..<2 / starters {
            addWorker()
            left -= 1
          }
          // The third worker has begun an item. The thread that was the last to add one is the fourth worker's now.
          if left == 0 { inside += begin(last) }
        }
      }
      run.thread {
        var reserve = Reserve()
        _ = engine.pointee.lookAfter(&reserve, hasStarted: true, isLoose: false, elapsed: 0)
      }
      run.finally {
        run.check(inside <= 3, "all threads of the budget are in ordered work, and nothing was lent")
        run.check(limit == 3, "the budget is used up, and there is no limit")
      }
    }
  }
  /// Six of eight workers are in ordered work. The limit is that of the former budget, if it had been used up.
  func lowered(_ name: String, limit: Int) -> Scenario {
    protocolScenario(name, of: "Reserve", unusual: 0) { run in
      setReserve(budget: 64, live: 8, busy: 6, limit: limit)
      let first = engine.pointee.workers.take(), second = engine.pointee.workers.take()
      leaveOrdered(2)
      var inside = 6
      run.thread {
        GrandCentralRuntime.threadBudget = 8
        inside += begin(first)
        inside += begin(second)
      }
      run.thread { engine.pointee.noteThreads() }
      run.finally { run.check(inside <= 7, "all threads of the budget are in ordered work") }
    }
  }
  return [
    forgotten("R1: the monitor takes the limit away beside a thread that adds workers", starters: 1),
    forgotten("R1: the same beside two threads that add workers", starters: 2, isSmall: false),
    lowered("R1: the budget is lowered to the threads that there are", limit: Reserve.none),
    lowered("R1: the budget is lowered while the limit of the former one is set", limit: 60),
    // Each item waits, so another worker is added for the next one. One thread is left, though a starter stands still anywhere.
    Scenario("R1: items that wait use up a budget", of: "Reserve", unusual: 0, isSmall: false, steps: 200_000) { run in
      ck_machine_set_processors(1)
      Settings.setThreadBudget(4)
      Settings.setCycles(.off)
      let latch = Latch(4), permit = DispatchSemaphore(value: 0), inside = Counter()
      run.finally {
        let begun = ck_machine_now()
        for _ in 0..<4 {
          DispatchQueue.global().async {
            inside.value += 1
            // Nothing has stood still for a slice yet.
            require(
              inside.value <= 3 || ck_machine_now() - begun >= Slices.slice,
              "all threads of the budget are in ordered work")
            if inside.value < 4 { permit.wait() }
            inside.value -= 1
            permit.signal()
            latch.open()
          }
        }
        latch.wait()
      }
    },
  ]
}

// MARK: R2: nothing is slept over

private func withheld() -> [Scenario] {
  [
    protocolScenario(
      "R2: ordered work is submitted beside a worker that it is withheld from", of: "Reserve", unusual: 0
    ) { run in
      setReserve(budget: 4, live: 4, busy: 3, limit: 3)
      // In place of sleep the worker ends.
      engine.pointee.closing.store(true, ordering: .relaxed)
      let worker = engine.pointee.workers.take()
      var found: Job?
      run.thread { found = search(worker) }
      run.thread { engine.pointee.submit(makeJob()) }
      run.finally {
        run.check(found == nil, "all threads of the budget are in ordered work")
        run.check(engine.pointee.monitor.isAwake, "ordered work waits, and the monitor sleeps")
      }
    },
    protocolScenario(
      "R2: ordered work is withheld from two that search: one of them begins it", of: "Reserve", unusual: 0
    ) { run in
      setReserve(budget: 4, live: 4, busy: 2, limit: 3)
      leaveOrdered()
      let workers = [engine.pointee.workers.take(), engine.pointee.workers.take()]
      var begun = 0, isSeen = false
      for worker in workers {
        run.thread {
          let mine = begin(worker)
          begun += mine
          if mine == 0, fallAsleep(worker) { isSeen = true }
        }
      }
      run.finally { run.check(begun == 1 || isSeen, "ordered work waits, and both sleep") }
    },
    // Both may look, join the list and leave it again in step, as often as they like: there is no end to such schedules.
    protocolScenario("R2: the same until one of them has begun it", of: "Reserve", unusual: 0, isSmall: false) { run in
      setReserve(budget: 4, live: 4, busy: 2, limit: 3)
      leaveOrdered()
      let workers = [engine.pointee.workers.take(), engine.pointee.workers.take()]
      var found = 0
      for worker in workers { run.thread { if search(worker) != nil { found += 1 } } }
      run.finally { run.check(found == 1, "ordered work waits, and both sleep") }
    },
  ]
}

// MARK: Loans of the monitor's

private func lent() -> [Scenario] {
  /// Every worker but one waits for what is pending. That one falls asleep beside a tick of the monitor's, and others follow.
  func standstill(_ name: String, budget: Int, live: Int, limit usual: Int) -> Scenario {
    protocolScenario(name, of: "Reserve", unusual: 0) { run in
      setReserve(budget: budget, live: live, busy: live - 1, limit: usual)
      standInForMonitor()
      leaveOrdered()
      let worker = engine.pointee.workers.take()
      var reserve = Reserve()
      var begun = 0, isSeen = false
      run.thread {
        begun = begin(worker)
        if begun == 0 { isSeen = fallAsleep(worker) }
      }
      run.thread { tick(&reserve) }
      run.finally {
        run.check(limit <= Reserve.most(of: budget, bands: 1, isLong: false), "more is lent than may be")
        if begun == 1 { return }
        if !isSeen, !worker.pointee.parker.tryConsume() {
          tick(&reserve)
          run.check(worker.pointee.parker.tryConsume(), "a standstill, and a thread of the reserve sleeps")
        }
        if isSeen { engine.pointee.leaveIdle(worker) }
        run.check(begin(worker) == 1, "a standstill, and a thread of the reserve begins nothing")
      }
    }
  }
  return [
    standstill("R1: a thread of a small budget is lent beside its sleep", budget: 4, live: 4, limit: 3),
    standstill("R3: a thread is lent to a band beside its sleep", budget: 16, live: 15, limit: 14),
    protocolScenario("R1: loans are taken back beside a worker that falls asleep", of: "Reserve", unusual: 0) { run in
      setReserve(budget: 4, live: 4, busy: 2, limit: 4)
      let worker = engine.pointee.workers.take()
      _ = makeSleeper()
      run.thread { engine.pointee.joinIdle(worker) }
      run.thread {
        var reserve = Reserve()
        for _ in 0..<2 {
          tick(&reserve, hasStarted: true)
          Thread.sleep(nanoseconds: Monitor.tick)
        }
      }
      run.finally { run.check(limit == 3, "what was lent is not taken back, though fewer workers are awake") }
    },
  ]
}

// MARK: R3: one worker begins ordered work of a band

private func grants() -> [Scenario] {
  /// A standstill: 13 are busy, one sleeps, and as many search as the limit lets begin none.
  func granted(_ name: String, bands: [Band]) -> Scenario {
    protocolScenario(name, of: "Reserve", unusual: 0) { run in
      setReserve(budget: 16, live: 16, busy: 13, limit: 14)
      let workers = [engine.pointee.workers.take(), engine.pointee.workers.take()]
      _ = makeSleeper()
      var bits: UInt32 = 0
      for band in bands {
        leaveOrdered(2, band)
        bits |= band.ordered
      }
      engine.pointee.bandGrants.store(bits, ordering: .relaxed)
      var begun = 0
      for (index, worker) in workers.enumerated() {
        run.thread { begun += begin(worker, bands[index % bands.count]) }
      }
      run.finally {
        run.check(begun == 1, "\(begun) workers have begun ordered work where one may")
        run.check(engine.pointee.bandGrants.load(ordering: .relaxed) == 0, "the bits are left")
      }
    }
  }
  return [
    granted("R3: two search, and one may begin work of a band", bands: [.normal]),
    granted("R3: two search, and one may begin work of either band", bands: [.normal, .utility]),
    protocolScenario("R3: the standstill is over beside a worker that uses what was lent", of: "Reserve", unusual: 0) {
      run in
      setReserve(budget: 16, live: 15, busy: 14, limit: 14)
      let worker = engine.pointee.workers.take()
      leaveOrdered(2)
      engine.pointee.bandGrants.store(Band.normal.ordered, ordering: .relaxed)
      let isOver = Box(AtomicFlag())
      var begun = 0
      run.thread {
        for _ in 0..<2 {
          let late = isOver.value.isRaised, mine = begin(worker)
          begun += mine
          run.check(mine == 0 || !late, "something was started, and what was lent is used afterwards")
        }
      }
      run.thread {
        var reserve = Reserve()
        tick(&reserve, hasStarted: true)
        isOver.value.raise()
      }
      run.finally {
        run.check(begun <= 1, "what was lent was used twice")
        run.check(
          engine.pointee.bandGrants.load(ordering: .relaxed) == 0, "something was started, and the bits are left")
      }
    },
    protocolScenario("R3: the very last thread begins nothing, though it is lent twice", of: "Reserve", unusual: 0) {
      run in
      setReserve(budget: 16, live: 16, busy: 14, limit: 14)
      let worker = engine.pointee.workers.take(), sleeper = makeSleeper()
      leaveOrdered(3)
      var inside = 14
      run.thread { inside += begin(worker) }
      run.thread { inside += wakeUpAndBegin(sleeper) }
      run.thread {
        var reserve = Reserve()
        for _ in 0..<2 {
          _ = engine.pointee.lookAfter(&reserve, hasStarted: false, isLoose: false, elapsed: Slices.slice)
        }
      }
      run.finally { run.check(inside <= 15, "all threads of the budget are in ordered work") }
    },
  ]
}
