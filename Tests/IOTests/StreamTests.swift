// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("A stream channel")
struct StreamTests {
  @Test("I1, I2: reads a file in order, and tells its end with empty data", arguments: ["/tmp", "/dev/shm"])
  func wholeFile(folder: String) {
    let bytes = pattern(3_000_001)
    let file = temporaryFile(bytes, in: folder)
    let cleanup = Cleanup(closing: [file])
    let channel = DispatchIO.stream(file, cleanup)
    let calls = channel.read()
    #expect(calls.end() == Call(true, [], 0))
    #expect(calls.bytes == bytes)
    channel.close()
    #expect(cleanup.error() == 0)
  }

  @Test("I2: a read of a certain length ends with its last byte")
  func certainLength() {
    let channel = DispatchIO.stream(temporaryFile(Array("abcdef".utf8)))
    let (first, second, third) = (channel.read(4), channel.read(4), channel.read(4))
    #expect(first.end() == Call(true, "abcd"))
    #expect(second.end() == Call(true, ""))
    #expect(second.text == "ef")
    #expect(third.all.isEmpty || third.end() == Call(true, ""))
    #expect(channel.read(0).end() == Call(true, ""))
  }

  @Test("I2: what a pipe has is delivered, and the read goes on")
  func pieces() {
    let ends = Ends.pipe()
    let channel = DispatchIO.stream(ends.reading)
    let calls = channel.read()
    ends.write("one")
    waitFor { calls.text == "one" }
    ends.write("two")
    waitFor { calls.text == "onetwo" }
    close(ends.writing)
    #expect(calls.end() == Call(true, ""))
    #expect(calls.text == "onetwo")
  }

  @Test("I2: a handler is not called for less than low water, but for the end")
  func lowWater() {
    let ends = Ends.socketPair()
    let channel = DispatchIO.stream(ends.reading)
    channel.setLimit(lowWater: 10)
    let calls = channel.read()
    for _ in 0..<4 { ends.write("abc") }
    waitFor { calls.count == 1 }
    #expect((calls.all.first?.bytes?.count ?? 0) >= 10)
    ends.write("xyz")
    close(ends.writing)
    #expect(calls.end() == Call(true, ""))
    #expect(calls.text == "abcabcabcabcxyz")
    #expect(calls.all.dropLast(2).allSatisfy { $0.bytes!.count >= 10 })
  }

  @Test("I2: no call brings more than high water, and the last one without an error has the rest")
  func highWater() {
    let bytes = pattern(350_000)
    let channel = DispatchIO.stream(temporaryFile(bytes))
    channel.setLimit(highWater: 100_000)
    let calls = channel.read(350_000)
    #expect(calls.end()?.error == 0)
    #expect(calls.bytes == bytes)
    #expect(calls.all.map { $0.bytes!.count } == [100_000, 100_000, 100_000, 50_000])
  }

  @Test("I2: with low water at its most all comes in one piece")
  func onePiece() {
    let bytes = pattern(2_500_000)
    let channel = DispatchIO.stream(temporaryFile(bytes))
    channel.setLimit(lowWater: .max)
    let calls = channel.read()
    #expect(calls.end() == Call(true, [], 0))
    #expect(calls.count == 2 && calls.bytes == bytes)
  }

  @Test("I2: SIZE_MAX as a signed number is the most there is")
  func unsignedSizes() {
    let most = Int(bitPattern: UInt.max)
    let bytes = pattern(2_500_000)
    let channel = DispatchIO.stream(temporaryFile(bytes))
    channel.setLimit(highWater: most)
    channel.setLimit(lowWater: most)
    let calls = channel.read(most)
    #expect(calls.end() == Call(true, [], 0))
    #expect(calls.count == 2 && calls.bytes == bytes)
    let single = Calls()
    DispatchIO.read(fromFileDescriptor: temporaryFile(bytes), maxLength: most, runningHandlerOn: .global()) {
      single.handler(true, $0, $1)
    }
    #expect(single.end()?.bytes == bytes)
  }

  @Test("I2: a strict interval calls the handler for less than low water, and for nothing")
  func strictInterval() {
    let ends = Ends.pipe()
    let channel = DispatchIO.stream(ends.reading)
    channel.setLimit(lowWater: 1000)
    channel.setInterval(interval: .milliseconds(5), flags: .strictInterval)
    let calls = channel.read()
    ends.write("abc")
    waitFor { calls.text == "abc" }
    let count = calls.count
    waitFor { calls.count > count + 2 }
    #expect(calls.all.allSatisfy { !$0.done && $0.error == 0 && $0.bytes != nil })
    channel.close(flags: .stop)
    #expect(calls.end()?.error == ECANCELED)
    close(ends.writing)
  }

