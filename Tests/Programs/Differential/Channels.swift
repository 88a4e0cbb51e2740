// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

private let folder: String = {
  var template = Array("/tmp/differential-XXXXXX".utf8CString)
  let made = String(cString: mkdtemp(&template))
  return made
}()

private func data(_ count: Int) -> DispatchData {
  (0..<count).map { UInt8(truncatingIfNeeded: $0) }.withUnsafeBytes { DispatchData(bytes: $0) }
}

/// A file with so many bytes, open for reading and writing, and gone from its folder.
private func file(_ count: Int) -> Int32 {
  let path = folder + "/file"
  let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
  unlink(path)
  rmdir(folder)
  let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
  _ = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, count) }
  lseek(descriptor, 0, SEEK_SET)
  return descriptor
}

private func pipe() -> (read: Int32, write: Int32) {
  var ends: [Int32] = [0, 0]
  _ = Glibc.pipe(&ends)
  return (ends[0], ends[1])
}

/// A channel, with what its handlers are told.
private final class Probe: @unchecked Sendable {  // set before the channel is used; the latch orders `cleanup`
  let queue = DispatchQueue(label: "io")
  private(set) var channel: DispatchIO! = nil
  let cleaned = Latch()
  private var cleanup: Int32 = -1

  init(_ type: DispatchIO.StreamType, _ descriptor: Int32) {
    channel = DispatchIO(type: type, fileDescriptor: descriptor, queue: queue) { [unowned self] in clean($0) }
  }

  init(path: String, _ flags: Int32, type: DispatchIO.StreamType = .stream) {
    channel = DispatchIO(type: type, path: path, oflag: flags, mode: 0o600, queue: queue) { [unowned self] in clean($0)
    }
  }

  private func clean(_ error: Int32) {
    cleanup = error
    cleaned.open()
  }

  /// Reads, and returns a latch that opens at the end. Each call is noted: bytes, or nil; * for the last one; the error.
  func read(_ log: Log, offset: off_t = 0, _ length: Int = .max) -> Latch {
    let done = Latch()
    channel.read(offset: offset, length: length, queue: queue) { isLast, data, error in
      log.add("\(data.map { "\($0.count)" } ?? "nil")\(isLast ? "*" : "")\(error == 0 ? "" : "!\(error)")")
      if isLast { done.open() }
    }
    return done
  }

  func write(_ log: Log, offset: off_t = 0, _ data: DispatchData) -> Latch {
    let done = Latch()
    channel.write(offset: offset, data: data, queue: queue) { isLast, data, error in
      log.add("\(data.map { "\($0.count)" } ?? "nil")\(isLast ? "*" : "")\(error == 0 ? "" : "!\(error)")")
      if isLast { done.open() }
    }
    return done
  }

  func close(_ flags: DispatchIO.CloseFlags = []) {
    channel.close(flags: flags)
    cleaned.wait()
    queue.sync {}
    say("cleanup", cleanup)
  }
}

private func reading(_ name: String, size: Int = 100_000, low: Int?, high: Int?, length: Int = .max) -> (
  String, () -> Void
) {
  (
    name,
    {
      let (probe, log) = (Probe(.stream, file(size)), Log())
      if let low { probe.channel.setLimit(lowWater: low) }
      if let high { probe.channel.setLimit(highWater: high) }
      probe.read(log, length).wait()
      log.show("calls:")
      probe.close()
    }
  )
}

private func opening(_ name: String, _ path: String, _ flags: Int32) -> (String, () -> Void) {
  (
    name,
    {
      let (probe, log) = (Probe(path: path, flags), Log())
      if flags & O_ACCMODE == O_WRONLY { probe.write(log, data(3)).wait() } else { probe.read(log).wait() }
      log.show("calls:")
      probe.close()
    }
  )
}

