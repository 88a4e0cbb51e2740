// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

/// An operation has transferred all, and its last call is still to come: its handler is out, or its queue is suspended.
@Suite("Behind an operation whose handler is out")
struct TrailingTests {
  /// Bytes in a pipe.
  private func waiting(_ descriptor: Int32) -> Int32 {
    var count: Int32 = 0
    _ = ioctl(descriptor, UInt(FIONREAD), &count)
    return count
  }

  /// Has a read of four bytes, of a pipe, come as far as that: two were delivered, the others are to follow.
  private func readOfTwoParts(_ channel: DispatchIO, _ ends: Ends, on queue: DispatchQueue) -> Calls {
    channel.setLimit(lowWater: 1)
    let calls = channel.read(4, on: queue)
    for part in ["ab", "cd"] {
      ends.write(part)
      waitFor { waiting(ends.reading) == 0 }
    }
    return calls
  }

  @Test("I4, E9: a stream's next read is served, of the same channel and of another one", arguments: [false, true])
  func reads(ofAnother: Bool) {
    let (ends, slow) = (Ends.pipe(), DispatchQueue(label: "slow"))
    let channel = DispatchIO.stream(ends.reading)
    let other = ofAnother ? DispatchIO(type: .stream, io: channel, queue: .global()) { _ in } : channel
    slow.suspend()
    let first = readOfTwoParts(channel, ends, on: slow)
    let second = other.read(4)
    ends.write("efgh")
    #expect(second.end()?.error == 0)
    #expect(second.text == "efgh" && first.count == 0)
    slow.resume()
    #expect(first.end()?.error == 0)
    #expect(first.text == "abcd")
    other.close()
    channel.close()
    close(ends.writing)
  }

  @Test("I4: one serial queue hears of operations in their order, though the later one has been served")
  func inOrder() {
    let (ends, queue) = (Ends.pipe(), DispatchQueue(label: "queue"))
    let channel = DispatchIO.stream(ends.reading)
    queue.suspend()
    let text = Recorder<String>()
    func read(_ name: String) -> Latch {
      let latch = Latch()
      channel.read(offset: 0, length: 4, queue: queue) { done, data, error in
        text.note(name + String(decoding: Array(data ?? .empty), as: UTF8.self) + (done ? "." : ""))
        if done { latch.open() }
      }
      return latch
    }
    channel.setLimit(lowWater: 1)
    var ended: [Latch] = []
    for (name, parts) in [("1", ["ab", "cd"]), ("2", ["ef", "gh"]), ("3", ["ij", "kl"])] {
      ended.append(read(name))
      for part in parts {
        ends.write(part)
        // The bytes are the operation's, though no handler has been called.
        waitFor { waiting(ends.reading) == 0 }
      }
    }
    #expect(text.count == 0)
    queue.resume()
    for latch in ended { #expect(latch.wait()) }
    let names = text.values.map { $0.prefix(1) }
    #expect(names == names.sorted())
    #expect(text.values.joined().filter { $0.isLetter } == "abcdefghijkl")
    channel.close()
    close(ends.writing)
  }

  @Test("I4, E9: a stream's next write is carried out")
  func writes() {
    let (ends, slow) = (Ends.pipe(), DispatchQueue(label: "slow"))
    let channel = DispatchIO.stream(ends.writing)
    channel.setLimit(highWater: 100)
    slow.suspend()
    let first = channel.write(data(pattern(500)), on: slow)
    let second = channel.write(data(pattern(500, from: 500)))
    #expect(second.end() == Call(true, nil as String?))
    #expect(waiting(ends.reading) == 1000 && first.count == 0)
    slow.resume()
    #expect(first.end() == Call(true, nil as String?))
    #expect(drain(ends.reading, 1000) == pattern(1000))
    channel.close()
    close(ends.reading)
  }

  @Test("I4, E9: reads of small files to their end whose handlers read more of the same channel, and wait for it")
  func waitsInside() {
    let file = temporaryFile(pattern(10_000))
    let channel = DispatchIO(type: .random, fileDescriptor: file, queue: .global()) { _ in close(file) }
    let (outer, inner) = (DispatchQueue(label: "outer", attributes: .concurrent), DispatchQueue(label: "inner"))
    let go = Latch()
    let ended = (0..<40).map { _ in Latch() }
    let right = Recorder<Bool>()
    for latch in ended {
      let isFirst = Recorder<Bool>()
      channel.read(offset: 0, length: .max, queue: outer) { done, _, _ in
        if isFirst.count == 0 {
          isFirst.note(true)
          _ = go.wait()
          let more = channel.read(10, at: 5, on: inner)
          right.note(more.done.wait() && more.bytes == pattern(10, from: 5))
        }
        if done { latch.open() }
      }
    }
    go.open()
    for latch in ended { #expect(latch.wait()) }
    #expect(right.values == Array(repeating: true, count: 40))
    channel.close()
  }

  @Test("I4, I5: one that waits behind another one's last call is stopped behind it")
  func stopped() {
    let (ends, queue, cleanup) = (Ends.pipe(), DispatchQueue(label: "queue"), Cleanup())
    let channel = DispatchIO.stream(ends.reading, cleanup)
    queue.suspend()
    let first = readOfTwoParts(channel, ends, on: queue)
    let second = channel.read(4, on: queue)
    ends.write("ef")
    waitFor { waiting(ends.reading) == 0 }
    channel.close(flags: .stop)
    #expect(second.count == 0 && !cleanup.isDone)
    queue.resume()
    #expect(first.end()?.error == 0 && first.text == "abcd")
    #expect(second.end()?.error == ECANCELED && second.text == "ef")
    #expect(cleanup.error() == 0)
    close(ends.reading)
    close(ends.writing)
  }
}
