// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("A source of a descriptor")
struct DescriptorSourceTests {
  @Test("S8: a read source hears of data, with their number", arguments: [false, true])
  func reading(usesSocket: Bool) {
    let ends = usesSocket ? Ends.socketPair() : Ends.pipe()
    let source = DispatchSource.makeReadSource(fileDescriptor: ends.reading, queue: DispatchQueue(label: "read"))
    let (sizes, texts, closed) = (Recorder<UInt>(), Recorder<String>(), Latch())
    source.setEventHandler {
      sizes.note(source.data)
      texts.note(take(ends.reading) ?? "end")
    }
    source.setCancelHandler {
      ends.close()
      closed.open()
    }
    source.activate()
    ends.write("one")
    waitFor { texts.values == ["one"] }
    ends.write("three")
    waitFor { texts.values == ["one", "three"] }
    #expect(sizes.values == [3, 5])
    #expect(source.handle == UInt(ends.reading))
    source.cancel()
    #expect(closed.wait())
  }

  @Test("S8: a reader that leaves data is called again until it has read them")
  func levelTriggered() {
    let ends = Ends.pipe()
    let source = DispatchSource.makeReadSource(fileDescriptor: ends.reading, queue: .global())
    let (letters, closed) = (Recorder<String>(), Latch())
    source.setEventHandler { letters.note(take(ends.reading, 1) ?? "end") }
    source.setCancelHandler {
      ends.close()
      closed.open()
    }
    ends.write("abcdefgh")
    source.activate()
    waitFor { letters.count == 8 }
    #expect(letters.values.joined() == "abcdefgh")
    source.cancel()
    #expect(closed.wait())
  }

  @Test("S8: nothing left to read is not reported, however long the handler took")
  func notSpurious() {
    let ends = Ends.pipe()
    let queue = DispatchQueue(label: "read")
    let source = DispatchSource.makeReadSource(fileDescriptor: ends.reading, queue: queue)
    let (texts, inside, go) = (Recorder<String>(), Latch(), Latch())
    source.setEventHandler {
      texts.note(take(ends.reading) ?? "end")
      inside.open()
      go.wait()
      // What came meanwhile is read here: the event that it caused is over when the handler returns.
      if texts.count == 1 { texts.note(take(ends.reading) ?? "end") }
    }
    source.activate()
    ends.write("one")
    #expect(inside.wait())
    ends.write("two")
    // Another thread polls, and sees the second write: another source's event proves it.
    let other = Ends.pipe()
    let seen = Latch()
    let watcher = DispatchSource.makeReadSource(fileDescriptor: other.reading, queue: .global())
    watcher.setEventHandler {
      _ = take(other.reading)
      seen.open()
    }
    watcher.activate()
    other.write("x")
    #expect(seen.wait())
    go.open()
    waitFor { texts.count >= 2 }
    ends.write("three")
    waitFor { texts.values.last == "three" }
    #expect(texts.values == ["one", "two", "three"])
    watcher.cancel()
    source.cancel()
  }

  @Test("S8: the end of the data is an event, and stays one")
  func endOfFile() {
    let ends = Ends.pipe()
    let source = DispatchSource.makeReadSource(fileDescriptor: ends.reading, queue: .global())
    let (ended, sizes) = (Latch(3), Recorder<UInt>())
    source.setEventHandler {
      sizes.note(source.data)
      if take(ends.reading) == nil { ended.open() }
    }
    let cancelled = Latch()
    source.setCancelHandler {
      close(ends.reading)
      cancelled.open()
    }
    source.activate()
    close(ends.writing)
    #expect(ended.wait())
    source.cancel()
    #expect(cancelled.wait())
    #expect(sizes.values.allSatisfy { $0 >= 1 })
  }