let channelScenarios: [(String, () -> Void)] = [
  reading("channel high water", low: nil, high: 30_000),
  reading("channel high and low water", low: 30_000, high: 30_000),
  reading("channel low water over high", low: 50_000, high: 10_000),
  reading("channel all in one", low: .max, high: nil),
  reading("channel part of a file", low: .max, high: nil, length: 70_000),
  reading("channel more than the file", low: .max, high: nil, length: 200_000),
  reading("channel nothing", low: .max, high: nil, length: 0),
  reading("channel empty file", size: 0, low: nil, high: nil),
  reading("channel small reads", size: 10, low: nil, high: 3),
  (
    "channel reads one after the other",
    {
      let (probe, log) = (Probe(.stream, file(10)), Log())
      probe.channel.setLimit(lowWater: .max)
      let latches = [probe.read(log, 4), probe.read(log, 4), probe.read(log, 4), probe.read(log, 4)]
      latches.forEach { $0.wait() }
      log.show("calls:")
      probe.close()
    }
  ),
  (
    "channel random access",
    {
      let (probe, log) = (Probe(.random, file(100)), Log())
      probe.channel.setLimit(lowWater: .max)
      probe.read(log, offset: 90, 4).wait()
      probe.read(log, offset: 98, 10).wait()
      probe.read(log, offset: 200, 10).wait()
      probe.write(log, offset: 100, data(5)).wait()
      probe.read(log, offset: 98, 10).wait()
      log.show("calls:")
      probe.close()
    }
  ),
  (
    "channel write",
    {
      let (descriptor, log) = (file(0), Log())
      let probe = Probe(.stream, descriptor)
      probe.channel.setLimit(lowWater: .max)
      probe.write(log, data(5)).wait()
      probe.write(log, data(50_000)).wait()
      probe.write(log, .empty).wait()
      log.show("calls:")
      probe.close()
      say("size", lseek(descriptor, 0, SEEK_END))
    }
  ),
  (
    "channel of a pipe that ends",
    {
      let ends = pipe()
      _ = Glibc.write(ends.write, "hello", 5)
      close(ends.write)
      let (probe, log) = (Probe(.stream, ends.read), Log())
      probe.channel.setLimit(lowWater: .max)
      probe.read(log).wait()
      log.show("calls:")
      probe.close()
    }
  ),
  (
    "channel stopped while it waits",
    {
      let ends = pipe()
      let (probe, log) = (Probe(.stream, ends.read), Log())
      let done = probe.read(log)
      probe.close(.stop)
      done.wait()
      log.show("calls:")
    }
  ),
  (
    "channel stopped with bytes gathered",
    {
      let ends = pipe()
      let (probe, log) = (Probe(.stream, ends.read), Log())
      probe.channel.setLimit(lowWater: 100)
      _ = Glibc.write(ends.write, "hello", 5)
      let done = probe.read(log)
      var waiting: Int32 = 1
      while waiting > 0 { ioctl(ends.read, UInt(FIONREAD), &waiting) }
      probe.close(.stop)
      done.wait()
      log.show("calls:")
    }
  ),
  (
    "channel used after it is closed",
    {
      let (probe, log) = (Probe(.stream, file(5)), Log())
      probe.close()
      probe.read(log).wait()
      probe.write(log, data(3)).wait()
      log.show("calls:")
    }
  ),
  (
    "channel write to a pipe that nobody reads",
    {
      signal(SIGPIPE, SIG_IGN)
      let ends = pipe()
      close(ends.read)
      let (probe, log) = (Probe(.stream, ends.write), Log())
      probe.write(log, data(5)).wait()
      log.show("calls:")
      probe.close()
    }
  ),
  (
    "channel barrier",
    {
      // The barrier comes after the first operation, not after its handler.
      let (probe, before, log) = (Probe(.stream, file(10)), Log(), Log())
      probe.channel.setLimit(lowWater: .max)
      let first = probe.read(before, 4)
      let between = Latch()
      probe.channel.barrier {
        log.add("barrier")
        between.open()
      }
      let second = probe.read(log, 4)
      first.wait()
      between.wait()
      second.wait()
      before.show("first:")
      log.show("calls:")
      probe.close()
    }
  ),
  (
    "channel of a channel",
    {
      let (probe, log, done, cleaned) = (Probe(.stream, file(10)), Log(), Latch(), Latch())
      let other = DispatchIO(type: .stream, io: probe.channel, queue: probe.queue) { error in
        log.add("cleanup \(error)")
        cleaned.open()
      }
      other.setLimit(lowWater: .max)
      other.read(offset: 0, length: 4, queue: probe.queue) { isLast, data, error in
        log.add("\(data?.count ?? -1) \(isLast) \(error)")
        if isLast { done.open() }
      }
      done.wait()
      other.close()
      probe.close()
      cleaned.wait()
      log.show("calls:")
    }
  ),
  opening("channel of no file", "/proc/none/file", O_RDONLY),
  opening("channel of a folder", "/tmp", O_RDONLY),
  opening("channel of a folder, to write", "/tmp", O_WRONLY),
  opening("channel of /dev/null", "/dev/null", O_RDONLY),
  opening("channel of /dev/full", "/dev/full", O_WRONLY),
  (
    "channel of a bad descriptor",
    {
      let (probe, log) = (Probe(.stream, 987), Log())
      probe.read(log).wait()
      log.show("calls:")
      probe.close()
    }
  ),
  (
    "single read and write",
    {
      let (ends, queue, log) = (pipe(), DispatchQueue(label: "q"), Log())
      let (written, seen) = (Latch(), Latch())
      DispatchIO.write(toFileDescriptor: ends.write, data: data(7), runningHandlerOn: queue) { rest, error in
        log.add("wrote, left \(rest.map { "\($0.count)" } ?? "nil") \(error)")
        written.open()
      }
      written.wait()
      DispatchIO.read(fromFileDescriptor: ends.read, maxLength: 100, runningHandlerOn: queue) { data, error in
        log.add("read \(data.count) \(error)")
        seen.open()
      }
      seen.wait()
      log.show()
    }
  ),
]
