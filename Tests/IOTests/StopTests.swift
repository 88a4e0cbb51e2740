// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

/// What else uses the file of a channel that is stopped, and what its handlers do meanwhile.
@Suite("A stop beside others")
struct StopTests {
  @Test(
    "I5: a stopped operation does not wait behind one of another channel, nor behind a single read",
    arguments: ["descriptor", "channel", "single"])
  func behindOthers(way: String) {
    let ends = Ends.pipe()
    let (cleanup, others) = (Cleanup(), Cleanup())
    let channel = DispatchIO.stream(ends.reading, cleanup)
    var other: DispatchIO?
    switch way {
    case "descriptor": other = DispatchIO.stream(ends.reading, others)
    case "channel":
      other = DispatchIO(type: .stream, io: channel, queue: .global(), cleanupHandler: others.handler)
    default:
      DispatchIO.read(fromFileDescriptor: ends.reading, maxLength: 10, runningHandlerOn: .global()) { _, _ in }
    }
    let before = other?.read(10)
    let queue = DispatchQueue(label: "ends")
    let behind = [channel.read(10, on: queue), channel.read(10, on: queue)]
    channel.close(flags: .stop)
    for calls in behind { #expect(calls.end()?.error == ECANCELED) }
    #expect(before?.count ?? 0 == 0)
    close(ends.writing)
    if let before { #expect(before.end()?.error == 0) }
    other?.close()
    if other != nil { #expect(others.error() == 0) }
    #expect(cleanup.error() == 0)
    close(ends.reading)
  }

  @Test("I5: an operation that is stopped from a handler ends, though that handler waits for it")
  func handlerWaits() {
    let ends = Ends.pipe()
    let channel = DispatchIO.stream(ends.reading)
    channel.setLimit(lowWater: 1)
    let (second, ended) = (Unprotected<Calls?>(nil), Latch())
    let go = Latch()
    channel.read(offset: 0, length: 10, queue: DispatchQueue(label: "first")) { done, data, _ in
      if done || data?.isEmpty != false { return }
      go.wait()
      channel.close(flags: .stop)
      if second.value?.done.wait() == true { ended.open() }
    }
    second.value = channel.read(10, on: DispatchQueue(label: "second"))
    ends.write("a")
    go.open()
    #expect(ended.wait())
    #expect(second.value?.last?.error == ECANCELED)
    close(ends.writing)
  }

  @Test("I5, I6: what is stopped in front of a barrier ends before it, and what is stopped behind it ends behind it")
  func acrossBarrier() {
    for _ in 0..<50 {
      let ends = Ends.pipe()
      let order = Recorder<String>()
      let queue = DispatchQueue(label: "ends")
      let channel = DispatchIO.stream(ends.reading)
      for index in 0..<4 {
        if index == 1 { channel.barrier { order.note("barrier") } }
        channel.read(offset: 0, length: 10, queue: queue) { done, _, _ in if done { order.note("\(index)") } }
      }
      channel.close(flags: .stop)
      waitFor { order.count == 5 }
      #expect(order.values == ["0", "barrier", "1", "2", "3"])
      close(ends.writing)
    }
  }

  @Test("I6: what is stopped behind a barrier ends behind it")
  func behindBarrier() {
    let ends = Ends.pipe()
    let (order, cleanup) = (Recorder<String>(), Cleanup())
    let (begun, go) = (Latch(), Latch())
    let channel = DispatchIO.stream(ends.reading, cleanup)
    let before = channel.read(10)
    channel.barrier {
      begun.open()
      go.wait()
      order.note("barrier")
    }
    for _ in 0..<3 {
      channel.read(offset: 0, length: 10, queue: .global()) { done, _, error in
        if done { order.note("\(error == ECANCELED)") }
      }
    }
    channel.close(flags: .stop)
    #expect(before.end()?.error == ECANCELED)
    #expect(begun.wait())
    // Once more, while the barrier runs.
    channel.close(flags: .stop)
    go.open()
    #expect(cleanup.error() == 0)
    #expect(order.values == ["barrier", "true", "true", "true"])
    close(ends.reading)
    close(ends.writing)
  }

  @Test(
    "I5: what is stopped on one serial queue ends in order there",
    arguments: ["another queue between", "concurrent above serial", "a pool's queue", "a path that is not there"])
  func oneQueue(way: String) {
    let pool = DispatchQueuePool(name: "pool", queueCount: 1)
    for _ in 0..<30 {
      let (order, go) = (Recorder<Int>(), Latch())
      let serial: DispatchQueue = way == "a pool's queue" ? pool.queue(forKey: 1) : DispatchQueue(label: "serial")
      let queue =
        way.hasPrefix("another") || way.hasPrefix("a pool")
        ? serial : DispatchQueue(label: "concurrent", attributes: .concurrent, target: serial)
      let ends = Ends.pipe()
      let channel =
        way.hasPrefix("a path")
        ? DispatchIO(type: .stream, path: temporaryName(), oflag: O_RDONLY, mode: 0, queue: .global()) { _ in }!
        : DispatchIO.stream(ends.reading)
      channel.setLimit(lowWater: 1)
      let between = way.hasPrefix("another") ? DispatchQueue(label: "between") : queue
      for index in 0..<5 {
        channel.read(offset: 0, length: 10, queue: index % 2 == 0 ? queue : between) { done, data, _ in
          if done, index % 2 == 0 || queue === between { order.note(index) }
          // The first one's handler is out when the channel is stopped.
          if !done { go.wait() }
        }
      }
      if !way.hasPrefix("a path") {
        ends.write("a")
        channel.close(flags: .stop)
      }
      go.open()
      let expected = queue === between ? [0, 1, 2, 3, 4] : [0, 2, 4]
      waitFor { order.count == expected.count }
      #expect(order.values == expected)
      close(ends.writing)
      if way.hasPrefix("a path") { close(ends.reading) }
    }
  }

  @Test("I5: to stop many operations takes as long for each, whether each has a queue of its own, or all have one")
  func many() {
    let count = 20_000
    func stop(_ queues: [DispatchQueue]) -> UInt64 {
      let ends = Ends.pipe()
      let (cleanup, stopped) = (Cleanup(closing: [ends.reading]), Counter())
      let channel = DispatchIO.stream(ends.reading, cleanup)
      for index in 0..<count {
        channel.read(offset: 0, length: 10, queue: queues[index % queues.count]) { done, _, error in
          if done, error == ECANCELED { stopped.add() }
        }
      }
      let time = processorTime { channel.close(flags: .stop) }
      #expect(cleanup.error() == 0)
      #expect(stopped.value == count)
      close(ends.writing)
      return time
    }
    // What the machine does besides is in both times, if they are taken one after the other: some pair shows the operations'.
    var pairs: [(one: UInt64, many: UInt64)] = []
    let isLinear = (0..<3).contains { _ in
      let one = stop([DispatchQueue(label: "one")])
      let many = stop((0..<count).map { DispatchQueue(label: "queue \($0)") })
      pairs.append((one, many))
      return many < 10 * one
    }
    #expect(isLinear, "nanoseconds on one queue, and on many: \(pairs)")
  }

  @Test("I6: resume lets nothing by that a barrier holds back, not even what cannot be carried out")
  func resumeBehindBarrier() {
    let file = temporaryFile([1, 2, 3])
    let (order, queue) = (Recorder<String>(), DispatchQueue(label: "ends"))
    let channel = DispatchIO(type: .random, fileDescriptor: file, queue: .global()) { _ in close(file) }
    channel.suspend()
    for offset in [0, -1, 1] {
      if offset == -1 { channel.barrier { order.note("barrier") } }
      channel.read(offset: off_t(offset), length: 1, queue: queue) { done, _, error in
        if done { order.note("\(offset): \(error)") }
      }
    }
    channel.resume()
    waitFor { order.count == 4 }
    #expect(order.values.prefix(2) == ["0: 0", "barrier"])
    #expect(order.values.dropFirst(2).sorted() == ["-1: \(EINVAL)", "1: 0"])
  }

  @Test("I3, I5: stopped writes to a file tell what the file has not got", arguments: [0, O_DSYNC])
  func whatIsLeft(flags: Int32) {
    var delay = 0
    for _ in 0..<20 {
      let path = temporaryName()
      let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0o600)
      unlink(path)
      let cleanup = Cleanup()
      let channel = DispatchIO.stream(file, cleanup)
      channel.setLimit(highWater: 200_000)
      let bytes = data(pattern(1 << 20))
      let calls = (0..<4).map { _ in channel.write(bytes, on: DispatchQueue(label: "ends")) }
      delay += 60
      let begin = monotonicNanoseconds()
      while monotonicNanoseconds() - begin < UInt64(delay) * 1000 {}
      channel.close(flags: .stop)
      let left = calls.map { $0.end()?.bytes?.count ?? 0 }.reduce(0, +)
      #expect(cleanup.error() == 0)
      var status = stat()
      #expect(fstat(file, &status) == 0)
      #expect(Int(status.st_size) == 4 * bytes.count - left)
      close(file)
    }
  }
}