  @Test("S8: a listening socket reports a connection")
  func listening() {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        #expect(bind(listener, $0, length) == 0)
        #expect(listen(listener, 8) == 0)
        #expect(getsockname(listener, $0, &length) == 0)
      }
    }
    let source = DispatchSource.makeReadSource(fileDescriptor: listener, queue: .global())
    let (accepted, sizes) = (Latch(), Recorder<UInt>())
    source.setEventHandler {
      sizes.note(source.data)
      close(accept(listener, nil, nil))
      accepted.open()
    }
    source.activate()
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { #expect(connect(client, $0, length) == 0) }
    }
    #expect(accepted.wait())
    #expect(sizes.values.allSatisfy { $0 >= 1 })
    close(client)
    cancelAndClose(source, [listener])
  }

  @Test("S8: eventfds, pseudo terminals and regular files can be read from")
  func otherKinds() {
    let event = gc_eventfd()
    var three: UInt64 = 3
    #expect(write(event, &three, 8) == 8)
    expectEvent(DispatchSource.makeReadSource(fileDescriptor: event, queue: .global()), closing: [event])

    let (terminal, user) = Kernel.openTerminal()
    #expect(write(user, "line\n", 5) == 5)
    expectEvent(DispatchSource.makeReadSource(fileDescriptor: terminal, queue: .global()), closing: [terminal, user])

    let file = open("/proc/self/exe", O_RDONLY)
    expectEvent(DispatchSource.makeReadSource(fileDescriptor: file, queue: .global()), closing: [file])
  }

  private func expectEvent(_ source: any DispatchSourceRead, closing descriptors: [Int32]) {
    let (called, sizes) = (Latch(2), Recorder<UInt>())
    source.setEventHandler {
      sizes.note(source.data)
      called.open()
    }
    source.activate()
    #expect(called.wait())
    #expect(sizes.values.allSatisfy { $0 >= 1 })
    cancelAndClose(source, descriptors)
  }

  private func cancelAndClose(_ source: any DispatchSourceProtocol, _ descriptors: [Int32]) {
    let closed = Latch()
    source.setCancelHandler {
      for descriptor in descriptors { close(descriptor) }
      closed.open()
    }
    source.cancel()
    #expect(closed.wait())
  }

  @Test("S9: a write source fires while there is room, and not without")
  func writing() {
    let ends = Ends.socketPair()
    let source = DispatchSource.makeWriteSource(fileDescriptor: ends.writing, queue: .global())
    let (written, full) = (Counter(), Latch())
    let block = [UInt8](repeating: 7, count: 65536)
    source.setEventHandler {
      let count = write(ends.writing, block, block.count)
      if count > 0 { written.add(count) } else { full.open() }
      var room = pollfd(fd: ends.writing, events: Int16(POLLOUT), revents: 0)
      if poll(&room, 1, 0) == 0 { full.open() }
    }
    source.activate()
    #expect(full.wait())
    let before = written.value
    #expect(before > 0)
    while take(ends.reading)?.isEmpty == false {}
    waitFor { written.value > before }
    cancelAndClose(source, [ends.reading, ends.writing])
  }

  @Test("S9: a peer that is gone counts as room, so that the write finds out")
  func brokenPipe() async {
    // Elsewhere the signal would be ignored for all other tests, and for the programs that they start.
    await #expect(processExitsWith: .success) {
      let ends = Ends.pipe()
      signal(SIGPIPE, SIG_IGN)
      let block = [UInt8](repeating: 7, count: 65536)
      while write(ends.writing, block, block.count) > 0 {}
      let source = DispatchSource.makeWriteSource(fileDescriptor: ends.writing, queue: .global())
      let (broken, room, closed) = (Latch(), Recorder<UInt>(), Latch())
      source.setEventHandler {
        room.note(source.data)
        if write(ends.writing, block, block.count) < 0, errno == EPIPE { broken.open() }
      }
      source.setCancelHandler {
        close(ends.writing)
        closed.open()
      }
      source.activate()
      close(ends.reading)
      #expect(broken.wait())
      #expect(room.values.allSatisfy { $0 >= 1 })
      source.cancel()
      #expect(closed.wait())
    }
  }

  @Test("S10: several sources of one descriptor all hear of it")
  func severalSources() {
    let ends = Ends.socketPair()
    let (first, second, room) = (Latch(), Latch(), Latch())
    let readers = [first, second].map { latch in
      let source = DispatchSource.makeReadSource(fileDescriptor: ends.reading, queue: .global())
      source.setEventHandler { latch.open() }
      source.activate()
      return source
    }
    let writer = DispatchSource.makeWriteSource(fileDescriptor: ends.reading, queue: .global())
    writer.setEventHandler { room.open() }
    writer.activate()
    #expect(room.wait())
    #expect(!first.isOpen)
    ends.write("x")
    #expect(first.wait() && second.wait())
    for source in readers { source.cancel() }
    cancelAndClose(writer, [ends.reading, ends.writing])
  }

  @Test("S10: a descriptor used again belongs to its new source; the old one is reported and cancelled")
  func reused() {
    let old = Ends.pipe()
    let (oldEvents, oldCancelled) = (Counter(), Latch())
    let stale = DispatchSource.makeReadSource(fileDescriptor: old.reading, queue: .global())
    stale.setEventHandler { oldEvents.add() }
    stale.setCancelHandler { oldCancelled.open() }
    let registered = Latch()
    stale.setRegistrationHandler { registered.open() }
    stale.activate()
    #expect(registered.wait())
    let new = Ends.pipe()
    #expect(dup2(new.reading, old.reading) == old.reading)

    let fresh = DispatchSource.makeReadSource(fileDescriptor: old.reading, queue: .global())
    let texts = Recorder<String>()
    fresh.setEventHandler { texts.note(take(old.reading) ?? "end") }
    fresh.activate()
    new.write("new")
    waitFor { texts.values == ["new"] }
    #expect(oldCancelled.wait())
    #expect(oldEvents.value == 0)
    cancelAndClose(fresh, [old.reading, old.writing, new.reading, new.writing])
  }

  /// In a process of its own, at a number that no other file gets meanwhile: one there would be ready in the closed one's place.
  @Test(
    "S10: a descriptor that is closed while an event is on its way is not reported as ready; the source is cancelled")
  func closedUnderPendingEvent() async {
    await #expect(processExitsWith: .success) {
      let ends = Ends.pipe()
      let reading = fcntl(ends.reading, F_DUPFD_CLOEXEC, 200)
      #expect(reading >= 200)
      close(ends.reading)
      let (heard, stopped) = (Latch(), Latch())
      let other = DispatchSource.makeReadSource(fileDescriptor: reading, queue: .global())
      other.setEventHandler { heard.open() }
      other.setCancelHandler { stopped.open() }
      other.activate()
      let (events, cancelled) = (Counter(), Latch())
      let source = DispatchSource.makeReadSource(fileDescriptor: reading, queue: DispatchQueue(label: "pending"))
      source.setEventHandler { events.add() }
      source.setRegistrationHandler {
        // The event is told to the newest source first, and waits behind this handler.
        ends.write("pending")
        #expect(heard.wait())
        other.cancel()
        #expect(stopped.wait())
        close(reading)
      }
      source.setCancelHandler { cancelled.open() }
      source.activate()
      #expect(cancelled.wait())
      #expect(events.value == 0)
    }
  }

  @Test("S10: what a duplicate keeps open behind a closed number delivers nothing, and does not spin")
  func duplicateKeepsOpen() {
    let old = Ends.pipe()
    let duplicate = dup(old.reading)
    let (events, cancelled, registered) = (Counter(), Latch(), Latch())
    let source = DispatchSource.makeReadSource(fileDescriptor: old.reading, queue: .global())
    source.setEventHandler { events.add() }
    source.setRegistrationHandler { registered.open() }
    source.setCancelHandler { cancelled.open() }
    source.activate()
    #expect(registered.wait())
    close(old.reading)
    source.cancel()
    #expect(cancelled.wait())
    old.write("nobody's")
    // A registration is left behind that no source watches. Other sources go on to work.
    for round in 0..<3 {
      let ends = Ends.pipe()
      let texts = Recorder<String>()
      let other = DispatchSource.makeReadSource(fileDescriptor: ends.reading, queue: .global())
      other.setEventHandler { texts.note(take(ends.reading) ?? "end") }
      other.activate()
      ends.write("\(round)")
      waitFor { texts.values == ["\(round)"] }
      cancelAndClose(other, [ends.reading, ends.writing])
    }
    #expect(events.value == 0)
    close(duplicate)
    close(old.writing)
  }

  @Test("S10: a source whose descriptor was closed, while a duplicate keeps the file open, falls silent soon")
  func duplicateUnderLiveSource() {
    let probe = Probe.run("descriptors-closed-duplicate")
    #expect(probe.ended, "\(probe)")
    #expect((probe.number("calls") ?? .max) <= 500, "\(probe)")
  }

  @Test("S1: a program without standard streams may open them later: none of ours has their numbers")
  func standardStreamsClosed() {
    let probe = Probe.run("standard-streams-closed")
    #expect(probe.ended && probe.number("used") == 2, "\(probe)")
  }

  @Test("S10: a descriptor closed under its sources is reported, unless the program cancels them all the same")
  func closedDescriptor() {
    let silent = Probe.run("descriptors-closed-cancelled")
    #expect(silent.ended, "\(silent)")
    #expect(silent.errors == "", "\(silent)")
    let reported = Probe.run("descriptors-closed")
    #expect(reported.ended, "\(reported)")
    #expect(reported.errors.contains("was closed while a write source watched it"), "\(reported)")
  }

  @Test("S1: a source of no descriptor is reported, and ends with its cancel handler")
  func badDescriptor() {
    for descriptor in [-1, 1_000_000] as [Int32] {
      let cancelled = Latch()
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
      source.setEventHandler { Issue.record("an event of descriptor \(descriptor)") }
      source.setCancelHandler { cancelled.open() }
      source.activate()
      #expect(cancelled.wait())
      #expect(source.isCancelled)
    }
  }
}
