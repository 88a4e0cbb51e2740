// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral

/// What a kernel refuses that is older than the call, the request or the flag: Documentation/Platforms.md. `GC_ERROR` is what it answers.
extension Scenario {
  static let olderKernels: [String: Body] = [
    "without-clone3": withoutClone3, "without-populate": withoutPopulate, "without-nosignal": withoutNoSignal,
    "without-nowait": withoutNoWait, "early-end": earlyEnd, "without-recorded-end": withoutRecordedEnd,
    "without-memory-files": withoutMemoryFiles,
    "without-comparison": withoutComparison, "without-barrier": withoutBarrier, "without-listening": withoutListening,
    "barrier-is-ready": barrierIsReady,
  ]

  private static func refuse(_ calls: SystemCallFilter.Call..., where condition: SystemCallFilter.Condition? = nil) {
    let error = getenv("GC_ERROR").flatMap { Int32(String(cString: $0)) } ?? ENOSYS
    guard SystemCallFilter.refuse(calls, with: error, where: condition) else { skip("the kernel has no filters") }
  }

  // The fifth argument of `preadv2` and `pwritev2` is for machines of 32 bits; the sixth one has the flags.
  private static let noWait = SystemCallFilter.Condition.hasBit(0x8, argument: 5)
  private static let noSignal = SystemCallFilter.Condition.hasBit(0x100, argument: 5)

  private static func channel(_ descriptor: Int32, _ cleanup: @escaping @Sendable () -> Void = {}) -> DispatchIO {
    DispatchIO(type: .stream, fileDescriptor: descriptor, queue: .global()) { _ in cleanup() }
  }

  /// The C library starts threads by the older call.
  @Sendable private static func withoutClone3() {
    refuse(.clone3)
    let ran = Latch(100)
    for _ in 0..<100 { DispatchQueue.global().async { ran.open() } }
    require(ran.wait(), "the work is done")
  }

  /// Memory for items comes page by page.
  @Sendable private static func withoutPopulate() {
    refuse(.madvise, where: .equal(23, argument: 2))
    let queue = DispatchQueue(label: "held")
    let (gate, ran) = (Latch(), Counter())
    queue.async { gate.wait() }
    // More than one region holds.
    for _ in 0..<60_000 { queue.async { ran.add(1) } }
    gate.open()
    queue.sync {}
    require(ran.value == 60_000, "all items run")
  }

  /// SIGPIPE is kept from the process all the same.
  @Sendable private static func withoutNoSignal() {
    // The starter of this process may have ignored it, or blocked it: then nothing could come.
    signal(SIGPIPE, SIG_DFL)
    block(SIGPIPE, how: SIG_UNBLOCK)
    refuse(.pwritev2, where: noSignal)
    guard let pipe = Kernel.closeOnExecPipe() else { return }
    close(pipe.readEnd)
    let (ended, error) = (Latch(), Counter())
    let data = [1, 2, 3].withUnsafeBytes { DispatchData(bytes: $0) }
    let channel = channel(pipe.writeEnd)
    channel.write(offset: 0, data: data, queue: .global()) { done, _, code in
      guard done else { return }
      error.add(Int(code))
      ended.open()
    }
    require(ended.wait(), "the write ends")
    report("error", error.value)
  }

  /// Files and pipes cannot be asked whether a transfer would wait.
  @Sendable private static func withoutNoWait() {
    refuse(.preadv2, .pwritev2, where: noWait)
    let file = open("/proc/self/maps", O_RDONLY)
    guard let pipe = Kernel.closeOnExecPipe() else { return }
    let (done, bytes) = (Latch(3), Counter())
    DispatchIO.read(fromFileDescriptor: file, maxLength: 100, runningHandlerOn: .global()) { data, _ in
      bytes.add(data.count)
      done.open()
    }
    let data = [UInt8](repeating: 7, count: 1_000).withUnsafeBytes { DispatchData(bytes: $0) }
    // More than the pipe holds, so that both ends wait.
    let much = (0..<200).reduce(into: DispatchData.empty) { sum, _ in sum.append(data) }
    DispatchIO.write(toFileDescriptor: pipe.writeEnd, data: much, runningHandlerOn: .global()) { rest, error in
      require(rest == nil && error == 0, "all is written")
      done.open()
    }
    channel(pipe.readEnd).read(offset: 0, length: much.count, queue: .global()) { isLast, data, _ in
      bytes.add(data?.count ?? 0)
      if isLast { done.open() }
    }
    require(done.wait(), "all transfers end")
    report("bytes", bytes.value)
  }

  /// Files that are asked for what is there say that they have ended, as those of Linux 5.10 do in the midst.
  @Sendable private static func earlyEnd() {
    refuse(.preadv2, where: noWait)
    var template = Array("/tmp/gcd-early-XXXXXX".utf8CString)
    let file = mkstemp(&template)
    unlink(template)
    let written = [UInt8](repeating: 7, count: 200_000)
    require(write(file, written, written.count) == written.count && lseek(file, 0, SEEK_SET) == 0, "there is a file")
    let (done, bytes) = (Latch(2), Counter())
    let random = DispatchIO(type: .random, fileDescriptor: file, queue: .global()) { _ in }
    for (channel, offset) in [(channel(file), off_t(0)), (random, 100_000)] {
      channel.read(offset: offset, length: .max, queue: .global()) { isLast, data, error in
        require(error == 0, "no error")
        bytes.add(data?.count ?? 0)
        if isLast { done.open() }
      }
    }
    require(done.wait(), "both reads end")
    report("bytes", bytes.value)
  }

