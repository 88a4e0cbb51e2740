// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

/// A POSIX message queue of ten small messages, which no name leads to any more.
private struct MessageQueue: Sendable {
  typealias Open = @convention(c) (UnsafePointer<CChar>, Int32, UInt32, UnsafePointer<Int>) -> Int32
  typealias Unlink = @convention(c) (UnsafePointer<CChar>) -> Int32
  typealias Send = @convention(c) (Int32, UnsafePointer<CChar>, Int, UInt32) -> Int32
  typealias Receive = @convention(c) (Int32, UnsafeMutablePointer<CChar>, Int, UnsafeMutablePointer<UInt32>?) -> Int

  let descriptor: Int32

  /// Nil where the kernel has no message queues.
  init?() {
    let open = unsafeBitCast(dlsym(nil, "mq_open"), to: Open.self)
    let unlink = unsafeBitCast(dlsym(nil, "mq_unlink"), to: Unlink.self)
    let name = "/gc-test-\(getpid())-\(monotonicNanoseconds())"
    // Flags, messages, bytes of each; the rest is the kernel's.
    let attributes = [0, 10, 64, 0, 0, 0, 0, 0]
    let opened = open(name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK | O_CLOEXEC, 0o600, attributes)
    guard opened >= 0 else { return nil }
    _ = unlink(name)
    descriptor = opened
  }

  func send(_ text: String) {
    let send = unsafeBitCast(dlsym(nil, "mq_send"), to: Send.self)
    let sent = text.withCString { send(descriptor, $0, text.utf8.count, 0) }
    #expect(sent == 0)
  }

  /// The oldest message; nil without one.
  func receive() -> String? {
    let receive = unsafeBitCast(dlsym(nil, "mq_receive"), to: Receive.self)
    var buffer = [CChar](repeating: 0, count: 64)
    let count = receive(descriptor, &buffer, buffer.count, nil)
    return count < 0 ? nil : String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  static let isAvailable = MessageQueue().map { Glibc.close($0.descriptor) == 0 } ?? false
}

@Suite("A source of a message queue", .enabled(if: MessageQueue.isAvailable, "the kernel has no message queues"))
struct MessageQueueSourceTests {
  @Test("S14: fires for a message, and again for the next")
  func messages() throws {
    let messages = try #require(MessageQueue())
    let source = DispatchSource.makeMachReceiveSource(
      port: mach_port_t(messages.descriptor), queue: DispatchQueue(label: "messages"))
    let (seen, closed) = (Recorder<String>(), Latch())
    source.setEventHandler { while let message = messages.receive() { seen.note(message) } }
    source.setCancelHandler {
      close(messages.descriptor)
      closed.open()
    }
    source.activate()
    let port: mach_port_t = source.handle
    #expect(port == mach_port_t(messages.descriptor))
    messages.send("one")
    waitFor { seen.values == ["one"] }
    messages.send("two")
    messages.send("three")
    waitFor { seen.values == ["one", "two", "three"] }
    source.cancel()
    #expect(closed.wait())
  }

  @Test("S14: fires again as long as messages are left in the queue")
  func levelTriggered() throws {
    let messages = try #require(MessageQueue())
    for number in 1...5 { messages.send("\(number)") }
    let source = DispatchSource.makeMachReceiveSource(port: mach_port_t(messages.descriptor))
    let (seen, closed) = (Recorder<String>(), Latch())
    source.setEventHandler { seen.note(messages.receive() ?? "none") }
    source.setCancelHandler {
      close(messages.descriptor)
      closed.open()
    }
    source.activate()
    waitFor { seen.count >= 5 }
    source.cancel()
    #expect(closed.wait())
    #expect(seen.values == ["1", "2", "3", "4", "5"])
  }

  @Test("S2: a suspended source tells of messages that are still there, once, and not of those that are gone")
  func suspended() throws {
    let messages = try #require(MessageQueue())
    let queue = DispatchQueue(label: "messages")
    let source = DispatchSource.makeMachReceiveSource(port: mach_port_t(messages.descriptor), queue: queue)
    let (seen, registered, closed) = (Recorder<Int>(), Latch(), Latch())
    source.setRegistrationHandler { registered.open() }
    source.setEventHandler {
      var count = 0
      while messages.receive() != nil { count += 1 }
      seen.note(count)
    }
    source.setCancelHandler {
      close(messages.descriptor)
      closed.open()
    }
    source.activate()
    #expect(registered.wait())
    source.suspend()
    messages.send("early")
    pollerHasLooked()
    #expect(messages.receive() == "early")
    source.resume()
    queue.sync {}
    #expect(seen.values == [])
    source.suspend()
    messages.send("one")
    messages.send("two")
    source.resume()
    waitFor { seen.values == [2] }
    source.cancel()
    #expect(closed.wait())
  }
}

/// Returns when the poller has reported what there was when it was called: another source's event proves it.
private func pollerHasLooked() {
  let other = Ends.pipe()
  let (seen, closed) = (Latch(), Latch())
  let watcher = DispatchSource.makeReadSource(fileDescriptor: other.reading, queue: .global())
  watcher.setEventHandler {
    _ = take(other.reading)
    seen.open()
  }
  watcher.setCancelHandler {
    other.close()
    closed.open()
  }
  watcher.activate()
  other.write("x")
  #expect(seen.wait())
  watcher.cancel()
  #expect(closed.wait())
}

@Suite("A source of a peer")
struct PeerSourceTests {
  /// What is watched, and how its peer goes.
  enum Line: CaseIterable, Sendable {
    case socket, shutSocket, datagrams, readingEnd, writingEnd

