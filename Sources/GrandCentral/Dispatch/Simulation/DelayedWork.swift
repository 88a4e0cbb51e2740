// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What `asyncAfter` has not submitted at the end of a run lets go of the program's objects.
#if !hasFeature(Embedded) && (!GRANDCENTRAL_DROPIN || GRANDCENTRAL_SIMULATION)
  extension SimulationSupport {
    /// Releases what the timers of `asyncAfter` hold, that have not fired. Whether there was any.
    ///
    /// The ends of the program's objects may use the library, and set timers. Those of sources and tasks stay: the objects have them in
    /// their hands.
    @_optimize(size)
    package static func dropDelayed() -> Bool {
      var hasDropped = false
      for index in 0..<Timers.clocks {
        let clock = Clock(rawValue: UInt8(index))!
        var jobs = Engine.current.timers.takeAll(clock, firing: DelayedJob.fired)
        var items = Engine.current.timers.takeAll(clock, firing: DelayedItem.fired)
        hasDropped = hasDropped || jobs.first != nil || items.first != nil
        while let entry = jobs.popFirst() {
          let (job, queue) = DelayedJob.take(entry)
          job.drop()
          queue.giveBack()
        }
        while let entry = items.popFirst() {
          let delayed = DelayedItem.timer(entry)
          delayed.use { $0.forget() }
          DelayedItem.letGo(delayed)
        }
      }
      return hasDropped
    }
  }

  extension Job {
    /// Releases the closure, and gives the node back. A C function's context is the program's.
    fileprivate func drop() {
      let body = flags.contains(.hasBody) ? takeBody() : nil
      recycle()
      body?.release()
    }
  }
#endif
