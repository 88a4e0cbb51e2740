// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit

@testable import GrandCentral

// The roles that one thread has at a time: the poller's and the monitor's. Two threads each: the one that has the role and lets
// go of it, or sleeps in it, and one that needs a thread to have it.

func roles() -> [Scenario] { pollerRole() + pollerBackend() + monitorStates() + vacancy() + applyHelp() }

// MARK: The poller

/// The scenario is the poller's holder, though there is nothing to wait for.
private func holdPoller(_ run: ScenarioRun) {
  standInForPool()
  let entry = makeTimer(1 << 40)
  engine.pointee.timers.add(entry, on: .uptime, in: engine.pointee)
  run.check(engine.pointee.poller.enter(engine.pointee.timers), "the role is not free")
  _ = engine.pointee.timers.cancel(entry, on: .uptime)
}

private func makeWatch(_ descriptor: Int32) -> DescriptorWatch.Pointer {
  let watch = DescriptorWatch.Pointer.allocate(capacity: 1)
  watch.initialize(
    to: DescriptorWatch(descriptor, .readable, context: UnsafeMutableRawPointer(watch), report: { _, _ in true }))
  return watch
}

private func pollerRole() -> [Scenario] {
  /// P3: the last searcher lets go of the role, and stops searching; another thread adds something to wait for.
  func letsGo(_ name: String, _ add: @escaping () -> Void) -> Scenario {
    protocolScenario(name, of: "Poller", unusual: 0) { run in
      holdPoller(run)
      let sleeper = addSleeper(live: 2, target: 2)
      run.thread {
        engine.pointee.poller.leave()
        engine.pointee.stopSearching()
      }
      run.thread { add() }
      run.finally {
        run.check(sleeper.pointee.parker.tryConsume(), "there is something to wait for, and no thread that waits")
      }
    }
  }
  /// P2: the holder sleeps until a far deadline.
  func nearer(_ name: String, descriptors: Int32) -> Scenario {
    protocolScenario(name, of: "Poller", unusual: 0) { run in
      ck_machine_limit_descriptors(descriptors)
      standInForPool()
      engine.pointee.timers.add(makeTimer(1 << 40), on: .uptime, in: engine.pointee)
      run.check(engine.pointee.poller.enter(engine.pointee.timers), "the role is not free")
      let near = makeTimer(1 << 20)
      run.thread { engine.pointee.poller.wait(engine.pointee.timers) }
      run.thread { engine.pointee.timers.add(near, on: .uptime, in: engine.pointee) }
      run.finally { run.check(ck_machine_now() < 1 << 39, "a timer has waited for a farther one") }
    }
  }
  /// A worker has nothing to do and sleeps in the poll; a job is submitted, and no other worker could run it.
  func unparked(_ name: String, descriptors: Int32) -> Scenario {
    protocolScenario(name, of: "Sleep", unusual: 0) { run in
      ck_machine_limit_descriptors(descriptors)
      standInForPool()
      engine.pointee.timers.add(makeTimer(1 << 40), on: .uptime, in: engine.pointee)
      engine.pointee.setParallelism(1)
      setPool(live: 1, searching: 1)
      let worker = engine.pointee.workers.take()
      run.thread {
        become(worker)
        engine.pointee.joinIdle(worker)
        if engine.pointee.pending.load(ordering: .sequentiallyConsistent) == 0 { _ = engine.pointee.sleep(worker) }
      }
      run.thread { engine.pointee.submit(makeJob()) }
      run.finally { run.check(ck_machine_now() < 1 << 39, "a job has waited for a timer") }
    }
  }
  let pipe = { makePipe().reading }
  return [
    letsGo("P3: a timer is added, and the holder lets go") {
      engine.pointee.timers.add(makeTimer(1 << 30), on: .uptime, in: engine.pointee)
    },
    letsGo("P3: a descriptor is watched, and the holder lets go") {
      _ = engine.pointee.poller.watch(makeWatch(pipe()), in: engine.pointee)
    },
    nearer("P2: a nearer timer is added while the holder begins to sleep", descriptors: 64),
    nearer("P2: the same without descriptors", descriptors: 0),
    unparked("the first one that sleeps in the poll is unparked", descriptors: 64),
    unparked("the same without descriptors: it sleeps on a futex", descriptors: 0),
  ]
}

