// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("The end of a channel")
struct CloseTests {
  @Test("I5: stop ends the read of a silent descriptor, and those behind it, at once", arguments: [false, true])
  func stopSilent(usesSocket: Bool) {
    let ends = usesSocket ? Ends.socketPair() : Ends.pipe()
    let cleanup = Cleanup(closing: [ends.reading])
    let channel = DispatchIO.stream(ends.reading, cleanup)
    let (first, second) = (channel.read(), channel.read())
    ends.write("abc")
    waitFor { first.text == "abc" }
    channel.close(flags: .stop)
    #expect(first.end() == Call(true, nil as String?, ECANCELED))
    #expect(second.end() == Call(true, nil as String?, ECANCELED))
    #expect(cleanup.error() == 0)
    close(ends.writing)
  }

  /// Submits `count` reads, whose ends `order` gets.
  private func submit(_ count: Int, to channel: DispatchIO, _ queue: DispatchQueue, _ order: Recorder<Int>) {
    for index in 0..<count {
      channel.read(offset: 0, length: 10, queue: queue) { done, _, error in
        if done { order.note(error == ECANCELED ? index : -1) }
      }
    }
  }

  @Test(
    "I4, I5: what is stopped ends in the order of its submission", arguments: ["turns", "busy", "barrier", "suspended"])
  func stopOrder(way: String) {
    let ends = Ends.pipe()
    let (order, go, begun) = (Recorder<Int>(), Latch(), Latch())
    let queue = DispatchQueue(label: "ends")
    let channel = DispatchIO.stream(ends.reading)
    switch way {
    case "busy":
      // The first operation's handler is out.
      channel.setLimit(lowWater: 1)
      channel.read(offset: 0, length: 10, queue: queue) { done, data, _ in
        if data?.isEmpty == false {
          begun.open()
          go.wait()
        }
        if done { order.note(100) }
      }
      ends.write("a")
      #expect(begun.wait())
    case "barrier": channel.barrier { go.wait() }
    case "suspended": channel.suspend()
    default: break
    }
    submit(50, to: channel, queue, order)
    channel.close(flags: .stop)
    if way == "suspended" { channel.resume() }
    go.open()
    let expected = (way == "busy" ? [100] : []) + Array(0..<50)
    waitFor { order.count == expected.count }
    #expect(order.values == expected)
    close(ends.writing)
  }

  @Test("I5: no write begins once one before it has been stopped: what comes out has no gap")
  func stopLeavesNoGap() {
    for _ in 0..<200 {
      let ends = Ends.pipe()
      let cleanup = Cleanup(closing: [ends.writing])
      let channel = DispatchIO.stream(ends.writing, cleanup)
      // Twos after all of the ones, and the pipe has no room for them at first.
      channel.write(offset: 0, data: data(Array(repeating: 1, count: 100_000)), queue: .global()) { _, _, _ in }
      for _ in 0..<100 { channel.write(offset: 0, data: data([2]), queue: .global()) { _, _, _ in } }
      let closer = PlainThread { channel.close(flags: .stop) }
      let bytes = drain(ends.reading)
      closer.join()
      let ones = bytes.prefix { $0 == 1 }.count
      #expect(ones == bytes.count || ones == 100_000, "\(ones) ones before \(bytes.count - ones) twos")
      #expect(cleanup.error() == 0)
      close(ends.reading)
    }
  }

  @Test("I4: what a closed channel refuses ends in the order of its submission")
  func refusedOrder() {
    let ends = Ends.pipe()
    let (order, queue) = (Recorder<Int>(), DispatchQueue(label: "ends"))
    let channel = DispatchIO.stream(ends.reading)
    channel.close()
    submit(50, to: channel, queue, order)
    waitFor { order.count == 50 }
    #expect(order.values == Array(0..<50))
    close(ends.writing)
  }

  @Test("I5: a stopped read delivers what it had gathered, without an error, and then the error, without data")
  func stopKeeps() {
    let ends = Ends.pipe()
    let channel = DispatchIO.stream(ends.reading)
    channel.setLimit(lowWater: 100)
    let calls = channel.read()
    ends.write("abc")
    var left: Int = 3
    waitFor { ioctl(ends.reading, UInt(FIONREAD), &left) == 0 && Int32(truncatingIfNeeded: left) == 0 }
    channel.close(flags: .stop)
    #expect(calls.end() == Call(true, nil as String?, ECANCELED))
    #expect(calls.all.first == Call(false, "abc", 0) && calls.count == 2)
    close(ends.writing)
  }

