// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral

/// What a filter refuses for good: `GC_REFUSED` says which calls, `GC_ERROR` with what.
extension Scenario {
  static let refusals: [String: Body] = [
    "refused-wait": refusedWait, "refused-timer": refusedTimer, "refused-watches": refusedWatches,
    "refused-process": refusedProcess, "refused-event": refusedEvent, "refused-ring": refusedRing,
    "refused-ring-rush": refusedRingRush,
    "refused-threads": refusedThreads,
  ]

  private static func refuse(_ calls: [SystemCallFilter.Call]) {
    let error = getenv("GC_ERROR").flatMap { Int32(String(cString: $0)) } ?? EPERM
    guard SystemCallFilter.refuse(calls, with: error) else { skip("the kernel has no filters") }
  }

  private static func processorTime(_ body: () -> Void) {
    let before = clock()
    body()
    report("milliseconds", (clock() - before) / (CLOCKS_PER_SEC / 1000))
  }

  /// Timers and sources work by the older call.
  @Sendable private static func refusedWait() {
    refuse([.epoll_pwait2])
    guard let pipe = Kernel.closeOnExecPipe() else { return }
    let (fired, heard) = (Latch(), Latch())
    let source = DispatchSource.makeReadSource(fileDescriptor: pipe.readEnd)
    source.setEventHandler {
      var byte: UInt8 = 0
      if read(pipe.readEnd, &byte, 1) == 1 { heard.open() }
    }
    source.activate()
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(5)) { fired.open() }
    require(fired.wait(), "the timer fires")
    _ = write(pipe.writeEnd, "x", 1)
    require(heard.wait(), "the source fires")
    report("share", processorShare(asleep: 200))
    source.cancel()
  }

  /// Timers on the wall clock come a second late at most.
  @Sendable private static func refusedTimer() {
    refuse([.timerfd_create])
    let fired = Latch()
    // Long enough for a thread that asks for the clock's descriptor, also on a machine that others load.
    DispatchQueue.global().asyncAfter(wallDeadline: .now() + .seconds(2)) { fired.open() }
    require(fired.wait(), "the timer fires")
    processorTime { usleep(100_000) }
  }

  /// Sources of files are cancelled, with a line that says why.
  @Sendable private static func refusedWatches() {
    refuse([.inotify_init1, .inotify_add_watch])
    let file = open("/tmp", O_RDONLY)
    let ended = Latch()
    let source = DispatchSource.makeFileSystemObjectSource(fileDescriptor: file, eventMask: .write)
    source.setEventHandler {}
    source.setCancelHandler { ended.open() }
    source.activate()
    require(ended.wait(), "the source ends")
  }

  /// The ends of processes are looked for.
  @Sendable private static func refusedProcess() {
    refuse([.pidfd_open])
    let parent = getpid()
    let child = gc_fork()
    if child == 0 {
      while getppid() == parent { usleep(10_000) }
      _exit(0)
    }
    let ended = Latch()
    let source = DispatchSource.makeProcessSource(identifier: child, eventMask: .exit)
    source.setEventHandler { ended.open() }
    source.activate()
    kill(child, SIGKILL)
    require(ended.wait(), "the exit is heard of")
    require(source.exitStatus == .killed(signal: SIGKILL, dumpedCore: false), "the status is known")
    source.cancel()
  }

  /// Without event descriptors there is no poller to interrupt: sources of descriptors end, all else works.
  @Sendable private static func refusedEvent() {
    refuse([.eventfd2])
    guard let pipe = Kernel.closeOnExecPipe() else { return }
    let (fired, ended, counted) = (Latch(), Latch(), Latch())
    signal(SIGUSR1, SIG_IGN)
    let signals = DispatchSource.makeSignalSource(signal: SIGUSR1)
    signals.setEventHandler { counted.open() }
    signals.activate()
    kill(getpid(), SIGUSR1)
    let source = DispatchSource.makeReadSource(fileDescriptor: pipe.readEnd)
    source.setEventHandler {}
    source.setCancelHandler { ended.open() }
    source.activate()
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(5)) { fired.open() }
    require(ended.wait(), "the source ends")
    require(fired.wait(), "the timer fires")
    require(counted.wait(), "the signal is counted")
    processorTime { usleep(100_000) }
  }

  /// Helpers read files.
  @Sendable private static func refusedRing() {
    refuse([.io_uring_setup])
    let (done, bytes) = (Latch(), Counter())
    let file = open("/proc/self/maps", O_RDONLY)
    // The ring would serve a random channel.
    let channel = DispatchIO(type: .random, fileDescriptor: file, queue: .global()) { _ in }
    channel.read(offset: 0, length: 100, queue: .global()) { isDone, data, _ in
      bytes.add(data?.count ?? 0)
      if isDone { done.open() }
    }
    require(done.wait(), "the file is read")
    report("bytes", bytes.value)
  }

  /// Items that wait for what they read have taken all threads that begin items.
  @Sendable private static func refusedRingRush() {
    refuse([.io_uring_setup])
    let (done, bytes) = (Latch(64), Counter())
    let file = open("/proc/self/maps", O_RDONLY)
    for _ in 0..<64 {
      DispatchQueue.global().async {
        // Time for the others to begin as well.
        usleep(50_000)
        let read = Latch()
        let channel = DispatchIO(type: .random, fileDescriptor: file, queue: .global()) { _ in }
        channel.read(offset: 0, length: 100, queue: DispatchQueue(label: "reader")) { isDone, data, _ in
          bytes.add(data?.count ?? 0)
          if isDone { read.open() }
        }
        read.wait(seconds: 1e6)
        done.open()
      }
    }
    require(done.wait(), "all items end")
    report("bytes", bytes.value)
  }

  /// No thread can be had, ever: submissions return, and what runs here runs.
  @Sendable private static func refusedThreads() {
    refuse([.clone, .clone3])
    processorTime {
      for _ in 0..<10_000 { DispatchQueue.global().async {} }
      DispatchQueue.concurrentPerform(iterations: 10) { _ in }
      report("sync", DispatchQueue(label: "serial").sync { 7 })
    }
    _exit(0)
  }
}