private func pollerBackend() -> [Scenario] {
  [
    protocolScenario("the holder's backend is made beside an interruption", of: "Poller", unusual: 0) { run in
      // The thread that watches the first signal interrupts the thread that waits, if there is one.
      standInForPool()
      run.thread { poll() }
      run.thread { engine.pointee.poller.interrupt() }
    },
    protocolScenario(
      "a holder that was interrupted without epoll finds the one that was made", of: "EpollPoller", unusual: 0
    ) {
      run in
      let poller = Box(EpollPoller())
      run.thread {
        poller.value.wait(for: .max)
        // No thread interrupts it again if it waits without the epoll once more.
        if poller.value.epoll == nil { poller.value.wait(for: .max) }
      }
      run.thread {
        run.check(poller.value.makeReady() == nil, "there is no epoll")
        poller.value.interrupt()
      }
    },
    protocolScenario("an interruption ends a wait without epoll", of: "EpollPoller", unusual: 0) { run in
      ck_machine_limit_descriptors(0)
      let poller = Box(EpollPoller())
      run.thread { poller.value.wait(for: .max) }
      run.thread { poller.value.interrupt() }
    },
  ]
}

// MARK: A worker stands in for the monitor

private func vacancy() -> [Scenario] {
  /// The kernel may refuse the monitor. One worker is busy, and another one is one too many: it falls asleep beside `leave`.
  func beside(_ name: String, isSmall: Bool = true, standsIn: Bool = false, _ leave: @escaping () -> Void) -> Scenario {
    protocolScenario(name, of: "Vacancy", isSmall: isSmall) { run in
      ck_machine_allow(UInt32(CK_MACHINE_THREADS))
      engine.pointee.setParallelism(1)
      setPool(live: 2, searching: 1)
      _ = Shortages.threads.isShort
      let (sleeper, busy) = (engine.pointee.workers.take(), engine.pointee.workers.take())
      _ = busy.pointee.take(engine.pointee.places[0])
      var isFound = false
      run.thread {
        become(sleeper)
        engine.pointee.joinIdle(sleeper)
        // As in `searchOrSleep`. If the state is in another thread's hands, that one wakes the sleeper.
        let missed =
          engine.pointee.pending.load(ordering: .sequentiallyConsistent) != 0 || engine.pointee.slotsNeedWatcher
        let state = engine.pointee.monitor.state.load(ordering: .sequentiallyConsistent)
        isFound = missed && state != Monitor.State.starting && state != Monitor.State.filled
      }
      run.thread { leave() }
      if standsIn {
        run.thread {
          become(busy)
          _ = engine.pointee.standIn(nil)
        }
      }
      run.finally {
        let state = engine.pointee.monitor.state.load(ordering: .relaxed)
        run.check(state != Monitor.State.filled, "nobody puts the state back")
        run.check(
          isFound || sleeper.pointee.parker.tryConsume() || state != Monitor.State.none,
          "work is pending, there is no monitor, and the worker beside it sleeps")
      }
    }
  }
  return [
    beside("V2: a job is submitted, and all are busy") { engine.pointee.submit(makeJob()) },
    beside("V2, V3: the same beside a worker that stands in", isSmall: false, standsIn: true) {
      engine.pointee.submit(makeJob())
    },
  ]
}

// MARK: The monitor

