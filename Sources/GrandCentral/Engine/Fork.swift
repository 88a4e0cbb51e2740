// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// What happens to the engine when the process forks: the parent does not notice; the child has one thread and starts
/// over with a fresh engine. Work that was pending stays with the parent.
///
/// The locks of the whole process are held across the fork, so that no structure is copied half changed and no lock
/// stays with a thread that the child does not have: the layer above's first, then the engine's, then those of memory.
/// Lock-free structures are simply left behind with the old engine; the magazines' depot is emptied, because a batch on
/// its way between two threads may be known to neither.
///
/// The Swift runtime has locks too, one for all optionals, one for all arrays, and so on. It takes them when a type is first used. A child
/// that is copied while a thread of the parent has one, for whatever type, waits for ever when it uses another type of that kind for the
/// first time. There is no remedy for the program's own types that a child is the first to use: among them are the values under the
/// program's keys, `DispatchSpecificKey`.
///
/// The engine's own threads use types for the first time in `undisturbed`; so in an optimised build, where generic types are specialised.
/// An unoptimised one asks the runtime for them everywhere. There a fork waits until the engine's threads have got on with what they do for
/// the first time (`letThreadsRest`).
//
// Fork.F1  The handlers are there before any code of the library has run, and a fork runs either all of them or none. The C library runs those
//     that it had as the fork began: if the engine's maker registered them, a fork that is under way would run none, and its child would
//     have an engine whose threads do not exist, and locks that nobody lets go of. So `Identity.c` registers them as the process is loaded,
//     and finds what they call by name.
// Fork.F2  From `prepare` to `parent` or `child` the forking thread has all locks that the process has once, whether there is an engine or
//     not; but for that of `BlockingReports`, which a program asks for. A thread that is about to make the engine waits: the child finds
//     an engine made to its end, or none. A region for tools that is being made is left to the parent. Of two threads that fork at once
//     the second one waits for the first.
// Fork.F3  As a fork begins, the runtime knows the types that the library's own code uses (`Dispatch/TypesAtFork.swift`), and what is made at
//     its first use, under a "once" of the runtime, is made: the global queues. Both wait for threads that are at it, and nothing is held.
// Fork.F4  The runtime's locks know the child's thread by its own id (`SwiftLocks.c`): with the parent's, which each thread remembers, a
//     lock that two threads of the child want is never free again.
//
// before, nothing held   1  types and queues (Fork.F3)
//                        2  the locks of the layer above; `upkeep`, the hooks', the one under which the engine is made; those of the
//                           engine, if there is one; those of memory and of signals; the region's
//                        3  unoptimised: the engine's threads come to rest
//                        4  where the runtime remembers the thread's id is known (Fork.F4)
// after, in the parent   5  all unlocked, in the other order
// after, in the child    5  the generation, and the first thread's id (`Identity.c`); the runtime's (Fork.F4)
//                        6  the region is left to the parent; then memory is as new, and unlocked
//                        7  a new engine, if there was one; all else unlocked
//
// Rejected: handlers that the engine's maker installs, with a child that makes good for a fork that began before (any lock may then be held
// by any thread, and each would have to be reset); an engine made as the process is loaded (each process would pay).
enum Fork {
  /// Held while a thread does for us what the runtime's locks may be needed for.
  private static let upkeep = ProcessLock()

  /// Runs `body` with no fork in the middle of it. It takes no lock of the layers above and calls no code of the
  /// program.
  @_optimize(size)
  static func undisturbed(_ body: () -> Void) {
    upkeep.lock()
    body()
    upkeep.unlock()
  }

  /// The layer above has its locks.
  @_optimize(size)
  static func prepare() {
    upkeep.lock()
    Hooks.lockForFork()
    Engine.lockForFork()
    Engine.existing?.pointee.lockTables()
    Region.lockForFork()
    Signals.lockForFork()
    InsightRegion.lock.lock()
    #if DEBUG
      if let engine = Engine.existing { letThreadsRest(engine) }
    #endif
  }

  @_optimize(size)
  static func parent() {
    InsightRegion.lock.unlock()
    Signals.unlockAfterFork(inChild: false)
    Region.unlockAfterFork()
    Engine.existing?.pointee.unlockTables()
    Engine.unlockAfterFork()
    Hooks.unlockAfterFork()
    upkeep.unlock()
  }

