// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

@testable import GrandCentral

@Suite("Sources as sequences", .timeLimit(.minutes(30)))
struct SourceEventsTests {
  @Test("X2: a timer fires again and again, until the loop is left")
  func timer() async {
    let start = DispatchTime.now()
    var fires: UInt = 0
    for await count in DispatchSource.timer(every: .milliseconds(2)) {
      fires += count
      if fires >= 5 { break }
    }
    #expect(DispatchTime.now() >= start + .milliseconds(10))
  }

  @Test("X2: fires that nobody has taken are merged, not kept")
  func merging() async {
    let iterator = DispatchSource.timer(every: .milliseconds(1)).makeAsyncIterator()
    var fires = await iterator.next() ?? 0
    usleep(30_000)
    // At most one event came before the source was suspended, with what had fired by then. All the rest comes at once.
    for _ in 0..<2 { fires += await iterator.next() ?? 0 }
    #expect(fires >= 25)
  }

  @Test("X2: a read event for what is there, again while it is there, and at the end")
  func reads() async throws {
    let ends = try #require(Kernel.closeOnExecPipe())
    #expect(write(ends.writeEnd, "hello", 5) == 5)
    var (text, events) = ("", 0)
    for await bytes in DispatchSource.reads(ends.readEnd) {
      #expect(bytes >= 1)
      events += 1
      var byte: UInt8 = 0
      if read(ends.readEnd, &byte, 1) == 0 { break }
      text.unicodeScalars.append(Unicode.Scalar(byte))
      if text == "hello" { close(ends.writeEnd) }
    }
    close(ends.readEnd)
    #expect(text == "hello")
    #expect(events == 6)
  }

  @Test("X2: a write event while there is room")
  func writes() async throws {
    let ends = try #require(Kernel.closeOnExecPipe())
    for await room in DispatchSource.writes(ends.writeEnd) {
      #expect(room >= 1)
      break
    }
    close(ends.readEnd)
    close(ends.writeEnd)
  }

  @Test("X2: cancelling the task ends a silent loop at once")
  func cancellation() async throws {
    let ends = try #require(Kernel.closeOnExecPipe())
    let started = Latch()
    let task = Task {
      var events = 0
      let sequence = DispatchSource.reads(ends.readEnd)
      let iterator = sequence.makeAsyncIterator()
      started.open()
      while await iterator.next() != nil { events += 1 }
      return events
    }
    await Task.yield()
    task.cancel()
    #expect(await task.value == 0)
    close(ends.readEnd)
    close(ends.writeEnd)
  }

  @Test("X2: a loop that is left releases its source, and the descriptor may be closed and used again")
  func reuse() async throws {
    for _ in 0..<50 {
      let ends = try #require(Kernel.closeOnExecPipe())
      #expect(write(ends.writeEnd, "x", 1) == 1)
      for await _ in DispatchSource.reads(ends.readEnd) { break }
      close(ends.readEnd)
      close(ends.writeEnd)
    }
  }

  @Test("X2: a signal's deliveries are counted, also those that come during the body")
  func signals() async {
    let loop = DispatchSource.signals(SIGUSR2).makeAsyncIterator()
    // The handler is in place once the process survives the signal.
    kill(getpid(), SIGUSR2)
    #expect(await loop.next() == 1)
    kill(getpid(), SIGUSR2)
    #expect(await loop.next() == 1)
  }

  @Test("X2: file system events of a path")
  func fileSystem() async throws {
    let path = "/tmp/gc-events-\(getpid())"
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    try #require(file >= 0)
    defer { close(file) }
    var seen: DispatchSource.FileSystemEvent = []
    let loop = DispatchSource.fileSystemEvents(at: path, mask: [.write, .delete]).makeAsyncIterator()
    #expect(write(file, "x", 1) == 1)
    while !seen.contains(.write) { seen.formUnion(try #require(await loop.next())) }
    unlink(path)
    while !seen.contains(.delete) { seen.formUnion(try #require(await loop.next())) }
  }

  @Test("X2: a path that is not there ends the loop at once")
  func noFile() async {
    for await _ in DispatchSource.fileSystemEvents(at: "/nowhere/at/all") { Issue.record("an event") }
  }

  @Test("X2: watching a FIFO by its path waits for nobody")
  func fifo() async throws {
    let path = "/tmp/gc-fifo-\(getpid())-\(monotonicNanoseconds())"
    try #require(mkfifo(path, 0o600) == 0)
    defer { unlink(path) }
    let (began, blocked) = (Latch(), Latch())
    let toucher = PlainThread {
      if !began.wait() {
        // Ends the wait of the loop that opens the other end.
        blocked.open()
        close(open(path, O_RDWR | O_CLOEXEC))
        began.wait()
      }
      chmod(path, 0o640)
    }
    let iterator = DispatchSource.fileSystemEvents(at: path, mask: [.attrib]).makeAsyncIterator()
    began.open()
    #expect(await iterator.next() == .attrib)
    toucher.join()
    #expect(!blocked.isOpen)
  }

  @Test("X2: a loop that is left while an event is delivered ends its source")
  func deliveryWhileEnding() {
    // In each round the loop's end and the first event meet a little differently.
    let count = Kernel.isSanitized ? 4_000 : 40_000
    let (ended, queue) = (Latch(count), DispatchQueue(label: "source"))
    for round in 0..<count {
      let mailbox = EventMailbox<UInt>()
      let source = DispatchSource.makeUserDataAddSource(queue: queue)
      let attached = mailbox.attach(source) {
        source.data
      } cleanUp: {
        ended.open()
      }
      attached.activate()
      source.add(data: 1)
      for _ in 0..<round % 64 { Thread.pause() }
      mailbox.cancel(attached)
    }
    #expect(ended.wait())
  }

  @Test("X2: the end of a process is one event, the last")
  func processExit() async throws {
    var child: pid_t = 0
    let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sh"), strdup("-c"), strdup("exit 7"), nil]
    defer { for argument in arguments { free(argument) } }
    try #require(posix_spawn(&child, "/bin/sh", nil, nil, arguments, environ) == 0)
    var ends: [DispatchSource.ProcessExit] = []
    for await end in DispatchSource.processExit(child) { ends.append(end) }
    #expect(ends.map(\.identifier) == [child])
    #expect(ends.first?.status == .exited(code: 7))
    var status: Int32 = 0
    #expect(waitpid(child, &status, 0) == child)
  }

  @Test("X2: memory pressure can be watched, and let go")
  func memoryPressure() async {
    let task = Task { for await _ in DispatchSource.memoryPressure(mask: .critical) {} }
    task.cancel()
    await task.value
  }

  @Test("X2: two loops over one sequence have a source each")
  func twoLoops() async {
    let ticks = DispatchSource.timer(every: .milliseconds(1))
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          var count = 0
          for await _ in ticks {
            count += 1
            if count == 3 { break }
          }
        }
      }
    }
  }

  @Test("X2: events, loops that end and cancellations that race")
  func races() async {
    await withTaskGroup(of: Void.self) { group in
      for round in 0..<100 {
        let loop = Task {
          var count = 0
          for await _ in DispatchSource.timer(every: .microseconds(50 + round)) {
            count += 1
            if count == round % 5 + 1 { break }
          }
        }
        group.addTask {
          if round % 2 == 0 { loop.cancel() }
          await loop.value
        }
      }
    }
  }
}
