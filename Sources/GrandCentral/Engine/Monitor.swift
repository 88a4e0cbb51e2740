// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Watches over the workers while work is pending and all of them are busy. It finds workers that block outside of our
/// primitives (in a read, a sleep, a page fault), has them replaced, and stands in for the poller.
///
/// It is a thread of its own. While awake it ticks about every millisecond. It falls asleep when nothing has been pending for
/// `patience` ticks, and ends when it has slept for long.
///
/// Monitor.M1  A thread that leaves something to the monitor publishes it first and looks at `state` afterwards: it finds the
///     monitor awake, or wakes it. The monitor declares itself asleep first and looks at everything afterwards
///     (`needsMonitor`). So one of the two sees the other. All four steps are in the single order. The other changes of
///     `state` need no order: a thread that finds the monitor awake, or being started, has published before the monitor's next
///     `asleep`, so the monitor's last look finds what was published.
/// Monitor.M2  There is one monitor thread at a time. Its starter takes `none` away. The thread puts `none` back when it ends;
///     the starter puts it back when the kernel refuses the thread. That way the monitor's own notes
///     (`ApplyHelpRegistry.seen`) go from one thread to the next. `lent` is as `none`, but that the thread which has put it there takes it
///     back if it can. A worker that stands in (Vacancy.swift) takes either away, and puts it back.
///
/// A worker in a job has an odd pulse. If the monitor sees the same odd pulse at two ticks, and the worker has used hardly any
/// CPU time in between, the worker is off its processor: it is counted as blocked (`stalled`) until it is back. The thread
/// that changes `stalled` back corrects the count. The monitor does so itself if the pulse has moved on meanwhile.
struct Monitor: ~Copyable, @unchecked Sendable {  // fields are atomic, or the monitor thread's own
  enum State {
    static let none: UInt32 = 0
    static let asleep: UInt32 = 1
    static let awake: UInt32 = 2
    /// A thread is starting the monitor. The kernel may refuse, so no thread relies on it; the monitor looks at everything
    /// once it is there.
    static let starting: UInt32 = 3
    /// The monitor's thread runs jobs (`LastResort`).
    static let lent: UInt32 = 4
    /// The kernel refuses the monitor a thread, and a worker stands in for it (`Vacancy`).
    static let filled: UInt32 = 5
  }

  static let tick: UInt64 = 1_000_000
  /// Just after it was woken, and while added workers block as well, the monitor looks more often.
  private static let quickTick: UInt64 = 250_000
  private static let quickTicks = 6
  private static let patience = 20
  /// If the monitor is only awake in case the poller's role stays vacant, and the role never does, it looks more rarely.
  private static let calmTick: UInt64 = 4_000_000
  /// If threads pass the role on, it is vacant at times; it may stay so.
  private static let passingTick: UInt64 = 2_000_000
  private static let calmness = 8
  /// While nothing is pending, the monitor looks at the workers only as often as this.
  private static let distanceOfLooks = 8 * tick
  private static let lingering: UInt64 = 2_000_000_000

  let state = Atomic<UInt32>(State.none)
  #if DEBUG
    /// The kernel's number of the thread that there was last.
    let thread = Atomic<UInt32>(0)
  #endif
  private let parker = Parker()
  /// When a worker that stood in has looked last.
  let lookedAt = Atomic<UInt64>(0)

  /// Whether the monitor will look once more before it sleeps.
  var isAwake: Bool {
    // seq-cst: Monitor.M1; a thread that leaves something to the monitor has published it before it asks.
    state.load(ordering: .sequentiallyConsistent) == State.awake
  }

  /// Whether there is a thread.
  var exists: Bool {
    // relaxed: a hint.
    let state = state.load(ordering: .relaxed)
    return state == State.asleep || state == State.awake || state == State.lent
  }

  /// Makes sure that the monitor looks again within a tick.
  ///
  /// - Returns: false if the kernel refuses the monitor a thread: a worker stands in when it comes by (`Vacancy`).
  @inline(__always)
  @discardableResult
  func wake(_ engine: borrowing Engine) -> Bool {
    // seq-cst: Monitor.M1; after the publication of what the monitor should see.
    state.load(ordering: .sequentiallyConsistent) == State.awake || wakeSlow(engine)
  }

  /// The engine is being closed: a thread that sleeps wakes up, and ends.
  func close(_ engine: borrowing Engine) {
    // relaxed: a thread that goes to sleep in this moment has seen that the engine is being closed, or is woken by the next call.
    if state.load(ordering: .relaxed) == State.asleep { _ = wakeSlow(engine) }
  }

