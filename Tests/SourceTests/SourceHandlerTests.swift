// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import Testing

@testable import GrandCentral

@Suite("A source's handlers")
struct SourceHandlerTests {
  /// Whether the calling handler is alone on `queue`: a reader that it submits starts beside it otherwise, be it late. Where it
  /// should be alone, a moment is enough: there is nothing to wait for.
  private func isAlone(on queue: DispatchQueue, seconds: Double = 0.1) -> Bool {
    let beside = Latch()
    queue.async { beside.open() }
    return !beside.wait(seconds: seconds)
  }

  @Test("S1, W3: a work item with the barrier flag runs alone on a concurrent queue, whichever handler it is")
  func barrierItem() {
    let queue = DispatchQueue(label: "source", attributes: .concurrent)
    let source = DispatchSource.makeUserDataAddSource(queue: queue)
    let (alone, done) = (Recorder<String>(), Latch(3))
    func item(_ name: String) -> DispatchWorkItem {
      DispatchWorkItem(flags: .barrier) {
        alone.note(self.isAlone(on: queue) ? name : name + " beside others")
        done.open()
      }
    }
    source.setRegistrationHandler(handler: item("registration"))
    source.setEventHandler(handler: item("event"))
    source.setCancelHandler(handler: item("cancel"))
    source.activate()
    source.add(data: 1)
    waitFor { alone.count == 2 }
    source.cancel()
    #expect(done.wait())
    #expect(alone.values == ["registration", "event", "cancel"])
  }

  @Test("S1, W3: a barrier of one role leaves the other handlers readers")
  func oneBarrier() {
    let queue = DispatchQueue(label: "source", attributes: .concurrent)
    let source = DispatchSource.makeUserDataAddSource(queue: queue)
    let (alone, done) = (Recorder<Bool>(), Latch(2))
    source.setEventHandler {
      alone.note(self.isAlone(on: queue, seconds: Patience.seconds))
      // The cancel handler becomes due while a job runs that is no barrier: that job must not run it.
      source.cancel()
      done.open()
    }
    source.setCancelHandler(flags: .barrier) {
      alone.note(self.isAlone(on: queue))
      done.open()
    }
    source.activate()
    source.add(data: 1)
    #expect(done.wait())
    #expect(alone.values == [false, true])
  }

  @Test("S1, W3: a work item runs with its own quality of service")
  func qosOfItem() {
    let source = DispatchSource.makeUserDataAddSource(queue: DispatchQueue(label: "source"))
    let (found, done) = (Recorder<UInt32>(), Latch())
    source.setEventHandler(
      handler: DispatchWorkItem(qos: .userInitiated) {
        found.note(gc_thread_self().pointee.qos)
        done.open()
      })
    source.activate()
    source.add(data: 1)
    #expect(done.wait())
    #expect(found.values == [UInt32(QoSWord(.userInitiated).rawValue)])
    source.cancel()
  }