private func monitorStates() -> [Scenario] {
  /// M1: all are busy, and the monitor is about to sleep.
  func fallsAsleep(
    _ name: String, of file: String = "Monitor", searching: Int = 0, _ prepare: @escaping (ScenarioRun) -> () -> Void
  ) -> Scenario {
    protocolScenario(name, of: file, unusual: 0) { run in
      let leave = prepare(run)
      engine.pointee.setParallelism(1)
      setPool(live: 1, searching: searching)
      standInForMonitor()
      var sleeps = false
      run.thread { sleeps = engine.pointee.monitor.fallAsleep(engine.pointee) }
      run.thread { leave() }
      run.finally {
        run.check(!sleeps || engine.pointee.monitor.isAwake, "the monitor sleeps, and has something to watch")
      }
    }
  }
  /// M2: one monitor thread ends, another one is started; `refused`: the kernel may refuse it.
  func restarts(_ name: String, wakers: Int, refused: Bool) -> Scenario {
    protocolScenario(name, of: "Monitor", unusual: refused ? 1 : 0) { run in
      if refused { ck_machine_allow(UInt32(CK_MACHINE_THREADS)) }
      standInForMonitor()
      _ = Shortages.threads.isShort
      run.thread {
        // The monitor was woken once between.
        for _ in 0..<2 {
          _ = engine.pointee.applyHelp.helpLingering()
          _ = engine.pointee.monitor.fallAsleep(engine.pointee)
        }
        _ = engine.pointee.monitor.end()
      }
      for _ in 0..<wakers { run.thread { engine.pointee.monitor.wake(engine.pointee) } }
      run.finally {
        // The monitor looks once.
        ck_machine_compute(300_000)
        let state = engine.pointee.monitor.state.load(ordering: .relaxed)
        run.check(refused || state != Monitor.State.starting, "nobody starts the monitor")
      }
    }
  }
  /// The monitor looks, lends its role, takes it back if it can, and looks again.
  func lendsAndIsBack() -> Bool {
    _ = engine.pointee.applyHelp.helpLingering()
    engine.pointee.monitor.lend()
    guard engine.pointee.monitor.takeBack() else { return false }
    _ = engine.pointee.applyHelp.helpLingering()
    return true
  }
  /// M2: the monitor lends its role, and takes it back; `refused`: the kernel may refuse another thread meanwhile.
  func lends(_ name: String, refused: Bool) -> Scenario {
    protocolScenario(name, of: "LastResort", unusual: refused ? 1 : 0) { run in
      if refused { ck_machine_allow(UInt32(CK_MACHINE_THREADS)) }
      standInForMonitor()
      _ = Shortages.threads.isShort
      var isBack = false
      run.thread { isBack = lendsAndIsBack() }
      run.thread { engine.pointee.monitor.wake(engine.pointee) }
      run.finally {
        // Another monitor looks once.
        ck_machine_compute(300_000)
        let state = engine.pointee.monitor.state.load(ordering: .relaxed)
        run.check(state == Monitor.State.awake || !isBack && state != Monitor.State.lent, "the role is lent for ever")
      }
    }
  }
  return [
    lends("M2: the monitor is back beside a waker", refused: false),
    lends("M2: the monitor is back beside a waker, and the kernel may refuse another one", refused: true),
    protocolScenario("M2: two threads lend the role in turn", of: "LastResort", unusual: 0) { run in
      standInForMonitor()
      var isBack = false
      run.thread { isBack = lendsAndIsBack() }
      run.thread {
        guard engine.pointee.monitor.takeBack() else { return }
        _ = engine.pointee.applyHelp.helpLingering()
        engine.pointee.monitor.lend()
      }
      run.finally {
        let state = engine.pointee.monitor.state.load(ordering: .relaxed)
        run.check(state == (isBack ? Monitor.State.awake : Monitor.State.lent), "the role has two threads, or none")
      }
    },
    fallsAsleep("M1: a job is submitted, and all are busy") { _ in { engine.pointee.submit(makeJob()) } },
    fallsAsleep("M1: a timer is added by a worker that leaves it to the monitor") { _ in
      let worker = engine.pointee.workers.take()
      return {
        become(worker)
        engine.pointee.timers.add(makeTimer(1 << 30), on: .uptime, isReturning: true, in: engine.pointee)
      }
    },
    fallsAsleep("M1: the poller's holder lets go, and leaves the timers to the monitor", of: "Poller", searching: 1) {
      run in
      standInForPool()
      engine.pointee.timers.add(makeTimer(1 << 30), on: .uptime, in: engine.pointee)
      run.check(engine.pointee.poller.enter(engine.pointee.timers), "the role is not free")
      return {
        engine.pointee.poller.leave()
        engine.pointee.stopSearching()
      }
    },
    fallsAsleep("M1: the slots' watcher gives the watch up, and runs a job", of: "SlotWatch", searching: 1) { _ in
      let worker = engine.pointee.workers.take()
      engine.pointee.slotWatch.watcher.store(UnsafeMutableRawPointer(worker), ordering: .relaxed)
      engine.pointee.slotWatch.state.store(SlotWatch.on, ordering: .relaxed)
      return {
        engine.pointee.giveUpWatch(worker)
        engine.pointee.stopSearching()
      }
    },
    fallsAsleep("M1, H4: a call begins alone", of: "ApplyHelpRegistry") { _ in
      let call = Memory.allocate(16)
      return {
        _ = engine.pointee.applyHelp.enter(call)
        engine.pointee.monitor.wake(engine.pointee)
      }
    },
    restarts("M2: the monitor ends beside a waker: its notes go to the next one", wakers: 1, refused: false),
    restarts("M2: two wakers, and the kernel refuses a thread", wakers: 2, refused: true),
    protocolScenario("B1: a thread relies on a monitor that is being started, and waits", of: "Monitor") { run in
      ck_machine_allow(UInt32(CK_MACHINE_THREADS))
      _ = engine
      _ = Shortages.threads.isShort
      var relies = false, asks = false
      run.thread { engine.pointee.monitor.wake(engine.pointee) }
      run.thread {
        relies = engine.pointee.monitor.wake(engine.pointee)
        asks = Shortages.threads.mayBeShort
      }
      run.finally {
        let state = engine.pointee.monitor.state.load(ordering: .relaxed)
        run.check(
          !relies || asks || state != Monitor.State.none || !Shortages.threads.isShort,
          "the start was refused, and the thread that relies on it does not ask again")
      }
    },
    protocolScenario("a start that is refused: a later waker asks again", of: "Monitor") { run in
      ck_machine_allow(UInt32(CK_MACHINE_THREADS))
      _ = engine
      for _ in 0..<2 { run.thread { engine.pointee.monitor.wake(engine.pointee) } }
      run.finally {
        // The kernel may be asked again.
        ck_machine_compute(10_000_000)
        ck_machine_forbid(UInt32(CK_MACHINE_THREADS))
        engine.pointee.monitor.wake(engine.pointee)
        ck_machine_compute(1_000_000)
        run.check(engine.pointee.monitor.exists, "the start was refused once, and there is no monitor for ever")
      }
    },
  ]
}

