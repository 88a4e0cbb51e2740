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
