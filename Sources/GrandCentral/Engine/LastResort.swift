// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// The kernel refuses threads, every worker is in a job, none of them begins another, and lanes or events are pending. The jobs may wait
/// for what these run: then nothing would ever go on. One thread is left that runs no jobs, the monitor's. It runs lanes and events
/// itself, as a thread of the program's own could, and looks at the workers in between.
///
/// Ordered work stays with the workers: its items may wait as well, and the monitor's thread would be used up like the others.
struct LastResort {
  /// For how long nothing has been started.
  private var standstill: UInt64 = 0
  /// Whether the monitor's thread runs jobs until a worker does again.
  private(set) var isDue = false
  /// Whether it has run some before: then it waits for a tick only.
  private var hasBegun = false

  /// - Parameter isLoose: Whether something is pending that has no order.
  @_optimize(size)
  mutating func look(_ pool: PoolState, hasStarted: Bool, isLoose: Bool, elapsed: UInt64) {
    if hasStarted || !isLoose || pool.sleeping + pool.searching > 0 || Shortages.threads.mayAsk { return end() }
    standstill &+= elapsed
    isDue = hasBegun || standstill >= Slices.slice
  }

  mutating func end() { (standstill, isDue) = (0, false) }

  /// The thread's first job and its last one are framed as a worker's are.
  @_optimize(size)
  mutating func begin() {
    if hasBegun { return }
    hasBegun = true
    Hooks.runStart()
  }

  func leave() { if hasBegun { Hooks.runExit() } }
}

extension Monitor {
  /// Monitor: runs what is loose, for a tick or for one job that takes longer.
  ///
  /// Meanwhile the role is `lent`: if a job does not end, another thread is asked for when the kernel may grant one. A job that waits in
  /// one of our primitives asks itself (`Blocking.sleep`).
  /// - Returns: false if there is another monitor now.
  @_optimize(size)
  func runJobs(_ engine: Engine.Pointer, _ lastResort: inout LastResort) -> Bool {
    let forks = Thread.forkGeneration
    lend()
    engine.pointee.wakeStandIn()
    lastResort.begin()
    let end = Clock.uptime.now() + Self.tick
    while let job = engine.pointee.takeLoose(of: .max) {
      job.run()
      // A child that a job has forked has this thread alone, and another engine.
      if Thread.forkGeneration != forks { Fork.parkForeignThread() }
      if Clock.uptime.now() >= end { break }
    }
    return takeBack()
  }

  @_optimize(size)
  func lend() {
    // pairs with: wakeSlow – publishes this thread's notes to the next one (Monitor.M2)
    // seq-cst: Vacancy.V2; lent before the look at the sleepers.
    state.store(State.lent, ordering: .sequentiallyConsistent)
  }

  /// Takes the lent role back. False if another thread has it, or has had it.
  @_optimize(size)
  func takeBack() -> Bool {
    while true {
      // relaxed: on failure, looked at below.
      // pairs with: fallAsleep – publishes the notes of a monitor that was there meanwhile (Monitor.M2)
      let (taken, found) = state.compareExchange(
        expected: State.lent, desired: State.awake, successOrdering: .acquiring, failureOrdering: .relaxed)
      if taken { return true }
      if found != State.starting, found != State.filled { return false }
      // A thread asks the kernel for another monitor, and is refused, as a rule. Or a worker stands in, and puts the state back.
      Thread.sleep(nanoseconds: 50_000)
    }
  }
}
