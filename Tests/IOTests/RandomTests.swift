// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("A random channel")
struct RandomTests {
  private func channel(_ file: Int32) -> DispatchIO {
    DispatchIO(
      type: .random, fileDescriptor: file, queue: .global(), cleanupHandler: Cleanup(closing: [file]).handler)
  }

  @Test("I4: many operations, each at its offset", arguments: ["/tmp", "/dev/shm"])
  func offsets(folder: String) {
    let bytes = pattern(1_000_000)
    let file = temporaryFile(bytes, in: folder)
    let channel = channel(file)
    let reads = (0..<200).map { (offset: $0 * 4_937, calls: channel.read(10_000, at: $0 * 4_937)) }
    for (offset, calls) in reads {
      #expect(calls.end()?.error == 0)
      #expect(calls.bytes == Array(bytes[offset..<min(offset + 10_000, bytes.count)]))
    }
    let writes = (0..<100).map { channel.write(data(pattern(5_000, from: $0)), at: $0 * 5_000) }
    for write in writes { #expect(write.end() == Call(true, nil as String?)) }
    let back = channel.read(500_000)
    #expect(back.end()?.error == 0)
    #expect(back.bytes == (0..<100).flatMap { pattern(5_000, from: $0) })
    #expect(lseek(file, 0, SEEK_CUR) == 0)
  }

  @Test("I4: offsets count from the position at the channel's creation")
  func base() {
    let file = temporaryFile(Array("0123456789".utf8))
    lseek(file, 4, SEEK_SET)
    let channel = channel(file)
    lseek(file, 0, SEEK_SET)
    let calls = channel.read(3, at: 2)
    #expect(calls.end() == Call(true, "678"))
    let before = channel.read(2, at: -2)
    #expect(before.end() == Call(true, "23"))
    #expect(channel.read(3, at: -5).end()?.error == EINVAL)
  }

  @Test("I1, I4: the end of a file above 4 GiB")
  func large() {
    let file = temporaryFile()
    let size = 5 << 30
    #expect(ftruncate(file, off_t(size)) == 0)
    let channel = channel(file)
    #expect(channel.write(data("the end"), at: size - 7).end() == Call(true, nil as String?))
    let calls = channel.read(.max, at: size - 10)
    #expect(calls.end() == Call(true, ""))
    #expect(calls.bytes == [0, 0, 0] + Array("the end".utf8))
    #expect(channel.read(10, at: size + 5).end() == Call(true, ""))
    // A stream that is made from this channel reads the same file, from its position.
    lseek(file, off_t(size - 7), SEEK_SET)
    let stream = DispatchIO(type: .stream, io: channel, queue: .global(), cleanupHandler: { _ in })
    let end = stream.read()
    #expect(end.end() == Call(true, ""))
    #expect(end.text == "the end")
  }

  @Test("I7: what cannot be positioned gives ESPIPE, from the descriptor and from another channel")
  func notSeekable() {
    let ends = Ends.pipe()
    let cleanup = Cleanup()
    let channel = DispatchIO(
      type: .random, fileDescriptor: ends.reading, queue: .global(), cleanupHandler: cleanup.handler)
    #expect(channel.read().end() == Call(true, nil as String?, ESPIPE))
    #expect(cleanup.error() == ESPIPE)
    let stream = DispatchIO.stream(ends.reading)
    let other = Cleanup()
    let random = DispatchIO(type: .random, io: stream, queue: .global(), cleanupHandler: other.handler)
    #expect(random.write(data("text")).end() == Call(true, "text", ESPIPE))
    #expect(other.error() == ESPIPE)
    close(ends.writing)
  }

  @Test("I5: stop ends all that is under way, and the cleanup handler comes after", arguments: ["/tmp", "/dev/shm"])
  func stop(folder: String) {
    let file = temporaryFile(pattern(2_000_000), in: folder)
    let cleanup = Cleanup(closing: [file])
    let channel = DispatchIO(type: .random, fileDescriptor: file, queue: .global(), cleanupHandler: cleanup.handler)
    let reads = (0..<100).map { channel.read(.max, at: $0 * 100) }
    channel.close(flags: .stop)
    for read in reads {
      let error = read.end()?.error
      #expect(error == 0 || error == ECANCELED)
    }
    #expect(cleanup.error() == 0)
    for (index, read) in reads.enumerated() {
      let isSame = read.bytes == pattern(read.bytes.count, from: index * 100)
      #expect(isSame)
    }
  }
}