  @inline(never)
  private func wakeSlow(_ engine: borrowing Engine) -> Bool {
    while true {
      // This load finds the state that `wake` has found, or a later one; the publication precedes both (Monitor.M1).
      // pairs with: below – publishes that the thread which starts the monitor asks the kernel (Blocking.B1)
      let seen = state.load(ordering: .acquiring)
      switch seen {
      case State.asleep:
        // relaxed: the parker's token publishes; a thread that finds the monitor awake has published before the monitor's next
        // look (Monitor.M1).
        if state.compareExchange(expected: seen, desired: State.awake, ordering: .relaxed).exchanged {
          parker.unpark()
          return true
        }
      case State.none, State.lent:
        if Shortages.threads.mayAsk {
          Shortages.threads.beginAsking()
          // relaxed: on failure, looked at again.
          // pairs with: fallAsleep, start, standIn – publishes the notes of the monitor that was there before (Monitor.M2)
          // pairs with: above – publishes that this thread asks the kernel
          let (chosen, _) = state.compareExchange(
            expected: seen, desired: State.starting, successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed)
          let isThere = chosen && start(in: seen, engine)
          Shortages.threads.endAsking()
          if isThere { return true }
          if !chosen { continue }
        }
        // Vacancy.V1
        engine.passOverSlots()
        engine.wakeStandIn()
        return false
      // A thread that is being started may be refused, while threads are short. A worker that stands in may have looked already.
      default: return seen == State.awake || seen == State.starting && !Shortages.threads.isShort
      }
    }
  }

  /// - Parameter former: The state if there is no thread.
  /// - Returns: whether there is one.
  @_optimize(size)
  private func start(in former: UInt32, _ engine: borrowing Engine) -> Bool {
    guard let error = Thread.spawn(name: "gc-monitor", body: Monitor.main, argument: nil) else {
      engine.noteGrantedThread()
      return true
    }
    Shortages.threads.refused(error)
    // pairs with: wakeSlow, takeBack, standIn – publishes an earlier monitor thread's notes to the next one (Monitor.M2)
    // seq-cst: Vacancy.V2; vacant before the look at the sleepers.
    state.store(former, ordering: .sequentiallyConsistent)
    return false
  }

  private static let main: Thread.Body = { _ in Engine.shared.pointee.monitor.run(Engine.shared) }

  @_optimize(size)
  private func run(_ engine: Engine.Pointer) {
    #if DEBUG
      // relaxed: for an observation.
      thread.store(Thread.id, ordering: .relaxed)
    #endif
    // relaxed: a thread that still finds the monitor being started has published before the next `asleep` (Monitor.M1).
    state.store(State.awake, ordering: .relaxed)
    // A fork holds the lock that this waits for, and waits for the monitor while it is being started.
    InsightThread.ready?.become(.monitor)
    var notes = Notes()
    var quiet = 0
    var eager = Self.quickTicks
    var calm = 0
    var isVacant = false
    var last = Clock.uptime.now()
    while true {
      let tick = calm < Self.calmness ? Self.tick : isVacant ? Self.passingTick : Self.calmTick
      Thread.sleep(nanoseconds: notes.compensation.isGrowing || eager > 0 ? Self.quickTick : tick)
      if endsWith(engine.pointee) { return notes.lastResort.leave() }
      eager -= 1
      let now = Clock.uptime.now()
      isVacant = engine.pointee.isMissed
      calm = engine.pointee.isCalm(isVacant: isVacant, since: last) ? calm + 1 : 0
      quiet = look(engine, now, elapsed: now - last, &notes) ? 0 : quiet + 1
      if notes.helps { calm = 0 }
      if notes.lastResort.isDue, !runJobs(engine, &notes.lastResort) { return notes.lastResort.leave() }
      last = now
      // In a simulation nothing comes by itself while the monitor ticks: one quiet tick says as much as twenty.
      if quiet < (World.isSimulated ? 1 : Self.patience) { continue }
      if !fallAsleep(engine.pointee) { continue }
      let ends = World.isSimulated ? Deadline.never : .after(Self.lingering, on: .uptime)
      if !parker.park(until: ends), end() { return notes.lastResort.leave() }
      quiet = 0
      eager = Self.quickTicks
      calm = 0
      last = Clock.uptime.now()
    }
  }

  /// Monitor: declares itself asleep, unless there is something to watch. A waker that was faster has left a token, which is
  /// taken at the next sleep.
  @_optimize(size)
  func fallAsleep(_ engine: borrowing Engine) -> Bool {
    // seq-cst: Monitor.M1; asleep before the last look. It also publishes this thread's notes (Monitor.M2).
    state.store(State.asleep, ordering: .sequentiallyConsistent)
    if !engine.needsMonitor { return true }
    // relaxed: a thread that finds the monitor awake has published before its next look (Monitor.M1).
    _ = state.compareExchange(expected: State.asleep, desired: State.awake, ordering: .relaxed)
    return false
  }

