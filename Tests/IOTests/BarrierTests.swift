// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("A barrier's descriptor")
struct BarrierTests {
  private func make(_ path: String, _ flags: Int32, _ cleanup: Cleanup = Cleanup()) throws -> DispatchIO {
    try #require(
      DispatchIO(
        type: .stream, path: path, oflag: flags, mode: 0o600, queue: .global(), cleanupHandler: cleanup.handler))
  }

  /// What a barrier of `channel` finds that is submitted now; the caller waits for it.
  private func ask(_ channel: DispatchIO, after go: Latch? = nil) -> Recorder<Int32> {
    let found = Recorder<Int32>()
    channel.barrier {
      if let go { #expect(go.wait()) }
      found.note(channel.fileDescriptor)
    }
    return found
  }

  @Test("I6: a barrier that was submitted before close has the descriptor, one that comes after has not")
  func closed() throws {
    let name = temporaryName()
    let (go, cleanup) = (Latch(), Cleanup())
    let channel = try make(name, O_WRONLY | O_CREAT, cleanup)
    let written = channel.write(data("text"))
    let synced = Recorder<Int32>()
    channel.barrier {
      #expect(go.wait())
      synced.note(fsync(channel.fileDescriptor))
    }
    channel.close()
    let late = ask(channel)
    #expect(channel.fileDescriptor == -1)
    go.open()
    #expect(written.end() == Call(true, nil as String?))
    #expect(cleanup.error() == 0)
    waitFor { late.count == 1 }
    #expect(synced.values == [0] && late.values == [-1])
    unlink(name)
  }

  @Test("I6: no barrier has the descriptor of a channel that is stopped")
  func stopped() {
    let ends = Ends.socketPair()
    let (go, cleanup) = (Latch(), Cleanup(closing: [ends.reading]))
    let channel = DispatchIO.stream(ends.reading, cleanup)
    let found = ask(channel, after: go)
    channel.close(flags: .stop)
    go.open()
    #expect(cleanup.error() == 0)
    #expect(found.values == [-1])
    close(ends.writing)
  }

  @Test("I6: a barrier that asks for the descriptor of a path opens it, for what comes after")
  func opens() throws {
    let name = temporaryName()
    let cleanup = Cleanup()
    let channel = try make(name, O_RDWR | O_CREAT, cleanup)
    let found = ask(channel)
    waitFor { found.count == 1 }
    #expect(found.values.first ?? -1 >= 0 && access(name, F_OK) == 0)
    #expect(channel.write(data("text")).end() == Call(true, nil as String?))
    #expect([channel.fileDescriptor] == found.values)
    channel.close()
    #expect(cleanup.error() == 0)
    // The number may be another test's by now.
    var (file, other) = (stat(), stat())
    #expect(stat(name, &file) == 0)
    #expect(fstat(found.values.first ?? -1, &other) != 0 || (file.st_dev, file.st_ino) != (other.st_dev, other.st_ino))
    unlink(name)
  }

  @Test("I6, I7: a barrier that cannot open the path has -1, and what comes after the error")
  func cannotOpen() throws {
    let name = temporaryName()
    close(open(name, O_RDWR | O_CREAT, 0o600))
    let cleanup = Cleanup()
    let channel = try make(name, O_RDONLY, cleanup)
    let examined = Latch()
    channel.barrier { examined.open() }
    #expect(examined.wait())
    unlink(name)
    let found = ask(channel)
    #expect(channel.read().end() == Call(true, nil as String?, ENOENT))
    #expect(found.values == [-1])
    channel.close()
    #expect(cleanup.error() == 0)
  }

  @Test("I6: barriers of two channels that share a path open it once")
  func share() throws {
    for _ in 0..<200 {
      let name = temporaryName()
      let (first, second) = (Cleanup(), Cleanup())
      // Opening it a second time would fail.
      let channel = try make(name, O_RDWR | O_CREAT | O_EXCL, first)
      let other = DispatchIO(type: .stream, io: channel, queue: .global(), cleanupHandler: second.handler)
      let found = [ask(channel), ask(other)]
      channel.close()
      other.close()
      #expect(first.error() == 0 && second.error() == 0)
      #expect(found[0].values == found[1].values && found[0].values.first ?? -1 >= 0)
      unlink(name)
    }
  }
}

@Suite("A barrier and the other channels of its descriptor")
struct SharedBarrierTests {
  private static func pair(_ descriptor: Int32, _ cleanups: (Cleanup, Cleanup), apart: Bool) -> (DispatchIO, DispatchIO)
  {
    let one = DispatchIO(
      type: .stream, fileDescriptor: descriptor, queue: .global(), cleanupHandler: cleanups.0.handler)
    let other =
      apart
      ? DispatchIO(type: .stream, fileDescriptor: descriptor, queue: .global(), cleanupHandler: cleanups.1.handler)
      : DispatchIO(type: .stream, io: one, queue: .global(), cleanupHandler: cleanups.1.handler)
    return (one, other)
  }

