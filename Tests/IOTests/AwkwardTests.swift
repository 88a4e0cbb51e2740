// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("Awkward descriptors")
struct AwkwardTests {
  @Test("I2: a device without end, up to a length")
  func zero() {
    let channel = DispatchIO.stream(open("/dev/zero", O_RDONLY))
    let calls = channel.read(5_000_000)
    #expect(calls.end()?.error == 0)
    #expect(calls.bytes == [UInt8](repeating: 0, count: 5_000_000))
  }

  @Test("I5: a device without end is stopped")
  func zeroStopped() {
    let channel = DispatchIO.stream(open("/dev/zero", O_RDONLY))
    let calls = Calls()
    channel.read(offset: 0, length: .max, queue: .global()) { done, _, error in calls.handler(done, nil, error) }
    waitFor { calls.count > 10 }
    channel.close(flags: .stop)
    #expect(calls.end()?.error == ECANCELED)
  }

  @Test("I2: devices that are full and files under /proc, which have no size, are read to their end")
  func odd() {
    #expect(
      DispatchIO.stream(open("/dev/full", O_RDONLY)).read(1000).end()?.bytes == [UInt8](repeating: 0, count: 1000))
    let calls = DispatchIO.stream(open("/proc/cpuinfo", O_RDONLY)).read()
    #expect(calls.end() == Call(true, ""))
    #expect(calls.text == readText("/proc/cpuinfo") || calls.text.contains("processor"))
    #expect(DispatchIO.stream(open("/dev/null", O_RDONLY)).read().end() == Call(true, ""))
  }

  @Test("I2, I3: a terminal, both ways; its flags are what they were afterwards")
  func terminal() {
    let (program, user) = Kernel.openTerminal()
    for end in [program, user] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let before = flags(program)
    let cleanup = Cleanup()
    let channel = DispatchIO.stream(program, cleanup)
    let calls = channel.read()
    #expect(write(user, "out", 3) == 3)
    waitFor { calls.text == "out" }
    #expect(channel.write(data("in\n")).end() == Call(true, nil as String?))
    // The terminal echoes it.
    waitFor { calls.text == "outin\r\n" }
    var line = [UInt8](repeating: 0, count: 10)
    #expect(read(user, &line, 10) == 3)
    // The last user of the other end is gone: Linux says so with an error.
    close(user)
    #expect(calls.end() == Call(true, nil as String?, EIO))
    channel.close()
    #expect(cleanup.error() == 0)
    #expect(flags(program) == before)
    close(program)
  }

  @Test("I2: what was gathered before an error comes first, without the error")
  func gatheredBeforeError() {
    let (program, user) = Kernel.openTerminal()
    for end in [program, user] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let channel = DispatchIO.stream(program)
    channel.setLimit(lowWater: 100)
    let calls = channel.read()
    #expect(write(user, "out", 3) == 3)
    close(user)
    #expect(calls.end() == Call(true, nil as String?, EIO))
    #expect(calls.all.first == Call(false, "out", 0) && calls.count == 2)
  }

  @Test("I1, I5: channels on duplicates of a terminal share O_NONBLOCK to the last", arguments: [false, true])
  func duplicates(isSwitchedFirst: Bool) {
    let (program, user) = Kernel.openTerminal()
    let duplicate = dup(program)
    for end in [program, user, duplicate] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let before = flags(program)
    let (first, second) = (Cleanup(), Cleanup())
    let channel = DispatchIO.stream(program, first)
    let early = isSwitchedFirst ? channel.read(1) : nil
    if isSwitchedFirst { waitFor { flags(program) & O_NONBLOCK != 0 } }
    let other = DispatchIO.stream(duplicate, second)
    let calls = early ?? channel.read(1)
    #expect(write(user, "x", 1) == 1)
    #expect(calls.end() == Call(true, "x"))
    let silent = other.read()
    // The second channel shares the flag from its first transfer on: until then it is the first one's alone.
    #expect(write(user, "y", 1) == 1)
    waitFor { silent.text == "y" }
    channel.close()
    #expect(first.error() == 0)
    #expect(flags(duplicate) & O_NONBLOCK != 0)
    #expect(write(user, "z", 1) == 1)
    waitFor { silent.text == "yz" }
    // The read waits again, and no thread waits with it.
    other.close(flags: .stop)
    #expect(silent.end() == Call(true, nil as String?, ECANCELED))
    #expect(second.error() == 0)
    #expect(flags(duplicate) == before)
    for end in [program, user, duplicate] { close(end) }
  }

  @Test("I5: a terminal whose O_NONBLOCK others clear keeps no thread")
  func clearedByOthers() {
    let (program, user) = Kernel.openTerminal()
    for end in [program, user] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let before = flags(program)
    let cleanup = Cleanup()
    let channel = DispatchIO.stream(program, cleanup)
    let first = channel.read(1)
    #expect(write(user, "x", 1) == 1)
    #expect(first.end() == Call(true, "x"))
    #expect(flags(program) & O_NONBLOCK != 0)
    _ = fcntl(program, F_SETFL, before)
    let calls = channel.read()
    let fence = channel.write(data("fence"))
    #expect(fence.end()?.error == 0)
    channel.close(flags: .stop)
    #expect(calls.end() == Call(true, nil as String?, ECANCELED))
    #expect(cleanup.error() == 0)
    for end in [program, user] { close(end) }
  }

  @Test("I1: the flags of pipes and sockets stay as they are", arguments: [false, true])
  func flagsStay(usesSocket: Bool) {
    let ends = usesSocket ? Ends.socketPair() : Ends.pipe()
    let before = flags(ends.reading)
    let channel = DispatchIO.stream(ends.reading)
    let calls = channel.read(3)
    ends.write("a")
    waitFor { calls.count == 1 }
    #expect(flags(ends.reading) == before)
    ends.write("bc")
    #expect(calls.end()?.error == 0)
    close(ends.writing)
  }

  @Test("I2: a descriptor that does not block is read all the same")
  func nonBlocking() {
    let ends = Ends.pipe()
    _ = fcntl(ends.reading, F_SETFL, flags(ends.reading) | O_NONBLOCK)
    let cleanup = Cleanup()
    let channel = DispatchIO.stream(ends.reading, cleanup)
    let calls = channel.read(3)
    ends.write("abc")
    #expect(calls.end() == Call(true, "abc"))
    channel.close()
    #expect(cleanup.error() == 0)
    #expect(flags(ends.reading) & O_NONBLOCK != 0)
    close(ends.reading)
    close(ends.writing)
  }

  @Test("I2: an event descriptor")
  func event() {
    let event = gc_eventfd()
    var count: UInt64 = 3
    #expect(write(event, &count, 8) == 8)
    #expect(DispatchIO.stream(event).read(8).end() == Call(true, [3, 0, 0, 0, 0, 0, 0, 0], 0))
  }

  @Test("I2: a file that is truncated while it is read ends there", arguments: ["/tmp", "/dev/shm"])
  func truncated(folder: String) {
    let file = temporaryFile(pattern(3_000_000), in: folder)
    let channel = DispatchIO.stream(file)
    channel.setLimit(highWater: 100_000)
    let (inside, go, ended, total) = (Latch(), Latch(), Latch(), Counter())
    channel.read(offset: 0, length: .max, queue: .global()) { done, data, error in
      if total.value == 0 {
        takeLong()
      } else {
        inside.open()
        go.wait()
      }
      total.add(data?.count ?? 0)
      if done, error == 0 { ended.open() }
    }
    #expect(inside.wait())
    waitFor { lseek(file, 0, SEEK_CUR) == 300_000 }
    #expect(ftruncate(file, 350_000) == 0)
    go.open()
    #expect(ended.wait())
    #expect(total.value == 350_000)
  }

  /// In a process of its own: other tests start threads as well, and need descriptors.
  @Test("I8: a thousand channels at once, most of them silent, keep no thread")
  func thousand() async {
    await #expect(processExitsWith: .success) {
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let count = min(1000, (Int(limit.rlim_cur) - 200) / 2)
      let pipes = (0..<count).map { _ in Ends.pipe() }
      let cleanups = pipes.map { Cleanup(closing: [$0.reading]) }
      let channels = zip(pipes, cleanups).map { DispatchIO.stream($0.reading, $1) }
      let calls = channels.map { $0.read() }
      for (index, pipe) in pipes.enumerated() { pipe.write("\(index)") }
      for (index, call) in calls.enumerated() { waitFor { call.text == "\(index)" } }
      // All reads wait, and other work goes on.
      let fence = Latch()
      DispatchQueue.global().async { fence.open() }
      #expect(fence.wait())
      #expect(ProcessThreads.workers.count < 200)
      for (index, channel) in channels.enumerated() where index % 2 == 0 { channel.close(flags: .stop) }
      for (index, pipe) in pipes.enumerated() where index % 2 == 1 { close(pipe.writing) }
      for (index, call) in calls.enumerated() {
        #expect(call.end() == (index % 2 == 0 ? Call(true, nil as String?, ECANCELED) : Call(true, "")))
      }
      for channel in channels { channel.close() }
      for cleanup in cleanups { #expect(cleanup.error() == 0) }
      for (index, pipe) in pipes.enumerated() where index % 2 == 0 { close(pipe.writing) }
    }
  }
}
