// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("A channel of a path")
struct PathTests {
  private func make(
    _ path: String, _ flags: Int32 = O_RDONLY, _ cleanup: Cleanup = Cleanup(), type: DispatchIO.StreamType = .stream
  ) -> DispatchIO? {
    DispatchIO(type: type, path: path, oflag: flags, mode: 0o600, queue: .global(), cleanupHandler: cleanup.handler)
  }

  @Test("I1: opens the file when the first operation needs it, and closes it", arguments: [0, 1] as [UInt])
  func lazily(type: UInt) throws {
    let name = temporaryName()
    let cleanup = Cleanup()
    let type = try #require(DispatchIO.StreamType(rawValue: type))
    let channel = try #require(make(name, O_RDWR | O_CREAT, cleanup, type: type))
    #expect(channel.fileDescriptor == -1)
    #expect(access(name, F_OK) != 0)
    #expect(channel.write(data("text")).end() == Call(true, nil as String?))
    let descriptor = channel.fileDescriptor
    #expect(descriptor >= 0 && fcntl(descriptor, F_GETFD) == FD_CLOEXEC)
    let other = DispatchIO(type: .random, io: channel, queue: .global(), cleanupHandler: { _ in })
    let calls = other.read(4, at: 0)
    #expect(calls.end() == Call(true, "text"))
    other.close()
    #expect(!cleanup.isDone)
    channel.close()
    #expect(cleanup.error() == 0)
    #expect(readText(name) == "text")
    unlink(name)
  }

  @Test("I1: a channel that is never used opens nothing")
  func unused() throws {
    let name = temporaryName()
    let cleanup = Cleanup()
    let channel = try #require(make(name, O_RDWR | O_CREAT, cleanup))
    channel.close()
    #expect(cleanup.error() == 0)
    #expect(access(name, F_OK) != 0)
  }

  @Test("I1: a path that is not absolute gives no channel")
  func relative() {
    #expect(make("file") == nil)
    #expect(make("") == nil)
  }

  @Test("I1, I7: a channel that cannot be made ends at once, with its cleanup handler", arguments: [false, true])
  func cannotBeMade(isFolder: Bool) throws {
    let cleanup = Cleanup()
    let channel = try #require(make(isFolder ? "/tmp" : "/proc/none/file", O_RDWR | O_CREAT, cleanup))
    #expect(cleanup.error() == (isFolder ? EISDIR : ENOENT))
    let ran = Latch()
    channel.barrier { ran.open() }
    #expect(ran.wait())
    #expect(channel.read().end()?.error == (isFolder ? EISDIR : ENOENT))
  }

  @Test("I1, I7: a channel whose file cannot be opened stays until it is closed; others of the file try again")
  func cannotBeOpened() throws {
    let name = temporaryName()
    close(open(name, O_CREAT | O_WRONLY, 0o600))
    let (cleanup, other) = (Cleanup(), Cleanup())
    let channel = try #require(make(name, O_RDWR | O_CREAT | O_EXCL, cleanup))
    let second = DispatchIO(type: .stream, io: channel, queue: .global(), cleanupHandler: other.handler)
    let (read, write) = (channel.read(), channel.write(data("text")))
    #expect(read.end() == Call(true, nil as String?, EEXIST))
    #expect(write.end() == Call(true, "text", EEXIST))
    unlink(name)
    #expect(channel.write(data("text")).end() == Call(true, "text", EEXIST))
    #expect(second.write(data("text")).end() == Call(true, nil as String?))
    #expect(!cleanup.isDone)
    channel.close()
    second.close()
    #expect([cleanup.error(), other.error()] == [0, 0])
    #expect(readText(name) == "text")
    unlink(name)
  }

  @Test("I7: nothing to read or to write needs no file")
  func emptyOperations() throws {
    let name = temporaryName()
    let channel = try #require(make(name, O_RDWR | O_CREAT))
    #expect(channel.read(0).end() == Call(true, ""))
    #expect(channel.write(.empty).end() == Call(true, nil as String?))
    #expect(access(name, F_OK) != 0)
  }

  @Test("I7: ENOENT reaches every handler, and the cleanup handler")
  func noSuchFile() throws {
    let cleanup = Cleanup()
    let channel = try #require(make("/proc/none/file", O_RDONLY, cleanup))
    let (read, write) = (channel.read(), channel.write(data("text")))
    #expect(read.end() == Call(true, nil as String?, ENOENT))
    #expect(write.end() == Call(true, "text", ENOENT))
    #expect(cleanup.error() == ENOENT)
    #expect(channel.read().end()?.error == ENOENT)
    channel.close()
    #expect(cleanup.count == 1)
  }

  @Test("I7: a folder cannot be read, or written")
  func folder() throws {
    #expect(try #require(make("/tmp")).read().end() == Call(true, nil as String?, EISDIR))
    #expect(try #require(make("/tmp", O_RDWR)).write(data("a")).end() == Call(true, "a", EISDIR))
  }

  @Test("I8: a pipe without a writer is waited for, without a thread")
  func pipeWithoutWriter() throws {
    let name = temporaryName()
    #expect(mkfifo(name, 0o600) == 0)
    let cleanup = Cleanup()
    let channel = try #require(make(name, O_RDONLY, cleanup))
    let calls = channel.read()
    // The file is open, and the read waits.
    waitFor { channel.fileDescriptor >= 0 }
    let writer = open(name, O_WRONLY | O_CLOEXEC)
    #expect(writer >= 0)
    #expect(write(writer, "abc", 3) == 3)
    waitFor { calls.text == "abc" }
    close(writer)
    #expect(calls.end() == Call(true, ""))
    channel.close()
    #expect(cleanup.error() == 0)
    unlink(name)
  }

  @Test("I5, I8: stop ends the wait for a writer; a pipe without a reader gives ENXIO")
  func pipeStopped() throws {
    let name = temporaryName()
    #expect(mkfifo(name, 0o600) == 0)
    let writing = try #require(make(name, O_WRONLY))
    #expect(writing.write(data("a")).end() == Call(true, "a", ENXIO))
    let channel = try #require(make(name))
    let calls = channel.read()
    waitFor { channel.fileDescriptor >= 0 }
    channel.close(flags: .stop)
    #expect(calls.end()?.error == ECANCELED)
    unlink(name)
  }

  @Test("I7: a bad descriptor gives EBADF")
  func badDescriptor() {
    for descriptor: Int32 in [-1, 1_000_000] {
      let cleanup = Cleanup()
      let channel = DispatchIO.stream(descriptor, cleanup)
      #expect(channel.read().end() == Call(true, nil as String?, EBADF))
      #expect(cleanup.error() == EBADF)
    }
  }
}