// MARK: Callers that begin alone

/// What stands for a caller's memory: the function that looks after it, and how often it has.
private struct RegisteredCall {
  let raw = Memory.allocate(16)

  /// - Parameter again: Whether the monitor is to look after it again.
  init(again: Bool) {
    let once: ApplyHelpRegistry.Help = {
      RegisteredCall.note($0)
      return false
    }
    let more: ApplyHelpRegistry.Help = {
      RegisteredCall.note($0)
      return true
    }
    raw.storeBytes(of: again ? more : once, as: ApplyHelpRegistry.Help.self)
    raw.storeBytes(of: 0, toByteOffset: 8, as: Int.self)
  }

  private static func note(_ raw: UnsafeMutableRawPointer) {
    ck_plain_write(raw + 8, 8)
    raw.storeBytes(of: raw.load(fromByteOffset: 8, as: Int.self) + 1, toByteOffset: 8, as: Int.self)
  }

  /// The caller's again: a monitor that comes afterwards, or has come and not let go, is found.
  func free() {
    ck_plain_write(raw, 16)
    Memory.free(raw)
  }
}

private func applyHelp() -> [Scenario] {
  [true, false].map { again in
    let name =
      "H2: a caller leaves, or the monitor looks after its call, and " + (again ? "puts it back" : "dismisses it")
    return protocolScenario(name, of: "ApplyHelpRegistry", unusual: 0) { run in
      _ = engine
      run.thread {
        // The second call comes into the place of the first one.
        for _ in 0..<2 {
          let mine = RegisteredCall(again: again)
          guard let index = engine.pointee.applyHelp.enter(mine.raw) else { return }
          engine.pointee.applyHelp.leave(index, mine.raw)
          mine.free()
        }
      }
      run.thread { for _ in 0..<3 { _ = engine.pointee.applyHelp.helpLingering() } }
      run.finally { run.check(engine.pointee.applyHelp.isEmpty, "a call that has ended is registered") }
    }
  }
}
