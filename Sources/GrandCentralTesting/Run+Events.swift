// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Run.R9: what a run is in which no thread can go on, where an event from outside may yet come.
//
// A handler may do anything: signal a semaphore, leave a group, resume a queue. So as long as one may run, it is not known that the threads
// wait for ever, and the failure is an escape. What does not depend on a handler is a deadlock all the same:
//
// 1  Threads wait for each other in a circle.
// 2  The handler cannot run: its queue is suspended, or has an item that a thread has begun and waits in for ever.
// 3  What is watched is inside: only the process makes it ready, and all threads of the run wait. A thread that takes no part may do it, and
//    the run does not know of that unless the thread uses the library (Run.R6). So the deadlock names what is watched.
//
// Memory pressure is no event that a program goes on by. Timers and the program's own data come from inside.
#if GRANDCENTRAL_DROPIN
  struct SourcesOfRun {
    mutating func note(_ address: UInt) {}
  }

  extension Run {
    func judge(_ reason: SimulationFailure.Reason) -> SimulationFailure.Reason { reason }
  }
#else
  import Glibc
  import GrandCentral

  /// The sources that a run has changed, by their addresses.
  struct SourcesOfRun {
    private final class Entry {
      weak var source: DispatchSource?
      init(_ source: DispatchSource) { self.source = source }
    }

    private var entries: [UInt: Entry] = [:]

    /// The calling thread is about to change the object at the address.
    mutating func note(_ address: UInt) {
      if entries[address]?.source != nil { return }
      guard let place = UnsafeRawPointer(bitPattern: address) else { return }
      // unsafe: the thread has the object.
      let object = Unmanaged<AnyObject>.fromOpaque(place).takeUnretainedValue()
      if let source = object as? DispatchSource { entries[address] = Entry(source) }
    }

    var living: [DispatchSource] { entries.values.compactMap { $0.source } }
  }

  extension Run {
    private struct Event {
      let sentence: String
      let isInside: Bool
    }

    /// Why the run fails: one that cannot go on has met a deadlock, or an escape.
    func judge(_ reason: SimulationFailure.Reason) -> SimulationFailure.Reason {
      guard case .deadlock(let waits) = reason, !hasCircle else { return reason }
      let events = awaitedEvents.sorted { $0.sentence < $1.sentence }
      let outside = events.filter { !$0.isInside }.map(\.sentence)
      if outside.isEmpty {
        return .deadlock(waits + events.map { $0.sentence + ", which only the process makes ready" })
      }
      return .escape("no thread can go on but by what is outside: " + (outside + waits).joined(separator: "; "))
    }

    /// What handlers wait for that could run.
    private var awaitedEvents: [Event] {
      let open = DescriptorsOfProcess()
      var queues = KnownQueues()
      var events: [Event] = []
      func add(_ kind: String, _ queue: UInt32, _ descriptor: Int32?, _ watched: String) {
        if !mayRun(on: queue, &queues) { return }
        let label = SimulationSupport.label(ofObject: queue)
        let target = descriptor.flatMap { open.targets[$0] }.map { ", " + $0 } ?? ""
        events.append(
          Event(
            sentence: "the " + kind + (label.isEmpty ? "" : " on the queue \"" + label + "\"") + " waits for " + watched
              + target,
            isInside: descriptor.map { open.isInside($0) } ?? false))
      }
      for source in sources.living {
        guard let (kind, watched, queue) = source.awaited() else { continue }
        switch kind {
        case "read source", "write source", "file system source", "peer source", "message queue source":
          add(kind, queue, Int32(truncatingIfNeeded: source.handle), watched)
        case "signal source": add(kind, queue, nil, watched)
        // One that has ended, and has been waited for, tells nothing more.
        case "process source" where kill(Int32(truncatingIfNeeded: source.handle), 0) == 0 || errno != ESRCH:
          add(kind, queue, nil, watched)
        default: break
        }
      }
      for descriptor in open.targets.keys {
        for (reads, kind) in [(true, "read"), (false, "write")] {
          guard let queue = SimulationSupport.queueOfOperation(on: descriptor, reads: reads) else { continue }
          add(kind + " of DispatchIO", queue, descriptor, "descriptor \(descriptor)")
        }
      }
      return events
    }

    private func mayRun(on queue: UInt32, _ queues: inout KnownQueues) -> Bool {
      if queues.chain(queue).contains(where: { leftovers.isSuspended(UInt32($0)) }) { return false }
      // The first thread runs the main queue's items, where it does not wait for anything else.
      if isStuck(members[0]), SimulationSupport.label(ofObject: queue) == DispatchQueue.main.label { return false }
      let serial = queues.serial(queue)
      return !members.contains { $0.queue != 0 && isStuck($0) && serial.contains(UInt($0.queue)) }
    }
  }
#endif