  /// Monitor, not woken for long: its thread may end, unless a waker has been faster, and has left a token.
  func end() -> Bool {
    // relaxed: it continues the step of `fallAsleep`, which has published this thread's notes to the next one
    // (Monitor.M2).
    state.compareExchange(expected: State.asleep, desired: State.none, ordering: .relaxed).exchanged
  }

  /// Monitor: whether its thread may end because the engine is being closed, and nothing is left that needs it. A thread that publishes something
  /// meanwhile finds it awake, or has it started again (Monitor.M1).
  @_optimize(size)
  private func endsWith(_ engine: borrowing Engine) -> Bool {
    guard engine.isClosing, fallAsleep(engine) else { return false }
    return end()
  }

  /// What the thread remembers from tick to tick.
  struct Notes {
    /// For how long the poller's role was vacant while nothing was pending, since the last look at the workers.
    var vacant: UInt64 = 0
    /// Whether calls of `concurrentPerform` were registered.
    var helps = false
    var compensation = Compensation()
    var slices = Slices()
    var crowd = Crowd()
    var reserve = Reserve()
    var lastResort = LastResort()
  }

  /// One tick. Returns whether there was anything to watch.
  @_optimize(size)
  func look(_ engine: Engine.Pointer, _ now: UInt64, elapsed: UInt64, _ notes: inout Notes) -> Bool {
    Probes.look()
    let busy = engine.pointee.poller.isBusy
    engine.pointee.pollIfVacant()
    engine.pointee.watchSlotsFromMonitor()
    notes.helps = engine.pointee.applyHelp.helpLingering()
    // relaxed: a hint; `settle` verifies it.
    let bands = engine.pointee.pending.load(ordering: .relaxed)
    if bands != 0 { _ = engine.pointee.settle(bands) }
    // relaxed: looked at again, with the proper order, before the monitor sleeps.
    guard engine.pointee.pending.load(ordering: .relaxed) != 0 else {
      notes.compensation.rest()
      notes.crowd = Crowd()
      notes.lastResort.end()
      engine.pointee.noCrowd()
      // relaxed: see below.
      engine.pointee.allowance.store(0, ordering: .relaxed)
      let isMissed = engine.pointee.isMissed
      if isMissed { seeToPoller(engine, now, elapsed: elapsed, &notes) }
      return notes.helps || isMissed || engine.pointee.slotsNeedWatcher
        || busy && engine.pointee.poller.clearBusy()
    }
    engine.pointee.lookForEndOfExhaustion()
    let seen = findStalled(engine, now, elapsed: elapsed)
    // A tool that asks why nothing gets on finds the worker that blocks, though no thread has slept or waited here.
    if seen.stalled > 0 { InsightRegion.makeOnce() }
    // relaxed: a setting; the claims look at the word again.
    let parallelism = engine.pointee.parallelism.load(ordering: .relaxed)
    // relaxed: a hint.
    let waiting = engine.pointee.pending.load(ordering: .relaxed)
    let lanesWait = waiting & Band.allLoose != 0
    let most = notes.slices.mayDisplace(
      adrift: engine.pointee.pool.load(ordering: .relaxed).adrift, places: parallelism, hasStarted: seen.hasStarted,
      lanesWait: lanesWait, orderedTaken: waiting & Band.allOrdered == 0 ? nil : engine.pointee.orderedTaken,
      elapsed: elapsed)
    if most > 0 {
      engine.pointee.takePlacesFromLongJobs(most, now: now)
    } else if lanesWait {
      engine.pointee.helpLanes(now)
    }
    engine.pointee.passOverSlots()
    let isWithheld = engine.pointee.lookAfter(
      &notes.reserve, hasStarted: seen.hasStarted, isLoose: lanesWait, elapsed: elapsed)
    let pool = engine.pointee.pool.load(ordering: .relaxed)
    let wanted = notes.compensation.wanted(
      pool, parallelism: parallelism, seen, elapsed: elapsed)
    let limit = engine.pointee.lookForCrowd(
      &notes.crowd, pool, seen, places: parallelism, allowance: notes.compensation.allowance, elapsed: elapsed)
    // In a crowd a sleeper stays, for lanes and events.
    if let wanted, !isWithheld {
      grow(engine, to: limit.map { min(wanted, pool.active + $0) } ?? wanted, sparing: limit == nil ? 0 : 1)
    }
    if let limit {
      if notes.crowd.isRemembered { notes.compensation.hold(to: limit) }
      engine.pointee.helpBesideCrowd(&notes.crowd, elapsed: elapsed)
    }
    notes.lastResort.look(
      // relaxed: a hint.
      engine.pointee.pool.load(ordering: .relaxed), hasStarted: seen.hasStarted, isLoose: lanesWait, elapsed: elapsed)
    engine.pointee.refreshParallelism()
    return true
  }

