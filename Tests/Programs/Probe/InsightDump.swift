// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral
import Synchronization

// What a process writes of itself, in handlers of signals and at a fault.
extension Scenario {
  static let insightDumps: [String: Body] = [
    "dump-text": dumpText, "dump-fault": dumpFault, "dump-in-handler": dumpInHandler, "dump-fork": dumpFork,
    "dump-signal": dumpSignal,
    "core-file": coreFile, "core-in-handler": coreInHandler, "core-refused": coreRefused, "core-faults": coreFaults,
    "fault-awaited": faultAwaited,
  ]

  /// Written by one thread, before the process is looked at.
  private nonisolated(unsafe) static var kept: [AnyObject] = []

  /// A thread that waits for a queue, and objects. They last as long as the process.
  private static func prepare() {
    // The first thread that needs the region makes it; others wait for that, for a while only.
    _ = GrandCentralRuntime.snapshot()
    let queue = DispatchQueue(label: "he\u{1B}ld")
    let isHeld = Latch(1)
    queue.async {
      isHeld.open()
      Latch(1).wait()
    }
    isHeld.wait()
    _ = PlainThread { queue.sync {} }
    while !GrandCentralRuntime.snapshot().threads.contains(where: { $0.wait?.kind == .queue }) { sched_yield() }
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .now() + .seconds(999), repeating: .seconds(5))
    timer.activate()
    let group = DispatchGroup()
    for _ in 0..<3 { group.enter() }
    let reader = DispatchSource.makeReadSource(fileDescriptor: 0, queue: queue)
    reader.suspend()
    kept = [group, reader as AnyObject, timer as AnyObject]
  }

  private static func dumpText() {
    report("early", GrandCentralRuntime.writeSnapshot(to: 2))
    prepare()
    report("written", GrandCentralRuntime.writeSnapshot(to: 2))
    errno = 77
    report("refused", GrandCentralRuntime.writeSnapshot(to: -1))
    report("errno", errno)
  }

  private static func dumpFault() {
    prepare()
    DispatchQueue(label: "over").resume()
  }

  private static let handled = Atomic<Int>(0)
  private static let target = Atomic<Int32>(-1)

  private static func dumpInHandler() {
    target.store(open("/dev/null", O_WRONLY), ordering: .relaxed)
    signal(SIGUSR1) { _ in
      let isWritten = GrandCentralRuntime.writeSnapshot(to: Scenario.target.load(ordering: .relaxed))
      Scenario.handled.add(isWritten ? 1 : 1_000_000, ordering: .relaxed)
    }
    interrupt(rounds: 500)
  }

  private static func coreInHandler() {
    target.store(open(fileName, O_RDWR | O_CREAT, 0o600), ordering: .relaxed)
    signal(SIGUSR1) { _ in
      let isWritten = GrandCentralRuntime.writeCore(to: Scenario.target.load(ordering: .relaxed))
      Scenario.handled.add(isWritten ? 1 : 1_000_000, ordering: .relaxed)
    }
    interrupt(rounds: 100)
  }

  /// GRANDCENTRAL_INSPECT=1: the handler interrupts a thread that allocates, and that holds the region's lock most of the time.
  private static func interrupt(rounds: Int) {
    var blocked = sigset_t()
    sigemptyset(&blocked)
    sigaddset(&blocked, SIGUSR1)
    pthread_sigmask(SIG_BLOCK, &blocked, nil)
    let mayEnd = Latch(1)
    let maker = PlainThread {
      var blocked = sigset_t()
      sigemptyset(&blocked)
      sigaddset(&blocked, SIGUSR1)
      _ = DispatchQueue(label: "first")
      pthread_sigmask(SIG_UNBLOCK, &blocked, nil)
      while !mayEnd.isOpen {
        for number in 0..<100 {
          let queue = DispatchQueue(label: "queue \(number)")
          queue.suspend()
          queue.resume()
        }
      }
    }
    for round in 0..<rounds {
      kill(getpid(), SIGUSR1)
      while handled.load(ordering: .relaxed) == round { sched_yield() }
    }
    mayEnd.open()
    maker.join()
    report("handled", handled.load(ordering: .relaxed) == rounds)
  }

  private static var fileName: String { getenv("GC_PROBE_FILE").map { String(cString: $0) } ?? "/dev/null" }

  /// Items, and then the file of the process.
  private static func coreFile() {
    let file = open(fileName, O_RDWR | O_CREAT, 0o600)
    report("early", GrandCentralRuntime.writeCore(to: file))
    prepare()
    let queue = DispatchQueue(label: "busy")
    for _ in 0..<100 { queue.async {} }
    queue.sync {}
    errno = 77
    report("refused", GrandCentralRuntime.writeCore(to: -1))
    guard let pipe = Kernel.closeOnExecPipe() else { preconditionFailure("no pipe") }
    report("pipe", GrandCentralRuntime.writeCore(to: pipe.writeEnd))
    report("errno", errno)
    // What was in the file is gone.
    require(ftruncate(file, 1 << 30) == 0, "the file is long")
    report("written", GrandCentralRuntime.writeCore(to: file))
    report("again", GrandCentralRuntime.writeCore(to: file))
  }

  /// The signal that the environment has chosen: before there is anything to show, to the thread that is in a system call, to the
  /// thread that sends it. The program goes on.
  private static func dumpSignal() {
    raise(SIGUSR2)
    prepare()
    guard let pipe = Kernel.closeOnExecPipe() else { preconditionFailure("no pipe") }
    nonisolated(unsafe) var thread = pthread_t()
    let isKnown = Latch(1)
    let reader = PlainThread {
      thread = pthread_self()
      isKnown.open()
      var byte: UInt8 = 0
      report("read", read(pipe.readEnd, &byte, 1))
    }
    isKnown.wait()
    pthread_kill(thread, SIGUSR2)
    raise(SIGUSR2)
    _ = write(pipe.writeEnd, "x", 1)
    reader.join()
    // What the program sets itself takes the place.
    signal(SIGUSR2) { _ in _ = write(2, "its own\n", 8) }
    raise(SIGUSR2)
  }

  /// What cannot be had, and children that are forked while another thread writes.
  private static func coreRefused() {
    prepare()
    let appending = open(fileName, O_RDWR | O_CREAT | O_APPEND, 0o600)
    report("appended", GrandCentralRuntime.writeCore(to: appending))
    let file = open(fileName, O_RDWR)
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    var small = limit
    small.rlim_cur = 100_000
    setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &small)
    report("limited", GrandCentralRuntime.writeCore(to: file))
    setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    report("unlimited", GrandCentralRuntime.writeCore(to: file))
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    let mayEnd = Latch(1)
    let writer = PlainThread {
      while !mayEnd.isOpen { _ = GrandCentralRuntime.writeCore(to: file) }
    }
    var refused = 0
    for _ in 0..<20 {
      let child = fork()
      if child == 0 {
        _ = GrandCentralRuntime.snapshot()
        _exit(GrandCentralRuntime.writeCore(to: open(fileName + "-child", O_RDWR | O_CREAT, 0o600)) ? 0 : 1)
      }
      var status: Int32 = -1
      while waitpid(child, &status, 0) < 0 && errno == EINTR {}
      if status != 0 { refused += 1 }
    }
    unlink(fileName + "-child")
    mayEnd.open()
    writer.join()
    report("children", refused)
  }

  /// Threads that make a fault at the same time.
  private static func coreFaults() {
    prepare()
    let start = Latch(1)
    let threads = (0..<8).map { number in
      PlainThread {
        start.wait()
        DispatchQueue(label: "over \(number)").resume()
      }
    }
    start.open()
    for thread in threads { thread.join() }
  }

  private static let second = Atomic<Int32>(0)

  /// The main thread is the one that ends the process. Another one waits for that, whatever signals it handles meanwhile. The child
  /// of a fork does not wait for its parent.
  private static func faultAwaited() {
    gc_insight_await_fault()
    let child = fork()
    if child == 0 {
      // The wait would last ten seconds.
      signal(SIGALRM, SIG_DFL)
      alarm(9)
      gc_insight_await_fault()
      _exit(0)
    }
    var status: Int32 = -1
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    report("child", status)

    signal(SIGUSR1) { _ in Scenario.handled.add(1, ordering: .relaxed) }
    let isBack = Latch()
    nonisolated(unsafe) var thread = pthread_t()
    let waited = Unprotected(0)
    _ = PlainThread {
      thread = pthread_self()
      // Nobody joins it: the process ends before.
      pthread_detach(thread)
      Scenario.second.store(Kernel.threadID, ordering: .releasing)
      let begin = monotonicNanoseconds()
      gc_insight_await_fault()
      waited.value = milliseconds(since: begin)
      isBack.open()
    }
    func sleeps() -> Bool {
      let identifier = second.load(ordering: .acquiring)
      return identifier != 0 && ProcessThreads.record(of: identifier)?.state == "S"
    }
    for round in 0..<5 {
      while !sleeps(), !isBack.isOpen { sched_yield() }
      if isBack.isOpen { break }
      pthread_kill(thread, SIGUSR1)
      while handled.load(ordering: .relaxed) == round, !isBack.isOpen { sched_yield() }
    }
    while !sleeps(), !isBack.isOpen { sched_yield() }
    // On a busy machine the whole wait may be over before all signals have been sent.
    let isOver = isBack.isOpen
    report("over", isOver)
    report("early", isOver && waited.value < 10_000)
    report("interrupted", handled.load(ordering: .relaxed))
    _exit(0)
  }

  private static func dumpFork() {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    prepare()
    let child = fork()
    if child == 0 { _exit(GrandCentralRuntime.writeSnapshot(to: 2) ? 1 : 0) }
    var status: Int32 = -1
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    report("child", status)
  }
}