  /// The end of a process that is no child is heard of; how it has ended is not known.
  @Sendable private static func withoutRecordedEnd() {
    refuse(.ioctl, where: .equal(0xC040_FF0B, argument: 1))
    guard let pipe = Kernel.closeOnExecPipe() else { return }
    let parent = gc_fork()
    if parent == 0 {
      let child = gc_fork()
      if child == 0 {
        // Until the program that watches it kills it, or is gone.
        alarm(120)
        while true { pause() }
      }
      withUnsafeBytes(of: child) { _ = write(pipe.writeEnd, $0.baseAddress, $0.count) }
      var status: Int32 = 0
      waitpid(child, &status, 0)
      _exit(0)
    }
    var child: pid_t = 0
    require(
      withUnsafeMutableBytes(of: &child) { read(pipe.readEnd, $0.baseAddress, $0.count) } == 4, "there is a child")
    let (ended, registered) = (Latch(), Latch())
    let source = DispatchSource.makeProcessSource(identifier: child, eventMask: .exit)
    source.setEventHandler { ended.open() }
    source.setRegistrationHandler { registered.open() }
    source.activate()
    require(registered.wait(), "the source is registered")
    kill(child, SIGKILL)
    var status: Int32 = 0
    require(waitpid(parent, &status, 0) == parent, "the parent has reaped it")
    require(ended.wait(), "the exit is heard of")
    report("known", source.exitStatus != nil)
    source.cancel()
  }

  /// Tools cannot look into the process; all else works.
  @Sendable private static func withoutMemoryFiles() {
    refuse(.memfd_create)
    let ran = Latch(100)
    for _ in 0..<100 { DispatchQueue.global().async { ran.open() } }
    require(ran.wait(), "the work is done")
    _ = GrandCentralRuntime.snapshot()
    report("files", hasDescriptor(of: "memfd"))
  }

  /// Two channels of one pipe, by two descriptors: the last one sets its flags back.
  @Sendable private static func withoutComparison() {
    refuse(.kcmp)
    guard SystemCallFilter.refuse([.preadv2, .pwritev2], with: EOPNOTSUPP, where: noWait) else { skip("no filters") }
    guard let pipe = Kernel.closeOnExecPipe() else { return }
    let copy = dup(pipe.readEnd)
    let (read, closed) = (Latch(2), [Latch(), Latch()])
    let channels = zip([pipe.readEnd, copy], closed).map { descriptor, latch in channel(descriptor) { latch.open() } }
    for channel in channels {
      channel.read(offset: 0, length: 1, queue: .global()) { done, _, error in
        require(error == 0, "a byte can be read: \(error)")
        if done { read.open() }
      }
    }
    require(write(pipe.writeEnd, "xy", 2) == 2, "two bytes are written")
    require(read.wait(), "each channel reads one")
    let fcntl = unsafeBitCast(dlsym(nil, "fcntl"), to: (@convention(c) (Int32, Int32) -> Int32).self)
    let blocks = zip(channels, closed).map { channel, latch in
      channel.close()
      require(latch.wait(), "the channel ends")
      return fcntl(copy, F_GETFL) & O_NONBLOCK == 0 ? "yes" : "no"
    }
    report("blocks", blocks.joined(separator: ","))
  }

  /// Workers run on; the report of a used-up budget cannot say what they do. Iterations are handed out one by one.
  @Sendable private static func withoutBarrier() {
    refuse(.membarrier)
    let later = DispatchSemaphore(value: 0)
    DispatchQueue.concurrentPerform(iterations: 64) { index in
      if index == 3 { later.wait() } else if index == 4 { later.signal() }
    }
    guard let pipe = Kernel.closeOnExecPipe() else { return }
    let gate = Latch()
    let saved = dup(2)
    dup2(pipe.writeEnd, 2)
    let queue = DispatchQueue(label: "blocked", attributes: .concurrent)
    let ran = Latch(20)
    for _ in 0..<20 {
      queue.async {
        gate.wait()
        ran.open()
      }
    }
    var text = [UInt8](repeating: 0, count: 1_000)
    let count = read(pipe.readEnd, &text, text.count)
    dup2(saved, 2)
    report("line", String(decoding: text[..<max(0, count)], as: UTF8.self).split(separator: "\n").first ?? "")
    gate.open()
    require(ran.wait(), "all items run")
  }

  /// What a call whose iterations wait needs of the kernel is there from the first item on: later it would take 10 ms and more.
  @Sendable private static func barrierIsReady() {
    guard gc_membarrier_is_offered() else { skip("the kernel has no barrier") }
    guard gc_is_only_thread() else { skip("there are other threads") }
    report("before", gc_membarrier() == 0)
    DispatchQueue.global().async {}
    report("after", gc_membarrier() == 0)
  }

  /// Forks and execs of processes cannot be listened to; ends can.
  @Sendable private static func withoutListening() {
    refuse(.socket, where: .equal(16, argument: 0))
    report("exitOnly", DispatchSource.supportedProcessEvents == .exit)
  }
}

/// What the C library says of the kernel; with `GC_RELEASE`, that it is of that version. In the library of the same program, too.
@_cdecl("uname")
func claimedKernel(_ name: UnsafeMutablePointer<utsname>) -> Int32 {
  typealias Ask = @convention(c) (UnsafeMutablePointer<utsname>) -> Int32
  let next = UnsafeMutableRawPointer(bitPattern: -1)  // RTLD_NEXT
  let result = unsafeBitCast(dlsym(next, "uname"), to: Ask.self)(name)
  if let release = getenv("GC_RELEASE") {
    withUnsafeMutableBytes(of: &name.pointee.release) {
      $0.copyBytes(from: UnsafeRawBufferPointer(start: release, count: strlen(release) + 1))
    }
  }
  return result
}