  /// The poller's role is vacant, and nothing is pending.
  @_optimize(size)
  private func seeToPoller(_ engine: Engine.Pointer, _ now: UInt64, elapsed: UInt64, _ notes: inout Notes) {
    notes.vacant += elapsed
    // A worker that is off its processor does not come by for the role. The look costs two system calls for each worker.
    if notes.vacant >= Self.distanceOfLooks, !World.isSimulated {
      _ = findStalled(engine, now, elapsed: notes.vacant)
      notes.vacant = 0
    }
    // No active worker will take the role. The workers went to sleep while it was taken for a moment, or are off their processors: one is
    // woken, or added.
    // relaxed: a hint; it is looked at again at the next tick.
    if engine.pointee.pool.load(ordering: .relaxed).active == 0 { engine.pointee.wakeIfNeeded() }
  }

  @_optimize(size)
  private func grow(_ engine: Engine.Pointer, to wanted: Int, sparing spared: Int = 0) {
    var added: UInt32 = 0
    defer { if added != 0, Recorder.isOn { Recorder.note(.compensate, detail: 2, argument: added) } }
    for _ in 0..<Compensation.largestBurst {
      switch engine.pointee.reinforce(parallelism: wanted, budget: engine.pointee.threadLimit, sparing: spared) {
      case .unpark, .spawn: added += 1
      case .nothing, .watch, .exhausted: return
      }
    }
  }

  /// Looks at every worker. Counts as blocked the workers that have been off their processors since the last tick.
  @_optimize(size)
  private func findStalled(_ engine: Engine.Pointer, _ now: UInt64, elapsed: UInt64) -> Compensation.Findings {
    // relaxed: hints.
    let bands = engine.pointee.pending.load(ordering: .relaxed)
    let state = engine.pointee.pool.load(ordering: .relaxed)
    var look = WorkersLook(now: now, elapsed: elapsed, pending: bands, away: state.blocked + state.adrift)
    for index in 0..<engine.pointee.workers.count {
      let worker = engine.pointee.workers[index]
      guard let pulse = worker.pointee.isSeenOff(by: &look, in: engine.pointee) else { continue }
      if engine.pointee.setAside(worker, pulse, as: Worker.Status.stalled) {
        look.findings.stalled += 1
        look.findings.working -= 1
      }
    }
    look.findings.granted = look.findings.hasStarted ? elapsed : look.most.map { min($0, elapsed) }
    return look.findings
  }
}

extension Engine {
  /// Whether no thread waits for the kernel's events, and there are any to wait for.
  fileprivate var isMissed: Bool { poller.isMissed(timers) }

  /// Whether no work is pending, and the poller's role has not been vacant since the last tick.
  fileprivate func isCalm(isVacant: Bool, since last: UInt64) -> Bool {
    // relaxed: decides about the length of the next tick only.
    pending.load(ordering: .relaxed) == 0 && !slotsNeedWatcher && (!isVacant || poller.hasReturned(since: last))
  }

  /// Whether the monitor has something to watch. Timers and events stay behind in an engine that is being closed.
  @inline(never)
  @_optimize(size)
  var needsMonitor: Bool {
    // seq-cst: Monitor.M1.
    pending.load(ordering: .sequentiallyConsistent) != 0 || slotsNeedWatcher || isMissed && !isClosing
      || !applyHelp.isEmpty
  }

  /// The first worker counts the processors exactly, control groups included, so that the first submission need not.
  func refreshParallelismOnce() {
    // relaxed: as below. The look comes first: every worker passes here, and the line is shared.
    if parallelismTicks.load(ordering: .relaxed) == 0,
      parallelismTicks.compareExchange(expected: 0, desired: 1, ordering: .relaxed).exchanged
    {
      countProcessors()
    }
  }

  /// Reads the number of processors again, now and then.
  func refreshParallelism() {
    // relaxed: the monitor's own counter; a setting.
    let ticks = parallelismTicks.wrappingAdd(1, ordering: .relaxed).newValue
    if ticks % 1024 == 0 { countProcessors() }
  }

  /// Counts the processors now. One thread at a time: a count that began before the program has set another number would be stored behind that.
  @inline(never)
  @_optimize(size)
  func countProcessors() {
    Fork.undisturbed { setParallelism(Topology.activeProcessors()) }
  }
}