    func open() -> Ends {
      switch self {
      case .socket, .shutSocket: return .socketPair()
      case .readingEnd: return .pipe()
      case .writingEnd:
        let ends = Ends.pipe()
        return Ends(reading: ends.writing, writing: ends.reading)
      case .datagrams:
        var ends: [Int32] = [0, 0]
        precondition(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        return Ends(reading: ends[0], writing: ends[1])
      }
    }

    func end(_ peer: Int32) {
      if self == .shutSocket { shutdown(peer, Int32(SHUT_WR)) } else { close(peer) }
    }
  }

  @Test("S14: fires when the peer is gone, and only once", arguments: Line.allCases)
  func dead(line: Line) {
    let ends = line.open()
    let queue = DispatchQueue(label: "peer")
    let source = DispatchSource.makeMachSendSource(port: mach_port_t(ends.reading), eventMask: .dead, queue: queue)
    let (seen, registered, closed) = (Recorder<DispatchSource.MachSendEvent>(), Latch(), Latch())
    source.setRegistrationHandler { registered.open() }
    source.setEventHandler { seen.note(source.data) }
    source.setCancelHandler {
      close(ends.reading)
      closed.open()
    }
    source.activate()
    #expect(registered.wait())
    pollerHasLooked()
    queue.sync {}
    #expect(seen.values == [])
    line.end(ends.writing)
    waitFor { seen.values == [.dead] }
    // The kernel would report it for ever.
    for _ in 0..<3 { pollerHasLooked() }
    queue.sync {}
    #expect(seen.values == [.dead])
    let (port, mask): (mach_port_t, DispatchSource.MachSendEvent) = (source.handle, source.mask)
    #expect(port == mach_port_t(ends.reading) && mask == .dead)
    source.cancel()
    #expect(closed.wait())
    if line == .shutSocket { close(ends.writing) }
  }

  @Test("S14: what the peer writes is none of its events")
  func data() {
    let ends = Ends.socketPair()
    let queue = DispatchQueue(label: "peer")
    let source = DispatchSource.makeMachSendSource(port: mach_port_t(ends.reading), eventMask: .dead, queue: queue)
    let (calls, closed) = (Counter(), Latch())
    source.setEventHandler { calls.add() }
    source.setCancelHandler {
      close(ends.reading)
      closed.open()
    }
    source.activate()
    ends.write("still here")
    pollerHasLooked()
    queue.sync {}
    #expect(calls.value == 0)
    close(ends.writing)
    waitFor { calls.value == 1 }
    #expect(take(ends.reading) == "still here")
    source.cancel()
    #expect(closed.wait())
  }

  @Test("S14: a peer that is gone before the activation, or while the source is suspended, is reported")
  func early() {
    let ends = Ends.socketPair()
    let source = DispatchSource.makeMachSendSource(port: mach_port_t(ends.reading), eventMask: .dead)
    let (fired, closed) = (Latch(), Latch())
    source.setEventHandler { fired.open() }
    source.setCancelHandler {
      close(ends.reading)
      closed.open()
    }
    close(ends.writing)
    source.suspend()
    source.activate()
    pollerHasLooked()
    #expect(!fired.isOpen)
    source.resume()
    #expect(fired.wait())
    source.cancel()
    #expect(closed.wait())
  }

  @Test("S14: an empty mask fires for nothing")
  func emptyMask() {
    let ends = Ends.socketPair()
    let queue = DispatchQueue(label: "peer")
    let source = DispatchSource.makeMachSendSource(port: mach_port_t(ends.reading), eventMask: [], queue: queue)
    let (calls, closed) = (Counter(), Latch())
    source.setEventHandler { calls.add() }
    source.setCancelHandler {
      close(ends.reading)
      closed.open()
    }
    source.activate()
    close(ends.writing)
    pollerHasLooked()
    queue.sync {}
    #expect(calls.value == 0)
    source.cancel()
    #expect(closed.wait())
  }

  @Test("S14: what cannot be watched cancels the source", arguments: ["/proc/self/exe", ""])
  func refused(path: String) {
    let descriptor = path.isEmpty ? mach_port_t.max : mach_port_t(open(path, O_RDONLY | O_CLOEXEC))
    for source in [
      DispatchSource.makeMachSendSource(port: descriptor, eventMask: .dead),
      DispatchSource.makeMachReceiveSource(port: descriptor),
    ] as [any DispatchSourceProtocol] {
      let (calls, cancelled) = (Counter(), Latch())
      source.setEventHandler { calls.add() }
      source.setRegistrationHandler { calls.add() }
      source.setCancelHandler { cancelled.open() }
      source.activate()
      #expect(cancelled.wait())
      #expect(source.isCancelled && calls.value == 0)
    }
    if !path.isEmpty { close(Int32(descriptor)) }
  }
}