  @Test("I5: close lets what was submitted finish; then the cleanup handler runs, once, on its queue")
  func closeFinishes() {
    let ends = Ends.pipe()
    let key = DispatchSpecificKey<Int>()
    let queue = DispatchQueue(label: "cleanup")
    queue.setSpecific(key: key, value: 7)
    let (order, cleaned) = (Recorder<String>(), Latch())
    let channel = DispatchIO(type: .stream, fileDescriptor: ends.reading, queue: queue) { error in
      order.note("cleanup \(error) \(DispatchQueue.getSpecific(key: key) ?? 0)")
      cleaned.open()
    }
    for index in 0..<2 {
      channel.read(offset: 0, length: 3, queue: .global()) { done, _, _ in if done { order.note("read \(index)") } }
    }
    channel.close()
    channel.close()
    #expect(!cleaned.isOpen)
    ends.write("abcdef")
    #expect(cleaned.wait())
    #expect(order.values.count == 3 && order.values.last == "cleanup 0 7")
    close(ends.reading)
    close(ends.writing)
  }

  private static func channel(_ isPath: Bool, holding grave: Tombstone) -> DispatchIO? {
    let handler: @Sendable (Int32) -> Void = { _ in grave.visit() }
    if !isPath {
      return DispatchIO(
        type: .stream, fileDescriptor: Ends.socketPair().reading, queue: .global(), cleanupHandler: handler)
    }
    return DispatchIO(type: .stream, path: "/dev/null", oflag: 0, mode: 0, queue: .global(), cleanupHandler: handler)
  }

  @Test("I1: what the cleanup handler holds goes when it has run, though the channel stays", arguments: [false, true])
  func cleanupGoes(isPath: Bool) throws {
    let buried = Latch()
    let channel = try #require(Self.channel(isPath, holding: Tombstone(buried)))
    channel.close()
    #expect(buried.wait())
    withExtendedLifetime(channel) {}
  }

  @Test("I5: a closed channel takes no operation")
  func afterClose() {
    let ends = Ends.socketPair()
    let channel = DispatchIO.stream(ends.reading)
    #expect(channel.fileDescriptor == ends.reading)
    channel.close()
    #expect(channel.read().end() == Call(true, nil as String?, ECANCELED))
    #expect(channel.write(data("text")).end() == Call(true, "text", ECANCELED))
    #expect(channel.fileDescriptor == -1)
    close(ends.writing)
  }

  @Test("I1: a channel that is let go finishes and gives the descriptor back")
  func dropped() {
    let ends = Ends.pipe()
    let cleanup = Cleanup(closing: [ends.reading])
    let calls = DispatchIO.stream(ends.reading, cleanup).read(3)
    #expect(!cleanup.isDone)
    ends.write("abc")
    #expect(calls.end()?.error == 0)
    #expect(cleanup.error() == 0)
    close(ends.writing)
  }

  @Test("I1: two channels of one descriptor give it back together")
  func shared() {
    let ends = Ends.socketPair()
    let (first, second) = (Cleanup(), Cleanup())
    let channel = DispatchIO.stream(ends.reading, first)
    let other = DispatchIO(type: .stream, io: channel, queue: .global(), cleanupHandler: second.handler)
    let third = Cleanup()
    let unaware = DispatchIO.stream(ends.reading, third)
    let (a, b, c) = (channel.read(1), other.read(1), unaware.read(1))
    ends.write("abc")
    #expect([a, b, c].map { $0.end()?.error } == [0, 0, 0])
    #expect([a.text, b.text, c.text] == ["a", "b", "c"])
    channel.close()
    other.close()
    #expect(channel.read().end()?.error == ECANCELED)
    #expect(!first.isDone && !second.isDone)
    unaware.close()
    #expect([first.error(), second.error(), third.error()] == [0, 0, 0])
    #expect([first.count, second.count, third.count] == [1, 1, 1])
    let late = DispatchIO(type: .stream, io: channel, queue: .global(), cleanupHandler: Cleanup().handler)
    #expect(late.read().end()?.error == ECANCELED)
    close(ends.reading)
    close(ends.writing)
  }