  @Test("I2: an interval that is not strict respects low water")
  func interval() {
    let ends = Ends.pipe()
    let channel = DispatchIO.stream(ends.reading)
    channel.setLimit(lowWater: 1000)
    channel.setInterval(interval: .milliseconds(1))
    let calls = channel.read()
    ends.write("abc")
    // Meanwhile a strict interval of another channel ticks ten times.
    let other = Ends.pipe()
    let watcher = DispatchIO.stream(other.reading)
    watcher.setInterval(interval: .milliseconds(1), flags: .strictInterval)
    let ticks = watcher.read()
    waitFor { ticks.count >= 10 }
    #expect(calls.count == 0)
    close(ends.writing)
    close(other.writing)
    #expect(calls.end() == Call(true, ""))
    _ = ticks.end()
  }

  @Test("I4: reads follow each other, and so do writes, independent of the reads")
  func order() {
    let ends = Ends.socketPair()
    let channel = DispatchIO.stream(ends.reading)
    let queue = DispatchQueue(label: "handlers")
    let reads = (0..<20).map { _ in channel.read(3, on: queue) }
    // The reads wait, and the writes pass them.
    let writes = (0..<20).map { channel.write(data("w\($0 % 10)"), on: queue) }
    #expect(String(decoding: drain(ends.writing, 40), as: UTF8.self) == (0..<20).map { "w\($0 % 10)" }.joined())
    for write in writes { #expect(write.end() == Call(true, nil as String?)) }
    #expect(reads.allSatisfy { $0.count == 0 })
    ends.write((0..<20).map { "r\($0 + 10)" }.joined())
    for (index, read) in reads.enumerated() { #expect(read.end()?.error == 0 && read.text == "r\(index + 10)") }
    close(ends.writing)
  }

  @Test("I4: reads and writes a socket both ways at once")
  func bothWays() {
    let ends = Ends.socketPair()
    let (left, right) = (DispatchIO.stream(ends.reading), DispatchIO.stream(ends.writing))
    let (there, back) = (pattern(2_000_000), pattern(1_700_000, from: 77))
    let (writes, reads) = (
      [left.write(data(there)), right.write(data(back))], [left.read(back.count), right.read(there.count)]
    )
    for write in writes { #expect(write.end() == Call(true, nil as String?)) }
    for read in reads { #expect(read.end()?.error == 0) }
    #expect(reads[0].bytes == back)
    #expect(reads[1].bytes == there)
  }

  @Test("I2: handlers of one operation do not overlap on a concurrent queue, and come in order")
  func handlersFollow() {
    let bytes = pattern(4_000_000)
    let channel = DispatchIO.stream(temporaryFile(bytes))
    let (inside, seen, ended) = (Occupancy(), Unprotected<[UInt8]>([]), Latch())
    channel.read(offset: 0, length: .max, queue: .global()) { done, data, _ in
      inside.enter()
      seen.value.append(contentsOf: data ?? .empty)
      inside.leave()
      if done { ended.open() }
    }
    #expect(ended.wait())
    #expect(inside.peak == 1)
    #expect(seen.value == bytes)
  }

  @Test("I2, I8: beside a handler that is quick nothing is read ahead")
  func quickHandler() {
    let file = temporaryFile(pattern(4_000_000))
    let channel = DispatchIO.stream(file)
    channel.setLimit(highWater: 100_000)
    let (ended, total, ahead, lastTook) = (Latch(), Unprotected(0), Unprotected(0), Unprotected<UInt64>(0))
    channel.read(offset: 0, length: .max, queue: .global()) { done, data, _ in
      let began = monotonicNanoseconds()
      total.value += data?.count ?? 0
      // If the call before took long, because its thread had lost the processor, the channel may read ahead.
      if lastTook.value < 10_000, lseek(file, 0, SEEK_CUR) > total.value { ahead.value += 1 }
      if done { ended.open() }
      lastTook.value = monotonicNanoseconds() - began
    }
    #expect(ended.wait())
    #expect(total.value == 4_000_000)
    // A thread may lose its processor between its two readings of the clock, so a few calls may be wrong.
    #expect(ahead.value <= 4, "of 40 calls \(ahead.value) found more read than they were given")
  }

  @Test("I2, I8: a slow handler stops the reading: what is in flight stays within twice the high water mark")
  func memoryInFlight() {
    let file = temporaryFile(pattern(4_000_000))
    let channel = DispatchIO.stream(file)
    channel.setLimit(highWater: 100_000)
    let (inside, go, ended, total) = (Latch(), Latch(), Latch(), Counter())
    channel.read(offset: 0, length: .max, queue: .global()) { done, data, _ in
      if total.value == 0 {
        takeLong()
      } else {
        inside.open()
        go.wait()
      }
      total.add(data?.count ?? 0)
      if done { ended.open() }
    }
    #expect(inside.wait())
    // The last handler was slow. So the channel reads on beside it, up to the high-water mark and no further.
    waitFor { lseek(file, 0, SEEK_CUR) == 300_000 }
    let fence = DispatchIO.stream(temporaryFile(pattern(1_000_000))).read()
    #expect(fence.end()?.error == 0)
    #expect(lseek(file, 0, SEEK_CUR) == 300_000)
    go.open()
    #expect(ended.wait())
    #expect(total.value == 4_000_000)
  }
}
