// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("A channel that writes")
struct WriteTests {
  @Test("I3: everything arrives, however little the pipe holds", arguments: [false, true])
  func complete(usesSocket: Bool) {
    let ends = usesSocket ? Ends.socketPair() : Ends.pipe()
    let bytes = pattern(1_000_003)
    let cleanup = Cleanup(closing: [ends.writing])
    let channel = DispatchIO.stream(ends.writing, cleanup)
    let calls = channel.write(data(bytes))
    channel.close()
    #expect(drain(ends.reading) == bytes)
    #expect(calls.end() == Call(true, nil as String?))
    #expect(calls.count == 1)
    #expect(cleanup.error() == 0)
    close(ends.reading)
  }

  @Test("I3: data of many regions are written in order", arguments: ["/tmp", "/dev/shm"])
  func regions(folder: String) {
    let file = temporaryFile(in: folder)
    var (all, expected) = (DispatchData.empty, [UInt8]())
    for index in 0..<100 {
      let piece = pattern(1 + index * 37 % 5000, from: index)
      all.append(data(piece))
      expected += piece
    }
    let cleanup = Cleanup()
    let channel = DispatchIO.stream(file, cleanup)
    #expect(channel.write(all).end() == Call(true, nil as String?))
    #expect(channel.write(.empty).end() == Call(true, nil as String?))
    channel.close()
    #expect(cleanup.error() == 0)
    lseek(file, 0, SEEK_SET)
    #expect(drain(file) == expected)
    close(file)
  }

  @Test(
    "I3: progress is told at each high water mark, with what is left, also by a handler that is still out at the next one",
    arguments: ["file", "pipe", "socket"], [true, false])
  func progress(kind: String, handlerWaits: Bool) {
    let ends = kind == "pipe" ? Ends.pipe() : Ends.socketPair()
    let target = kind == "file" ? temporaryFile() : ends.writing
    let bytes = pattern(350_000)
    let cleanup = Cleanup()
    let channel = DispatchIO.stream(target, cleanup)
    channel.setLimit(highWater: 100_000)
    let (queue, drained) = (DispatchQueue(label: "progress"), Latch())
    let reader = PlainThread {
      if kind == "file" || drain(ends.reading, bytes.count) == bytes { drained.open() }
    }
    // The queue is held until everything is written.
    if handlerWaits { queue.suspend() }
    let calls = channel.write(data(bytes), on: queue)
    if handlerWaits {
      if kind == "file" {
        waitFor { lseek(target, 0, SEEK_CUR) == bytes.count }
      } else {
        #expect(drained.wait())
      }
      queue.resume()
    }
    #expect(calls.end() == Call(true, nil as String?))
    let rests = calls.all.dropLast().map { $0.bytes! }
    #expect(rests.map(\.count) == [250_000, 150_000, 50_000])
    #expect(rests.allSatisfy { $0 == Array(bytes.suffix($0.count)) })
    channel.close()
    #expect(cleanup.error() == 0)
    #expect(drained.wait())
    reader.join()
    if kind == "file" { close(target) }
    for end in [ends.reading, ends.writing] { close(end) }
  }

  @Test("I3, I5: a write that is stopped tells what has not arrived")
  func stopped() {
    let ends = Ends.pipe()
    let bytes = pattern(1_000_000)
    let channel = DispatchIO.stream(ends.writing)
    let (calls, behind) = (channel.write(data(bytes)), channel.write(data("behind")))
    // The kernel gives a user with many pipes small ones.
    let capacity = fcntl(ends.reading, 1032)  // F_GETPIPE_SZ
    var full = 0
    waitFor { ioctl(ends.reading, UInt(FIONREAD), &full) == 0 && Int32(truncatingIfNeeded: full) >= capacity }
    channel.close(flags: .stop)
    let last = calls.end()
    #expect(last?.error == ECANCELED)
    #expect(behind.end() == Call(true, "behind", ECANCELED))
    let arrived = drain(ends.reading)
    #expect(arrived + (last?.bytes ?? []) == bytes)
    close(ends.reading)
  }

  @Test("I7: a pipe or socket that nobody reads gives EPIPE, and no signal", arguments: [false, true])
  func brokenPipe(usesSocket: Bool) {
    let ends = usesSocket ? Ends.socketPair() : Ends.pipe()
    close(ends.reading)
    // A child that another test has just started has the end as well, until it becomes its program.
    #expect(Kernel.waitForHangUp(ends.writing))
    // The signal's default would end the process.
    #expect(DispatchIO.stream(ends.writing).write(data("text")).end() == Call(true, "text", EPIPE))
  }

  @Test("I7: a peer that closes in the middle of a write ends it", arguments: [false, true])
  func closedInTheMiddle(usesSocket: Bool) {
    let ends = usesSocket ? Ends.socketPair() : Ends.pipe()
    let channel = DispatchIO.stream(ends.writing)
    let bytes = pattern(3_000_000)
    let calls = channel.write(data(bytes))
    let arrived = drain(ends.reading, 500_000)
    #expect(arrived.count == 500_000)
    close(ends.reading)
    let last = calls.end()
    #expect(last?.error == EPIPE || last?.error == ECONNRESET)
    let rest = last?.bytes ?? []
    #expect(!rest.isEmpty && rest == Array(bytes.suffix(rest.count)))
    #expect(rest.count <= bytes.count - arrived.count)
  }

  @Test("I7: a full device gives ENOSPC with all that is left")
  func fullDevice() {
    let device = open("/dev/full", O_WRONLY)
    #expect(DispatchIO.stream(device).write(data("text")).end() == Call(true, "text", ENOSPC))
  }

  @Test("I7: writing what was opened for reading gives EBADF")
  func readOnly() {
    let file = open("/dev/null", O_RDONLY)
    #expect(DispatchIO.stream(file).write(data("text")).end() == Call(true, "text", EBADF))
  }
}