  @Test("S2: items that were submitted behind a source's first event do not overtake it", arguments: 0..<8)
  func firstEventKeepsItsPlace(_ way: Int) {
    let queue = DispatchQueue(label: "source")
    for _ in 0..<200 {
      let (events, registrations) = (Counter(), Counter())
      let source = DispatchSource.makeUserDataAddSource(queue: queue)
      source.setEventHandler(qos: way & 4 != 0 ? .userInitiated : .unspecified) { events.add() }
      if way & 1 != 0 { source.setRegistrationHandler { registrations.add() } }
      if way & 2 != 0 { source.add(data: 1) }
      source.activate()
      if way & 2 == 0 { source.add(data: 1) }
      let seen = queue.sync { events.value }
      // A handler of another quality of service is another item.
      if way & 5 != 5 { #expect(seen == 1) }
      source.cancel()
    }
  }

  @Test("S5, O3: the registration handler, and what it captures, is released when it has run")
  func registrationHandlerIsReleased() {
    let source = DispatchSource.makeUserDataAddSource(queue: DispatchQueue(label: "source"))
    let witness = Latch()
    func set() {
      let captured = Tombstone(witness)
      source.setRegistrationHandler { captured.visit() }
    }
    set()
    source.activate()
    #expect(witness.wait())
    #expect(!source.isCancelled)
    source.cancel()
  }

  @Test("S3: what a read source's handler reads does not change data, and the next call has the rest")
  func snapshotOfBytes() {
    let ends = Ends.pipe()
    let source = DispatchSource.makeReadSource(fileDescriptor: ends.reading, queue: DispatchQueue(label: "source"))
    let (sizes, closed) = (Recorder<UInt>(), Latch())
    source.setEventHandler {
      _ = take(ends.reading, 3)
      sizes.note(source.data)
    }
    source.setCancelHandler {
      ends.close()
      closed.open()
    }
    ends.write("12345")
    source.activate()
    waitFor { sizes.count >= 2 }
    #expect(sizes.values == [5, 2])
    source.cancel()
    #expect(closed.wait())
  }

  @Test("S8: an event that was read about before its report arrives calls nobody")
  func staleReport() {
    let ends = Ends.pipe()
    let queue = DispatchQueue(label: "source")
    let source = DispatchSource.makeReadSource(fileDescriptor: ends.reading, queue: queue)
    let (sizes, registered) = (Recorder<UInt>(), Latch())
    source.setEventHandler { sizes.note(source.data) }
    source.setRegistrationHandler { registered.open() }
    source.activate()
    #expect(registered.wait())
    queue.sync {}
    // What the poller does when the kernel had something to report, but no handler runs any more by then.
    (source as! DispatchSource).fire()
    queue.sync {}
    #expect(sizes.values == [])
    source.cancel()
    queue.sync {}
    ends.close()
  }

  @Test("S9: a write source is not told of room that is gone by then")
  func staleRoom() {
    let ends = Ends.pipe()
    let queue = DispatchQueue(label: "source")
    let block = [UInt8](repeating: 7, count: 4096)
    while write(ends.writing, block, block.count) > 0 {}
    let source = DispatchSource.makeWriteSource(fileDescriptor: ends.writing, queue: queue)
    let (sizes, registered) = (Recorder<UInt>(), Latch())
    source.setEventHandler { sizes.note(source.data) }
    source.setRegistrationHandler { registered.open() }
    source.activate()
    #expect(registered.wait())
    queue.sync {}
    (source as! DispatchSource).fire()
    queue.sync {}
    #expect(sizes.values == [])
    source.cancel()
    queue.sync {}
    ends.close()
  }

  @Test("S4, O5: a cancel handler that a finished source gets while it is suspended runs after the resume")
  func lateAndSuspended() {
    let queue = DispatchQueue(label: "source")
    let source = DispatchSource.makeUserDataAddSource(queue: queue) as! DispatchSource
    let (runs, ran) = (Counter(), Latch())
    source.activate()
    source.cancel()
    waitFor { source.state.load().has(SourceState.finished) }
    queue.sync {}
    source.suspend()
    source.setCancelHandler { Issue.record("it was replaced") }
    source.setCancelHandler {
      runs.add()
      ran.open()
    }
    source.suspend()
    source.resume()
    queue.sync {}
    #expect(runs.value == 0)
    source.resume()
    #expect(ran.wait())
    source.suspend()
    source.resume()
    queue.sync {}
    #expect(runs.value == 1)
  }

  @Test("S4: a cancel handler that a finished source gets runs, once, on its target; later ones do not")
  func lateCancelHandler() {
    let queue = DispatchQueue(label: "source", attributes: .concurrent)
    let key = DispatchSpecificKey<Bool>()
    queue.setSpecific(key: key, value: true)
    let calls = Recorder<String>()
    func note(_ name: String) -> @Sendable () -> Void {
      { calls.note(DispatchQueue.getSpecific(key: key) == true ? name : name + " elsewhere") }
    }
    for isSetBefore in [false, true] {
      let source = DispatchSource.makeUserDataAddSource(queue: queue) as! DispatchSource
      if isSetBefore { source.setCancelHandler(handler: note("before")) }
      source.activate()
      source.cancel()
      waitFor { source.state.load().has(SourceState.finished) }
      // The handlers were taken away when the step is over: that is a barrier's turn.
      queue.sync(flags: .barrier) {}
      source.setEventHandler(handler: note("event"))
      source.setCancelHandler(flags: .barrier, handler: note("late"))
      source.setCancelHandler(handler: note("later"))
      queue.sync(flags: .barrier) {}
    }
    #expect(calls.values == ["late", "before"])
  }

  @Test("S4, S7: what the other handlers capture goes before the cancel handler gives back what it needs")
  func capturesBeforeCancel() {
    final class Farewell: Sendable {
      let ends: Ends
      init(_ ends: Ends) { self.ends = ends }
      deinit { ends.write("bye") }
      func visit() {}
    }
    let ends = Ends.pipe()
    let queue = DispatchQueue(label: "source")
    let source = DispatchSource.makeReadSource(fileDescriptor: ends.reading, queue: queue)
    let (cancelled, received) = (Latch(), Recorder<Int>())
    // This thread has nothing of it when the source ends.
    queue.suspend()
    do {
      let farewell = Farewell(ends)
      source.setEventHandler { farewell.visit() }
    }
    source.setCancelHandler {
      var text = [UInt8](repeating: 0, count: 8)
      received.note(read(ends.reading, &text, 8))
      close(ends.reading)
      close(ends.writing)
      cancelled.open()
    }
    source.activate()
    source.cancel()
    queue.resume()
    #expect(cancelled.wait())
    #expect(received.values == [3])
  }

  @Test("S1: a number that is no descriptor costs no more than finding that out")
  func hugeNumber() {
    let cancelled = Latch()
    let source = DispatchSource.makeReadSource(fileDescriptor: .max, queue: .global())
    source.setCancelHandler { cancelled.open() }
    // Of this thread alone: the machine may be busy.
    let before = threadNanoseconds()
    source.activate()
    let cost = threadNanoseconds() - before
    #expect(cancelled.wait())
    #expect(cost < 100_000_000, "\(cost) ns")
  }

  @Test(
    "S6: what is pending when the target changes is delivered where it was, what comes later on the new queue",
    arguments: [false, true])
  func retarget(isPending: Bool) {
    let (key, first, second) = (DispatchSpecificKey<UInt>(), DispatchQueue(label: "1"), DispatchQueue(label: "2"))
    first.setSpecific(key: key, value: 1)
    second.setSpecific(key: key, value: 2)
    let source = DispatchSource.makeUserDataAddSource(queue: first)
    let seen = Recorder<[UInt]>()
    source.setEventHandler { seen.note([DispatchQueue.getSpecific(key: key) ?? 0, source.data]) }
    source.activate()
    first.sync {}
    if isPending { first.suspend() }
    source.add(data: 3)
    if !isPending { waitFor { seen.count == 1 } }
    source.setTarget(queue: second)
    if isPending {
      second.sync {}
      #expect(seen.values == [])
      first.resume()
      waitFor { seen.count == 1 }
      first.sync {}
    }
    source.add(data: 4)
    waitFor { seen.count == 2 }
    #expect(seen.values == [[1, 3], [2, 4]])
    source.cancel()
  }
}
