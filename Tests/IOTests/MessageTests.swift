// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral
import Testing

/// A C macro that Swift does not see.
#if arch(arm64)
  private let directFlag: Int32 = 0o200000
#else
  private let directFlag: Int32 = 0o40000
#endif

/// What keeps message boundaries: a message that is read with too little room loses its end.
@Suite("Messages")
struct MessageTests {
  enum Kind: CaseIterable {
    case datagrams, packets
    /// A pipe as pipe2 makes it with O_DIRECT: the writing end alone has the flag.
    case pipe
    /// Both ends have it.
    case knownPipe

    var isPipe: Bool { self == .pipe || self == .knownPipe }

    /// Bytes of a message. The size of a channel's buffer is no multiple of it.
    var size: Int { isPipe ? 4000 : 60_000 }

    /// Two connected descriptors that block.
    func open() -> Ends {
      if isPipe {
        let ends = Ends.pipe()
        for end in self == .pipe ? [ends.writing] : [ends.reading, ends.writing] {
          precondition(fcntl(end, F_SETFL, flags(end) | directFlag) == 0, "O_DIRECT: \(errno)")
        }
        return ends
      }
      var ends: [Int32] = [0, 0]
      let type = self == .datagrams ? SOCK_DGRAM : SOCK_SEQPACKET
      precondition(
        socketpair(AF_UNIX, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0, "socketpair: \(errno)")
      return Ends(reading: ends[0], writing: ends[1])
    }

    /// Says that nothing more comes: two sockets without a connection have no other end than a message that is empty.
    func end(_ ends: Ends) {
      if self == .datagrams {
        var nothing: UInt8 = 0
        let sent = send(ends.writing, &nothing, 0, 0)
        #expect(sent == 0)
      }
      close(ends.writing)
    }
  }

  /// Bytes that a channel reads ahead, at least, while a handler is out.
  private static let ahead = 256 << 10

  /// Whether `descriptor` has something to read.
  private func isReadable(_ descriptor: Int32) -> Bool {
    var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&state, 1, 0) == 1
  }

  /// Sends a message; the bytes of each are its own.
  private func sendMessage(_ number: Int, _ kind: Kind, _ ends: Ends) {
    let message = pattern(kind.size, from: number * kind.size)
    #expect(write(ends.writing, message, kind.size) == kind.size)
  }

  /// Whether `bytes` are the first `count` messages; they are too many to be printed.
  private func expectMessages(
    _ bytes: [UInt8], _ count: Int, _ kind: Kind, _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(bytes.count == count * kind.size, sourceLocation: location)
    let areEqual = bytes == pattern(count * kind.size)
    #expect(areEqual, sourceLocation: location)
  }

  @Test("I2: messages that come while the handler is out arrive whole", arguments: Kind.allCases)
  func heldBack(_ kind: Kind) {
    let ends = kind.open()
    let channel = DispatchIO.stream(ends.reading)
    let (inside, go, calls) = (Latch(), Latch(), Calls())
    channel.read(offset: 0, length: .max, queue: .global()) { done, data, error in
      if calls.count == 0 {
        inside.open()
        go.wait()
      }
      calls.handler(done, data, error)
    }
    sendMessage(0, kind, ends)
    #expect(inside.wait())
    // The last one of these begins where the first buffer has less room than it needs.
    let count = 1 + Self.ahead / kind.size + 1
    for number in 1..<count { sendMessage(number, kind, ends) }
    waitFor { !isReadable(ends.reading) }
    go.open()
    for number in count..<2 * count { sendMessage(number, kind, ends) }
    kind.end(ends)
    #expect(calls.end()?.error == 0)
    expectMessages(calls.bytes, 2 * count, kind)
  }

  @Test(
    "I2: a message that goes beyond the high water mark with what was gathered is whole",
    arguments: [Kind.datagrams, .packets, .knownPipe])
  func marks(_ kind: Kind) {
    let ends = kind.open()
    let channel = DispatchIO.stream(ends.reading)
    let mark = kind.size * 3 / 2
    channel.setLimit(lowWater: mark)
    channel.setLimit(highWater: mark)
    let calls = channel.read()
    for number in 0..<5 { sendMessage(number, kind, ends) }
    kind.end(ends)
    #expect(calls.end()?.error == 0)
    expectMessages(calls.bytes, 5, kind)
    #expect(calls.all.allSatisfy { $0.bytes.map { $0.count <= mark } ?? true })
  }

  @Test("I2: messages below the low water mark come in one call, also beyond one buffer", arguments: Kind.allCases)
  func together(_ kind: Kind) {
    let ends = kind.open()
    let channel = DispatchIO.stream(ends.reading)
    let count = Self.ahead / kind.size + 2
    channel.setLimit(lowWater: count * kind.size)
    let calls = channel.read()
    for number in 0..<count { sendMessage(number, kind, ends) }
    waitFor { !isReadable(ends.reading) }
    kind.end(ends)
    #expect(calls.end()?.error == 0)
    #expect(calls.count == 2 && calls.all.first?.done == false)
    expectMessages(calls.all.first?.bytes ?? [], count, kind)
  }

  @Test("I2: a channel of inotify goes on, however many events come while the handler is out")
  func inotify() throws {
    let folder = temporaryName()
    #expect(mkdir(folder, 0o700) == 0)
    let folderDescriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    let watcher = gc_inotify_create()
    try #require(gc_inotify_add(watcher, folderDescriptor, false, UInt32(GC_IN_CREATE | GC_IN_DELETE)) >= 0)
    // A name of 20 to 31 bytes makes an event of 48. A buffer has room for so many, and for a third of one more.
    let size = 48
    let events = 1 + Self.ahead / size + 1
    var made = 0
    func makeEvent() {
      let path = "\(folder)/" + String(repeating: "x", count: 20)
      if made % 2 == 0 {
        let file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        #expect(file >= 0)
        close(file)
      } else {
        #expect(unlink(path) == 0)
      }
      made += 1
    }
    let channel = DispatchIO.stream(watcher)
    let (inside, go, total, ended) = (Latch(), Latch(), Counter(), Latch())
    let outcome = Counter()
    channel.read(offset: 0, length: .max, queue: .global()) { done, data, error in
      if total.value == 0 {
        inside.open()
        go.wait()
      }
      total.add(data?.count ?? 0)
      if done {
        outcome.add(Int(error))
        ended.open()
      }
    }
    makeEvent()
    #expect(inside.wait())
    while made < events { makeEvent() }
    waitFor { ended.isOpen || !isReadable(watcher) }
    go.open()
    while made < 2 * events { makeEvent() }
    waitFor { ended.isOpen || total.value == 2 * events * size }
    channel.close(flags: .stop)
    #expect(ended.wait())
    #expect(outcome.value == Int(ECANCELED))
    #expect(total.value == 2 * events * size)
    if made % 2 == 1 { makeEvent() }
    close(folderDescriptor)
    #expect(rmdir(folder) == 0)
  }
}
