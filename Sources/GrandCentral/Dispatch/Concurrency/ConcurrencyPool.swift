// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

#if Tasks || !HAS_TRAITS
  /// The engine, as the pool of Swift Concurrency itself: what `GrandCentralExecutors` builds its executor from.
  ///
  /// A job goes to the engine without a queue: tasks promise no order among each other, so what a worker submits stays with
  /// it until others have time for it. It runs as the runtime's own global executor runs it, under no executor's name, so
  /// that hops between tasks and default actors need no further job.
  package enum ConcurrencyPool {
    /// Runs the job at its own priority.
    package static func enqueue(_ job: UnownedJob) {
      let qos = QoSWord(rawValue: UInt16(ExecutorJob(job).priority.rawValue) << 8)
      let node = Job(invoke: run, qos: qos.rawValue, band: qos.band)
      // unsafe: a job is the address of its runtime object.
      node.extra = unsafeBitCast(job, to: UnsafeMutableRawPointer.self)
      Engine.current.submitUnordered(node)
    }

    /// Runs the job in `delay` nanoseconds, or up to `leeway` later; `continuous` says whether the time goes on while the
    /// machine sleeps.
    package static func enqueue(_ job: UnownedJob, after delay: UInt64, leeway: UInt64, continuous: Bool) {
      let clock: Clock = continuous ? .continuous : .uptime
      // unsafe: an entry is as large as a node. It is given back by `timeHasCome`.
      let entry = Magazine.takeRarely().bindMemory(to: TimerEntry.self, capacity: 1)
      entry.initialize(
        to: TimerEntry(
          deadline: clock.now().addingSaturated(delay), leeway: leeway,
          // unsafe: see above.
          context: unsafeBitCast(job, to: UnsafeMutableRawPointer.self), fire: timeHasCome))
      Engine.current.timers.add(entry, on: clock, in: Engine.current)
    }

    /// What is left until an instant of a clock of Swift's, for `enqueue(_:after:leeway:continuous:)`.
    ///
    /// In a simulation that does not have Swift's clocks the program has read the kernel's to make the instant, and so much real time is
    /// missing as has passed since then. Most durations are whole milliseconds, so the next one is taken.
    package static func delay(remaining nanoseconds: UInt64) -> UInt64 {
      // relaxed: set once, before the first run.
      if !World.isSimulated || World.haveSwiftClocks.load(ordering: .relaxed) { return nanoseconds }
      return wholeMilliseconds(nanoseconds)
    }

    package static func wholeMilliseconds(_ nanoseconds: UInt64) -> UInt64 {
      let millisecond: UInt64 = 1_000_000
      let beyond = nanoseconds % millisecond
      return beyond == 0 ? nanoseconds : nanoseconds.addingSaturated(millisecond - beyond)
    }

    /// Less urgent jobs get a turn now and then, also while there is more urgent work.
    package static func boundStarvation() { Settings.boundStarvationByTasks() }

    /// Has the first thread of a program with an `async` main run the main queue, and the main actor's jobs there.
    ///
    /// - Returns: false if the thread has other things to do.
    package static func takeAsyncMain() -> Bool { gc_take_async_main { MainLoop.run() } }

    /// Whether the calling thread is one of the pool's.
    package static var isHere: Bool { Worker.current != nil }

    /// What the runtime calls a generic executor: no identity, no functions.
    @inline(__always)
    private static var nobody: UnownedSerialExecutor {
      // unsafe: two words, part of the ABI.
      unsafeBitCast((0, 0), to: UnownedSerialExecutor.self)
    }

    private static let run: Job.Invoke = { raw in
      let node = Job(raw: raw)
      if Recorder.isOn { World.goBeyondOrders(.tasks) }
      // unsafe: see `enqueue`.
      let job = unsafeBitCast(node.extra!, to: UnownedJob.self)
      node.recycle()
      job.runSynchronously(on: nobody)
    }

    private static let timeHasCome: TimerEntry.Fire = { raw in
      // unsafe: fired once, by the wheel that has let go of the entry.
      let entry = raw.assumingMemoryBound(to: TimerEntry.self)
      let job = unsafeBitCast(entry.pointee.context!, to: UnownedJob.self)
      entry.deinitialize(count: 1)
      Magazine.give(raw)
      enqueue(job)
    }
  }
#endif