  #if DEBUG
    private static let nap: UInt64 = 100_000
    /// A fork waits for so many nanoseconds at most; for jobs that compute, which may do so for ever, until so many of processor time are
    /// used.
    private static let (longest, timeForJobs): (UInt64, Int64) = (2_000_000_000, 50_000_000)
    /// A job that polls uses processor time between any two looks: it may when all others have rested for so many nanoseconds.
    private static let timeForPolling: UInt64 = 250_000_000

    /// Waits until the engine's threads and the main thread wait as well: for one of the locks that the caller holds, or for work. None of
    /// them is then in the runtime, unless it waits there for another thread of the program.
    ///
    /// The threads are looked at one by one, and one that has just been passed over may be woken by one that is still to come. So
    /// two looks in a row must find them all at rest, and no processor time used between the two.
    @_optimize(size)
    private static func letThreadsRest(_ engine: Engine.Pointer) {
      var (begin, last, restSince): (UInt64?, ThreadsLook?, UInt64?)
      let start = Clock.uptime.now()
      while true {
        let (look, time) = (engine.pointee.lookAtThreads(), Clock.uptime.now() - start)
        if time > longest { return }
        restSince = look.computes ? nil : restSince ?? time
        if let last, let restSince, !last.computes {
          let mayPoll = time - restSince > timeForPolling
          if !last.jobsCompute, !look.jobsCompute, mayPoll || last.time == look.time { return }
          // The time of a thread that has ended is missing: the difference may be negative.
          if let begin, Int64(bitPattern: look.time &- begin) > timeForJobs { return }
        }
        (begin, last) = (begin ?? look.time, look)
        Thread.sleep(nanoseconds: nap)
      }
    }
  #endif

  /// `unlockAbove` lets go of the locks of the layer above.
  @_optimize(size)
  static func child(_ unlockAbove: () -> Void) {
    InsightRegion.leaveInChild()
    InsightRegion.lock.unlock()
    Region.unlockAfterFork()
    Magazine.resetAfterFork()
    gc_thread_self().pointee.worker = nil
    Shortages.threads.forget()
    Engine.replaceInChild()
    Hooks.unlockAfterFork()
    upkeep.unlock()
    unlockAbove()
    Signals.unlockAfterFork(inChild: true)
  }

  /// A worker that has forked inside a job is a plain thread in the child: when the job returns there is no loop to go
  /// back to, and ending it would end nothing but the child's only thread.
  @_optimize(size)
  static func parkForeignThread() -> Never {
    while true { Thread.sleep(nanoseconds: 1_000_000_000) }
  }
}

extension Engine {
  @_optimize(size)
  fileprivate func lockTables() {
    signals.lockForFork()
    timers.lockForFork()
    poller.descriptors.lockForFork()
    signals.lockListForFork()
    idle.lock.lock()
  }

  @_optimize(size)
  fileprivate func unlockTables() {
    idle.lock.unlock()
    signals.unlockListAfterFork()
    poller.descriptors.unlockAfterFork()
    timers.unlockAfterFork()
    signals.unlockAfterFork()
  }
}

#if DEBUG
  /// What the threads of a process that is about to fork were found doing.
  private struct ThreadsLook {
    /// Whether a thread of the engine computes outside jobs, waits for a processor, or is being started.
    var computes = false
    /// Whether a job does, or the main thread.
    var jobsCompute = false
    /// The processor time that all of them have used.
    var time: UInt64 = 0

    @_optimize(size)
    mutating func note(_ thread: UInt32, isInJob: Bool) {
      if thread == 0 || thread == Thread.id { return }
      switch Thread.activity(of: thread) {
      case .runnable, .waitsBriefly: if isInJob { jobsCompute = true } else { computes = true }
      case .waits, nil: break
      }
      time &+= Thread.processorTime(of: thread)
    }
  }

  extension Engine {
    @_optimize(size)
    fileprivate func lookAtThreads() -> ThreadsLook {
      var look = ThreadsLook()
      // relaxed: an observation.
      if monitor.state.load(ordering: .relaxed) == Monitor.State.starting { look.computes = true }
      // relaxed: an observation.
      look.note(monitor.thread.load(ordering: .relaxed), isInJob: false)
      var begun = 0
      for index in 0..<workers.count {
        let worker = workers[index]
        // relaxed: an observation.
        let thread = worker.pointee.thread.load(ordering: .relaxed)
        if thread != 0 { begun += 1 }
        look.note(thread, isInJob: worker.pointee.isInJob)
      }
      // relaxed: an observation.
      if begun < pool.load(ordering: .relaxed).live { look.computes = true }
      look.note(Thread.mainID, isInJob: true)
      return look
    }
  }
#endif
