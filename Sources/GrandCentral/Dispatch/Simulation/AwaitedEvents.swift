// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What a run's sources and channels wait for, where no thread of it can go on.
#if !hasFeature(Embedded) && (!GRANDCENTRAL_DROPIN || GRANDCENTRAL_SIMULATION)
  extension DispatchSource {
    /// Of a source that waits for an event, and has none to deliver: its kind, what it watches, and the number of its handlers' queue.
    @_optimize(size)
    package final func awaited() -> (kind: String, watched: String, queue: UInt32)? {
      if state.load().rawValue != SourceState.registered { return nil }
      return (kindName, watched, lock.withLock { target }.insightNumber)
    }
  }

  extension SimulationSupport {
    /// The number of the queue of an operation's handler, which waits for the descriptor in the calling thread's run; nil if none does.
    @_optimize(size)
    package static func queueOfOperation(on descriptor: Int32, reads: Bool) -> UInt32? {
      if World.current?.ioScheduler == nil { return nil }
      return IOScheduler.shared.files.operation(on: descriptor, reads ? .read : .write)?.queue?.insightNumber
    }
  }
#endif
