// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

@Suite("A source's life")
struct SourceLifeTests {
  @Test("S1: nothing runs before activation, what came before is delivered after it")
  func inactive() {
    let queue = DispatchQueue(label: "source")
    let source = DispatchSource.makeUserDataAddSource(queue: queue)
    let (seen, called) = (Recorder<UInt>(), Latch())
    source.setEventHandler {
      seen.note(source.data)
      called.open()
    }
    source.add(data: 3)
    source.add(data: 4)
    queue.sync {}
    #expect(seen.values == [])
    source.activate()
    #expect(called.wait())
    queue.sync {}
    #expect(seen.values == [7])
    source.cancel()
  }

  @Test("S1: handlers may be set in any order, and the event handler changed while the source is active")
  func handlerChange() {
    let queue = DispatchQueue(label: "source")
    let source = DispatchSource.makeUserDataOrSource(queue: queue)
    let seen = Recorder<String>()
    source.setCancelHandler { seen.note("cancelled") }
    source.setEventHandler { seen.note("first") }
    source.setRegistrationHandler { seen.note("registered") }
    source.activate()
    source.or(data: 1)
    waitFor { seen.values.contains("first") }
    source.setEventHandler { seen.note("second") }
    source.or(data: 1)
    waitFor { seen.values.contains("second") }
    source.cancel()
    waitFor { seen.values.contains("cancelled") }
    #expect(seen.values == ["registered", "first", "second", "cancelled"])
  }

  @Test("S3: data is a snapshot for the call, handle and mask stay what they were made with")
  func snapshot() {
    let queue = DispatchQueue(label: "source")
    let source = DispatchSource.makeUserDataAddSource(queue: queue)
    let (seen, entered, leave) = (Recorder<UInt>(), Latch(), Latch())
    source.setEventHandler {
      seen.note(source.data)
      entered.open()
      if !leave.wait() { return }
      seen.note(source.data)
      seen.note(source.handle + source.mask)
    }
    source.activate()
    source.add(data: 5)
    #expect(entered.wait())
    source.add(data: 7)
    leave.open()
    waitFor { seen.values.count == 6 }
    #expect(seen.values == [5, 5, 0, 7, 7, 0])
    source.cancel()
  }

  @Test("S1: a work item serves as a handler, each time anew")
  func workItemHandler() {
    let queue = DispatchQueue(label: "source")
    let source = DispatchSource.makeUserDataAddSource(queue: queue)
    let count = Counter()
    source.setEventHandler(handler: DispatchWorkItem { count.add() })
    source.activate()
    for expected in 1...3 {
      source.add(data: 1)
      waitFor { count.value == expected }
    }
    source.cancel()
    #expect(source.isCancelled)
  }

  @Test("S2: events during a run cause exactly one more call, with all of their data")
  func coalescing() {
    let queue = DispatchQueue(label: "source")
    let source = DispatchSource.makeUserDataAddSource(queue: queue)
    let (seen, running, go) = (Recorder<UInt>(), Latch(), Latch())
    source.setEventHandler {
      seen.note(source.data)
      running.open()
      go.wait()
    }
    source.activate()
    source.add(data: 1)
    #expect(running.wait())
    for _ in 0..<1000 { source.add(data: 2) }
    go.open()
    waitFor { seen.values.count == 2 }
    queue.sync {}
    #expect(seen.values == [1, 2000])
    source.cancel()
  }

  @Test("S2: a suspended source delivers one merged event when it is resumed")
  func suspension() {
    let queue = DispatchQueue(label: "source")
    let source = DispatchSource.makeUserDataOrSource(queue: queue)
    let seen = Recorder<UInt>()
    source.setEventHandler { seen.note(source.data) }
    source.activate()
    source.suspend()
    source.suspend()
    for bit in 0..<8 { source.or(data: 1 << UInt(bit)) }
    source.resume()
    queue.sync {}
    #expect(seen.values == [])
    source.resume()
    waitFor { !seen.values.isEmpty }
    queue.sync {}
    #expect(seen.values == [255])
    source.cancel()
  }

  @Test("S2: a handler never runs beside itself, even on a global queue")
  func noOverlap() {
    let source = DispatchSource.makeUserDataAddSource(queue: .global())
    let (inside, overlaps, sum) = (Counter(), Counter(), Counter())
    source.setEventHandler {
      inside.add()
      if inside.value != 1 { overlaps.add() }
      sum.add(Int(source.data))
      inside.add(-1)
    }
    source.activate()
    PlainThread.concurrently(4) { _ in for _ in 0..<5_000 { source.add(data: 1) } }
    waitFor { sum.value == 20_000 }
    #expect(overlaps.value == 0)
    source.cancel()
  }