  @Test("I6: a barrier runs between what was submitted before and what comes after")
  func barrier() {
    let ends = Ends.socketPair()
    let channel = DispatchIO.stream(ends.reading)
    let order = Recorder<String>()
    let (inside, go, after) = (Latch(), Latch(), Latch())
    let note: @Sendable (String) -> @Sendable (Bool, DispatchData?, Int32) -> Void = { name in
      { done, _, _ in
        if done { order.note(name) }
        if done, name == "after" { after.open() }
      }
    }
    channel.read(offset: 0, length: 3, queue: .global(), ioHandler: note("before"))
    channel.barrier {
      order.note("barrier \(channel.fileDescriptor == ends.reading)")
      inside.open()
      go.wait()
    }
    channel.read(offset: 0, length: 3, queue: .global(), ioHandler: note("after"))
    ends.write("abcdef")
    #expect(inside.wait())
    var left: Int = 0
    #expect(ioctl(ends.reading, UInt(FIONREAD), &left) == 0 && Int32(truncatingIfNeeded: left) == 3)
    go.open()
    #expect(after.wait())
    #expect(order.values == ["before", "barrier true", "after"])
    close(ends.writing)
  }

  /// All barriers at a time take as long as few at a time.
  private func expectLinear(few: () -> Double, all: () -> Double) {
    // What the machine does besides is in both times, if they are taken one after the other: some pair shows the barriers'.
    var pairs: [(few: Double, all: Double)] = []
    let isLinear = (0..<5).contains { _ in
      pairs.append((few(), all()))
      return pairs.last!.all < pairs.last!.few * 5
    }
    #expect(isLinear, "seconds where few wait at a time, and where all do: \(pairs)")
  }

  @Test("I6: barriers cost the same each, however many wait")
  func barriersAreLinear() {
    /// The seconds that all barriers take, `waiting` of them waiting at a time.
    func run(waiting: Int) -> Double {
      let channel = DispatchIO.stream(open("/dev/null", O_RDONLY))
      return measureSeconds {
        for _ in 0..<60_000 / waiting {
          let (go, last) = (Latch(), Latch())
          channel.barrier { go.wait() }
          for _ in 1..<waiting { channel.barrier {} }
          channel.barrier { last.open() }
          go.open()
          #expect(last.wait())
        }
      }
    }
    expectLinear(few: { run(waiting: 600) }, all: { run(waiting: 60_000) })
  }

  @Test("I6: barriers cost the same each, of however many channels of a file")
  func barriersOfManyChannelsAreLinear() {
    /// The seconds that all barriers take, of so many channels at a time.
    func run(channels: Int) -> Double {
      let first = DispatchIO.stream(open("/dev/null", O_WRONLY))
      return measureSeconds {
        for _ in 0..<4_000 / channels {
          let (go, ended) = (Latch(), Latch(channels))
          first.barrier { go.wait() }
          for _ in 0..<channels {
            let channel = DispatchIO(type: .stream, io: first, queue: .global()) { _ in }
            channel.write(offset: 0, data: data("record"), queue: .global()) { _, _, _ in }
            channel.barrier { ended.open() }
          }
          go.open()
          #expect(ended.wait())
        }
      }
    }
    expectLinear(few: { run(channels: 100) }, all: { run(channels: 4_000) })
  }

  @Test("I6: barriers follow each other, run on the channel's target, and pass a closed channel")
  func barriers() {
    let key = DispatchSpecificKey<Int>()
    let target = DispatchQueue(label: "target")
    target.setSpecific(key: key, value: 1)
    let channel = DispatchIO.stream(open("/dev/null", O_RDONLY))
    channel.setTarget(queue: target)
    let (order, last) = (Recorder<Int>(), Latch())
    for index in 0..<10 { channel.barrier { order.note(index * (DispatchQueue.getSpecific(key: key) ?? -1)) } }
    channel.close()
    channel.barrier { last.open() }
    #expect(last.wait())
    waitFor { order.count == 10 }
    #expect(order.values == Array(0..<10))
  }

  @Test("I5: a suspended channel calls no handler until it is resumed")
  func suspended() {
    let ends = Ends.pipe()
    let cleanup = Cleanup(closing: [ends.reading])
    let channel = DispatchIO.stream(ends.reading, cleanup)
    channel.suspend()
    channel.suspend()
    let calls = channel.read(3)
    let barrier = Latch()
    channel.barrier { barrier.open() }
    channel.close()
    ends.write("abc")
    channel.resume()
    let fence = DispatchIO.stream(open("/dev/zero", O_RDONLY)).read(100_000)
    #expect(fence.end()?.error == 0)
    #expect(calls.count == 0 && !barrier.isOpen && !cleanup.isDone)
    channel.resume()
    #expect(calls.end() == Call(true, "abc"))
    #expect(barrier.wait())
    #expect(cleanup.error() == 0)
    close(ends.writing)
  }
}
