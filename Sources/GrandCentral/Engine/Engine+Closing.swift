// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// An engine is closed before a simulation takes its place, and when a run of the simulation is over: its threads end, as far as they
// have nothing to do. It can be used again afterwards.
extension Engine {
  /// Whether threads that have nothing to do end at once.
  var isClosing: Bool {
    // seq-cst: a sleeper looks at it after it has joined the idle list. The thread that closes sets it first, and looks at the
    // list afterwards.
    closing.load(ordering: .sequentiallyConsistent)
  }

  /// Has those threads end that have nothing to do. Called again until `isStill`.
  @_optimize(size)
  func close() {
    // seq-cst: see `isClosing`.
    closing.store(true, ordering: .sequentiallyConsistent)
    var isLast = false
    while !isLast {
      idle.lock.lock()
      let wake = pool.updateInOrder { $0.claimSleeper() }
      isLast = wake == .nothing
      carryOut(wake)
    }
    monitor.close(self)
  }

  /// Whether no thread is in the engine.
  var isStill: Bool {
    // relaxed: a thread that has ended is past its last access, which the loads need not see.
    pool.load(ordering: .relaxed).live == 0 && monitor.state.load(ordering: .relaxed) == Monitor.State.none
  }

  /// By a thread that is about to use the engine.
  @_optimize(size)
  func reopenIfClosed() {
    if isClosing { reopen() }
  }

  @_optimize(size)
  func reopen() {
    // seq-cst: Monitor.M1; it publishes timers and events. A worker that sees it late ends once too often: what that worker would have waited
    // for is looked for afterwards.
    closing.store(false, ordering: .sequentiallyConsistent)
    if needsMonitor {
      wakeIfNeeded()
      monitor.wake(self)
    }
  }

  /// Frees what an engine has that no thread is in, and that nobody sees any more.
  ///
  /// What belongs to descriptors and signals stays while one is watched: its source may still point there.
  @_optimize(size)
  func discard() {
    runQueues.deinitialize(count: Band.count)
    runQueues.deallocate()
    places.discard()
    workers.discard()
    timers.discard()
    poller.discard()
    if retries.discard() { signals.discard() }
    starvation.discard()
    applyHelp.discard()
  }

  /// Whether something waits to be done that no thread has taken on.
  var isOwed: Bool { needsMonitor }

  /// Whether there is a job that no worker has taken yet.
  var hasUntaken: Bool { hasVisibleWork || anySlotIsFull() }

  /// Adds a worker for it, although others search that may stand still meanwhile. For the one thread that goes on.
  @_optimize(size)
  func addWorkerForUntaken() {
    if anySlotIsFull() { wantWatch() }
    // relaxed: no other thread writes now.
    let (state, parallelism) = (pool.load(ordering: .relaxed), parallelism.load(ordering: .relaxed))
    if state.sleeping > 0 || state.live < threadLimit { reinforce(parallelism: parallelism, budget: threadLimit) }
  }
}

extension Timers {
  /// How many timers have not fired.
  var count: Int {
    lock.withLock {
      var count = 0
      for index in 0..<Self.clocks { count += wheels[index]?.pointee.count ?? 0 }
      return count
    }
  }

  @_optimize(size)
  fileprivate func discard() {
    for index in 0..<Self.clocks {
      wheels[index]?.deinitialize(count: 1)
      wheels[index]?.deallocate()
    }
    wheels.deallocate()
    earliest.deinitialize(count: Self.clocks)
    earliest.deallocate()
  }

  /// Takes all timers out, as if they were firing for ever: nobody may stop them in another engine's wheels.
  @_optimize(size)
  func abandon() {
    for index in 0..<Self.clocks { _ = takeAll(Clock(rawValue: UInt8(index))!, firing: nil) }
  }
}