  @Test("S4: after cancel from inside the handler no handler starts, and the cancel handler runs once")
  func cancelInside() {
    let queue = DispatchQueue(label: "source")
    let source = DispatchSource.makeUserDataAddSource(queue: queue)
    let (calls, cancelled) = (Counter(), Counter())
    source.setEventHandler {
      calls.add()
      source.add(data: 1)
      source.cancel()
      source.add(data: 1)
    }
    source.setCancelHandler { cancelled.add() }
    source.activate()
    source.add(data: 1)
    waitFor { cancelled.value > 0 }
    source.add(data: 1)
    source.cancel()
    queue.sync {}
    queue.sync {}
    #expect(calls.value == 1)
    #expect(cancelled.value == 1)
  }

  @Test("S4: the cancel handler of a source cancelled while it is suspended waits for resume")
  func cancelSuspended() {
    let queue = DispatchQueue(label: "source")
    let source = DispatchSource.makeUserDataAddSource(queue: queue)
    let (calls, cancelled) = (Counter(), Latch())
    source.setEventHandler { calls.add() }
    source.setCancelHandler { cancelled.open() }
    source.activate()
    source.suspend()
    source.add(data: 1)
    source.cancel()
    queue.sync {}
    #expect(!cancelled.isOpen)
    source.resume()
    #expect(cancelled.wait())
    #expect(calls.value == 0)
  }

  @Test("S4: a source cancelled before its activation delivers nothing but its cancel handler")
  func cancelBeforeActivation() {
    let queue = DispatchQueue(label: "source")
    let source = DispatchSource.makeUserDataAddSource(queue: queue)
    let (calls, cancelled) = (Counter(), Latch())
    source.setEventHandler { calls.add() }
    source.setRegistrationHandler { calls.add() }
    source.setCancelHandler { cancelled.open() }
    source.add(data: 1)
    source.cancel()
    source.activate()
    #expect(cancelled.wait())
    queue.sync {}
    #expect(calls.value == 0)
  }

  @Test("S4: handlers, and what they capture, are released once the source has ended")
  func release() {
    final class Witness: Sendable {
      let died: Latch
      init(_ died: Latch) { self.died = died }
      deinit { died.open() }
    }
    let died = Latch(3)
    func make() -> any DispatchSourceUserDataAdd {
      let source = DispatchSource.makeUserDataAddSource(queue: DispatchQueue(label: "source"))
      let (event, registration, cancel) = (Witness(died), Witness(died), Witness(died))
      source.setEventHandler { _ = (event, source.data) }
      source.setRegistrationHandler { _ = (registration, source.data) }
      source.setCancelHandler { _ = (cancel, source.data) }
      source.activate()
      return source
    }
    make().cancel()
    #expect(died.wait())
  }

  @Test("O3: an active source stays alive without a reference to it")
  func keepsItselfAlive() {
    let fired = Latch(3)
    func start() {
      let timer = DispatchSource.makeTimerSource(queue: .global())
      timer.schedule(deadline: .now(), repeating: .milliseconds(1))
      let count = Counter()
      timer.setEventHandler { [unowned timer] in
        fired.open()
        count.add()
        if count.value == 3 { timer.cancel() }
      }
      timer.activate()
    }
    start()
    #expect(fired.wait())
  }

  @Test("S5: the registration handler runs once, before the first event handler")
  func registration() {
    let queue = DispatchQueue(label: "source")
    let source = DispatchSource.makeUserDataAddSource(queue: queue)
    let seen = Recorder<String>()
    source.setRegistrationHandler { seen.note("registered") }
    source.setEventHandler { seen.note("event") }
    source.add(data: 1)
    source.activate()
    source.activate()
    waitFor { seen.values.count == 2 }
    queue.sync {}
    #expect(seen.values == ["registered", "event"])
    source.cancel()
  }