  @Test(
    "I6: it runs behind what they were told before, and ahead of what they are told after", arguments: [false, true])
  func order(apart: Bool) {
    let ends = Ends.pipe()
    let cleanups = (Cleanup(), Cleanup())
    let (one, other) = Self.pair(ends.reading, cleanups, apart: apart)
    let log = Recorder<String>()
    let (begun, go) = (Latch(), Latch())
    func read(_ name: String, _ channel: DispatchIO) -> Latch {
      let latch = Latch()
      channel.read(offset: 0, length: 3, queue: .global()) { done, _, _ in
        if done {
          log.note(name)
          latch.open()
        }
      }
      return latch
    }
    let before = read("before", one)
    other.barrier {
      log.note("barrier")
      begun.open()
      #expect(go.wait())
      log.note("its end")
    }
    let after = read("after", one)
    // It is submitted before the read behind the first one's barrier.
    one.barrier { log.note("the other's") }
    let last = read("last", other)
    ends.write("abcdefghi")
    #expect(before.wait() && begun.wait())
    #expect(log.values == ["before", "barrier"])
    go.open()
    #expect(after.wait() && last.wait())
    #expect(log.values == ["before", "barrier", "its end", "after", "the other's", "last"])
    one.close()
    other.close()
    #expect(cleanups.0.error() == 0 && cleanups.1.error() == 0)
    close(ends.reading)
    close(ends.writing)
  }

  @Test("I5, I6: a channel is stopped though another one's barrier holds its operations up")
  func stopped() {
    let ends = Ends.pipe()
    let cleanups = (Cleanup(), Cleanup())
    let (one, other) = Self.pair(ends.reading, cleanups, apart: false)
    let (begun, go) = (Latch(), Latch())
    other.barrier {
      begun.open()
      #expect(go.wait())
    }
    #expect(begun.wait())
    let held = (0..<3).map { _ in one.read(3) }
    let ran = Latch()
    one.barrier { ran.open() }
    #expect(held.allSatisfy { $0.count == 0 })
    one.close(flags: .stop)
    for calls in held { #expect(calls.end()?.error == ECANCELED) }
    #expect(!ran.isOpen)
    go.open()
    #expect(ran.wait())
    ends.write("abc")
    #expect(other.read(3).end()?.error == 0)
    other.close()
    #expect(cleanups.0.error() == 0 && cleanups.1.error() == 0)
    close(ends.reading)
    close(ends.writing)
  }

  @Test("I6: a hundred barriers that wait, and what waits between them, come in order")
  func hundred() {
    let ends = Ends.pipe()
    let (channel, order) = (DispatchIO.stream(ends.reading), Recorder<Int>())
    for index in 0..<100 {
      channel.read(offset: 0, length: 1, queue: .global()) { done, _, _ in if done { order.note(2 * index) } }
      channel.barrier { order.note(2 * index + 1) }
    }
    ends.write(String(repeating: "x", count: 100))
    waitFor { order.count == 200 }
    #expect(order.values == Array(0..<200))
    channel.close()
    close(ends.writing)
  }

  @Test("I6: no operation of any channel is under way while a barrier runs, and none is lost")
  func many() {
    let file = temporaryFile(pattern(4096))
    let cleanups = (0..<3).map { _ in Cleanup() }
    let channels = cleanups.map { cleanup in
      DispatchIO(type: .random, fileDescriptor: file, queue: .global(), cleanupHandler: cleanup.handler)
    }
    let (reads, barriers, wrong) = (Recorder<Int>(), Recorder<Int>(), Recorder<String>())
    // Even while no barrier runs.
    let inBarrier = Recorder<Int>()
    let group = DispatchGroup()
    let ended = Latch()
    DispatchQueue.concurrentPerform(iterations: 3) { index in
      for round in 0..<200 {
        group.enter()
        channels[index].read(offset: 0, length: 16, queue: .global()) { done, _, error in
          if inBarrier.count % 2 != 0 { wrong.note("a read in a barrier") }
          if error != 0 { wrong.note("error \(error)") }
          if done {
            reads.note(index)
            group.leave()
          }
        }
        if round % 5 == index {
          group.enter()
          channels[(index + round) % 3].barrier {
            if inBarrier.count % 2 != 0 { wrong.note("two barriers") }
            inBarrier.note(1)
            inBarrier.note(2)
            barriers.note(index)
            group.leave()
          }
        }
      }
    }
    group.notify(queue: .global()) { ended.open() }
    #expect(ended.wait())
    #expect(wrong.values == [] && reads.count == 600 && barriers.count == 120)
    for channel in channels { channel.close() }
    for cleanup in cleanups { #expect(cleanup.error() == 0) }
    close(file)
  }
}
