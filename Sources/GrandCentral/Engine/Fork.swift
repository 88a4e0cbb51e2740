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
/// first time. So the types of the library's own code are known before a fork, also where the process has used nothing of the library yet
/// (`gc_prepare_types`; the list is in `Dispatch/TypesAtFork.swift`). There is no remedy for the program's own types that a child is the
/// first to use: among them are the values under the program's keys, `DispatchSpecificKey`. What the parent's threads make at their first
/// use of it, as the global queues, has a "once", which a child does not get either if it is forked within these microseconds.
///
/// The engine's own threads use types for the first time in `undisturbed`; so in an optimised build, where generic types are specialised.
/// An unoptimised one asks the runtime for them everywhere. There a fork waits until the engine's threads have got on with what they do for
/// the first time (`letThreadsRest`).
enum Fork {
  /// Takes the locks of the layer above, or lets go of them, in the parent or in the child.
  typealias Guards = @convention(c) (_ hold: Bool, _ inChild: Bool) -> Void

  /// `Guards`, or 0.
  private static let above = Atomic<UInt>(0)

  /// The layer above has locks of its own.
  static func setGuardsAbove(_ guards: @escaping Guards) {
    // relaxed: a function captures nothing, so the word is all there is to publish.
    above.store(UInt(bitPattern: unsafeBitCast(guards, to: Int.self)), ordering: .relaxed)
  }

  private static func holdAbove(_ hold: Bool, inChild: Bool = false) {
    // relaxed: as in `setGuardsAbove`.
    let word = above.load(ordering: .relaxed)
    // unsafe: the word is a function of this type, see `setGuardsAbove`.
    if word != 0 { unsafeBitCast(word, to: Guards.self)(hold, inChild) }
  }

  /// Held while a thread of ours does what the runtime's locks may be needed for.
  private static let upkeep = ProcessLock()

  /// Runs `body` with no fork in the middle of it. It takes no lock of the layers above and calls no code of the
  /// program.
  static func undisturbed(_ body: () -> Void) {
    upkeep.lock()
    body()
    upkeep.unlock()
  }

  static func install() {
    Thread.atFork(prepare: { Fork.prepare() }, parent: { Fork.parent() }, child: { Fork.child() })
  }

  static func prepare() {
    // Before any lock is held: it waits for threads of the program.
    gc_prepare_types()
    holdAbove(true)
    upkeep.lock()
    Hooks.lockForFork()
    Engine.lockForFork()
    Engine.existing?.pointee.lockTables()
    Region.lockForFork()
    Signals.lockForFork()
    #if DEBUG
      if let engine = Engine.existing { letThreadsRest(engine) }
    #endif
  }

  static func parent() {
    Signals.unlockAfterFork(inChild: false)
    Region.unlockAfterFork()
    Engine.existing?.pointee.unlockTables()
    Engine.unlockAfterFork()
    Hooks.unlockAfterFork()
    upkeep.unlock()
    holdAbove(false)
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

  private static func child() {
    Region.unlockAfterFork()
    Magazine.resetAfterFork()
    gc_thread_self().pointee.worker = nil
    Shortages.threads.forgetAsking()
    Engine.replaceInChild()
    Hooks.unlockAfterFork()
    upkeep.unlock()
    holdAbove(false, inChild: true)
    Signals.unlockAfterFork(inChild: true)
  }

  /// A worker that has forked inside a job is a plain thread in the child: when the job returns there is no loop to go
  /// back to, and ending it would end nothing but the child's only thread.
  static func parkForeignThread() -> Never {
    while true { Thread.sleep(nanoseconds: 1_000_000_000) }
  }
}

extension Engine {
  fileprivate func lockTables() {
    signals.lockForFork()
    timers.lockForFork()
    poller.descriptors.lockForFork()
    signals.lockListForFork()
    idle.lock.lock()
  }

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