  @Test("S5: a registration handler that is set when the source is registered runs at once, or after the resume")
  func lateRegistration() {
    let queue = DispatchQueue(label: "source")
    let source = DispatchSource.makeUserDataAddSource(queue: queue)
    let seen = Recorder<String>()
    let registered = Latch()
    source.setRegistrationHandler { registered.open() }
    source.setEventHandler { seen.note("event") }
    source.activate()
    #expect(registered.wait())
    source.setRegistrationHandler { seen.note("late") }
    waitFor { seen.values == ["late"] }
    source.suspend()
    source.add(data: 1)
    source.setRegistrationHandler { seen.note("later") }
    queue.sync {}
    #expect(seen.values == ["late"])
    source.resume()
    waitFor { seen.values.count == 3 }
    #expect(seen.values == ["late", "later", "event"])
    let ended = Latch()
    source.setCancelHandler { ended.open() }
    source.cancel()
    source.setRegistrationHandler { seen.note("too late") }
    #expect(ended.wait())
    queue.sync {}
    #expect(seen.values.count == 3)
  }

  @Test("S15: add wraps as unsigned, or gathers bits, replace keeps the newest, and 0 does nothing")
  func userData() {
    let queue = DispatchQueue(label: "source")
    let add = DispatchSource.makeUserDataAddSource(queue: queue)
    let or = DispatchSource.makeUserDataOrSource(queue: queue)
    let replace = DispatchSource.makeUserDataReplaceSource(queue: queue)
    let seen = Recorder<UInt>()
    add.setEventHandler { seen.note(add.data) }
    or.setEventHandler { seen.note(or.data) }
    replace.setEventHandler { seen.note(replace.data) }
    add.add(data: .max)
    add.add(data: 6)
    add.activate()
    waitFor { seen.values.count == 1 }
    or.or(data: 5)
    or.or(data: 10)
    or.activate()
    waitFor { seen.values.count == 2 }
    replace.replace(data: 1)
    replace.replace(data: 9)
    replace.activate()
    waitFor { seen.values.count == 3 }
    add.add(data: 0)
    or.or(data: 0)
    replace.replace(data: 0)
    queue.sync {}
    #expect(seen.values == [5, 15, 9])
    replace.suspend()
    replace.replace(data: 7)
    replace.replace(data: 0)
    replace.resume()
    queue.sync {}
    #expect(seen.values == [5, 15, 9], "what was pending is replaced by nothing")
    for source in [add, or, replace] as [any DispatchSourceProtocol] { source.cancel() }
  }

  @Test("O2: the finalizer gets the context once, on the target, after the last reference has gone")
  func finalizer() {
    let noted = Finalized()
    let target = DispatchQueue(label: "finalizers")
    target.setSpecific(key: Finalized.onTarget, value: true)
    func make(_ object: DispatchObject, context: Bool) {
      #expect(object.context == nil)
      if context { object.context = Unmanaged.passRetained(noted).toOpaque() }
      object.setFinalizer { raw in
        let noted = Unmanaged<Finalized>.fromOpaque(raw!).takeRetainedValue()
        noted.calls.note(DispatchQueue.getSpecific(key: Finalized.onTarget) ?? false)
      }
      #expect((object.context != nil) == context)
    }
    let source = { DispatchSource.makeUserDataAddSource(queue: target) as! DispatchSource }
    make(DispatchQueue(label: "queue", target: target), context: true)
    make(DispatchQueue(label: "no context", target: target), context: false)
    do {
      let source = source()
      make(source, context: true)
      source.activate()
      #expect(noted.calls.count <= 1)
      source.cancel()
    }
    make(source(), context: false)
    waitFor { noted.calls.count == 2 }
    #expect(noted.calls.values == [true, true])
    make(DispatchGroup(), context: true)
    make(DispatchSemaphore(value: 0), context: true)
    waitFor { noted.calls.count == 4 }
    target.sync {}
    #expect(noted.calls.values == [true, true, false, false])
    let group = DispatchGroup()
    group.setTarget(queue: target)
    make(group, context: true)
    let ends = Ends.pipe()
    for isClosed in [false, true] {
      let channel = DispatchIO(type: .stream, fileDescriptor: ends.reading, queue: target) { _ in noted.calls.note(true)
      }
      channel.setTarget(queue: target)
      make(channel, context: true)
      if isClosed { channel.close() }
    }
    _ = consume group
    waitFor { noted.calls.count == 9 }
    #expect(noted.calls.values[4...] == [true, true, true, true, true])
    ends.close()
  }
}

private final class Finalized: Sendable {
  static let onTarget = DispatchSpecificKey<Bool>()
  let calls = Recorder<Bool>()
}
