// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral

/// What the kernel refuses for a while, and then grants again.
extension Scenario {
  static let exhaustion: [String: Body] = [
    "short-of-threads-by-limit": threadsByLimit, "short-of-threads-by-group": threadsByGroup,
    "short-of-threads-rush": rushWhileShort, "short-of-threads-beside-exec": threadsBesideExec,
    "short-of-descriptors": shortOfDescriptors, "short-of-descriptors-cancel": cancelWhileShort,
    "short-of-descriptors-spinning": spinWhileShort, "short-of-descriptors-foreign": foreignWhileShort,
    "short-of-descriptors-interrupt": interruptAfterShortage, "short-of-memory": shortOfMemory,
    "out-of-memory": outOfMemory, "short-of-one-call": shortOfOneCall,
  ]

  // MARK: Threads

  /// Submits while no thread can be started; `end` ends that shortage, on a thread that was there before.
  private static func requireDelay(_ begin: () -> Bool, _ end: @escaping @Sendable () -> Void) {
    let (submits, ran, said) = (Latch(), Latch(100), watchErrors())
    let savior = PlainThread {
      submits.wait()
      // A refusal that is over within a second is not reported.
      said.wait()
      end()
    }
    if !begin() {
      submits.open()
      skip("the limit cannot be set")
    }
    let before = clock()
    submits.open()
    for _ in 0..<100 { DispatchQueue.global().async { ran.open() } }
    require(ran.wait(), "the work is done when threads can be had again")
    savior.join()
    report("milliseconds", (clock() - before) / (CLOCKS_PER_SEC / 1000))
    // LeakSanitizer would want a thread of its own at the exit.
    _exit(0)
  }

  @Sendable private static func threadsByLimit() {
    guard geteuid() == 0 else { skip("only root can become a user without threads") }
    let user = uid_t(50_000 + getpid() % 5_000)
    let resource = __rlimit_resource_t(6)
    requireDelay {
      var limit = rlimit(rlim_cur: 2, rlim_max: 4_000)
      return setrlimit(resource, &limit) == 0 && setgid(user) == 0 && setuid(user) == 0
    } _: {
      var limit = rlimit(rlim_cur: 4_000, rlim_max: 4_000)
      require(setrlimit(resource, &limit) == 0, "the limit is raised")
    }
  }

  private static func put(_ text: String, into path: String) -> Bool {
    let file = open(path, O_WRONLY)
    if file < 0 { return false }
    defer { close(file) }
    return write(file, text, text.utf8.count) == text.utf8.count
  }

  @Sendable private static func threadsByGroup() {
    let top = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].first { access($0 + "/cgroup.procs", W_OK) == 0 }
    guard let top else { skip("there are no control groups") }
    let group = top + "/gc-probe-\(getpid())"
    guard mkdir(group, 0o755) == 0 else { skip("no control group can be made") }
    guard put("\(getpid())", into: group + "/cgroup.procs"), access(group + "/pids.max", W_OK) == 0 else {
      rmdir(group)
      skip("the group has no limit of threads")
    }
    // The test program is the parent: it removes the group when this process is gone.
    report("group", group)
    requireDelay {
      put("2", into: group + "/pids.max")
    } _: {
      require(put("max", into: group + "/pids.max"), "the limit is raised")
    }
  }

  /// A user's threads are few, and each item keeps one until a serial queue has answered.
  @Sendable private static func rushWhileShort() {
    guard geteuid() == 0 else { skip("only root can become a user with few threads") }
    var limit = rlimit(rlim_cur: 8, rlim_max: 8)
    let user = uid_t(50_000 + getpid() % 5_000)
    guard setrlimit(__rlimit_resource_t(6), &limit) == 0, setgid(user) == 0, setuid(user) == 0 else {
      skip("the limit cannot be set")
    }
    let (serial, ran) = (DispatchQueue(label: "serial"), Latch(200))
    for number in 0..<200 {
      DispatchQueue.global().async {
        if number % 2 == 0 {
          let answer = DispatchSemaphore(value: 0)
          serial.async { answer.signal() }
          answer.wait()
        } else {
          let answer = Latch()
          serial.asyncAfter(deadline: .now() + .microseconds(100)) { answer.open() }
          answer.wait(seconds: 1e6)
        }
        ran.open()
      }
    }
    require(ran.wait(), "all items end")
    // LeakSanitizer would want a thread of its own at the exit.
    _exit(0)
  }

  /// A thread replaces the program again and again, in vain: meanwhile the kernel starts no thread for a moment.
  @Sendable private static func threadsBesideExec() {
    var template = Array("/tmp/gc-probe-XXXXXX".utf8CString)
    let file = mkstemp(&template)
    _ = write(file, "no program", 10)
    fchmod(file, 0o700)
    close(file)
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let (isOver, tried, other) = (Counter(), Latch(), Counter())
    let replacer = PlainThread {
      var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(path), nil]
      while isOver.value == 0 {
        execv(path, &arguments)
        if errno != ENOEXEC { other.add(1) }
        tried.open()
        usleep(100)
      }
      free(arguments[0])
    }
    require(tried.wait(), "the thread runs")
    let (started, gate, ended) = (Latch(200), DispatchSemaphore(value: 0), Latch(200))
    for _ in 0..<200 {
      DispatchQueue.global().async {
        started.open()
        gate.wait()
        ended.open()
      }
    }
    require(started.wait(), "each item has a thread")
    for _ in 0..<200 { gate.signal() }
    require(ended.wait(), "all items end")
    isOver.add(1)
    replacer.join()
    unlink(path)
    require(other.value == 0, "the file is no program")
  }

  // MARK: Descriptors

  private static func limitDescriptors(_ soft: rlim_t) -> rlim_t {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    getrlimit(resource, &limit)
    let before = limit.rlim_cur
    limit.rlim_cur = soft
    setrlimit(resource, &limit)
    return before
  }

  /// One source of each kind that watches something in the kernel, and what it needs, all opened beforehand.
  private final class Sources: Sendable {
    let pipe: (readEnd: Int32, writeEnd: Int32)
    let file: Int32
    let child: pid_t
    let all: [any DispatchSourceProtocol]
    let fired: [Latch]
    let ended: Latch
    private let registered: Latch

    init() {
      guard let pipe = Kernel.closeOnExecPipe() else { preconditionFailure("no pipe") }
      self.pipe = pipe
      var template = Array("/tmp/gc-probe-XXXXXX".utf8CString)
      file = mkstemp(&template)
      unlink(template)
      let parent = getpid()
      child = gc_fork()
      if child == 0 {
        while getppid() == parent { usleep(10_000) }
        _exit(0)
      }
      signal(SIGUSR1, SIG_IGN)
      all = [
        DispatchSource.makeReadSource(fileDescriptor: pipe.readEnd),
        DispatchSource.makeWriteSource(fileDescriptor: pipe.writeEnd),
        DispatchSource.makeSignalSource(signal: SIGUSR1),
        DispatchSource.makeProcessSource(identifier: child, eventMask: .exit),
        DispatchSource.makeFileSystemObjectSource(fileDescriptor: file, eventMask: .write),
        DispatchSource.makeMemoryPressureSource(eventMask: .all),
      ]
      fired = all.map { _ in Latch() }
      (ended, registered) = (Latch(all.count), Latch(all.count))
      for (source, latch) in zip(all, fired) {
        source.setEventHandler { [unowned source] in
          _ = source.data
          latch.open()
        }
        source.setRegistrationHandler { [registered] in registered.open() }
        source.setCancelHandler { [ended] in ended.open() }
      }
    }

    func activate() { for source in all { source.activate() } }

    /// What each of them watches happens, but for memory pressure.
    func stir() {
      _ = write(pipe.writeEnd, "x", 1)
      kill(getpid(), SIGUSR1)
      kill(child, SIGKILL)
    }

    func requireEvents() {
      require(registered.wait(), "all sources are registered")
      _ = write(file, "x", 1)
      for (index, latch) in fired.dropLast().enumerated() { require(latch.wait(), "source \(index) fires") }
    }

    func cancel() {
      for source in all { source.cancel() }
      require(ended.wait(), "all cancel handlers run")
    }
  }

  /// All kinds of sources are activated, and their events happen, while there are no descriptors.
  @Sendable private static func shortOfDescriptors() {
    let sources = Sources()
    let before = limitDescriptors(0)
    let supported = DispatchSource.supportedProcessEvents
    sources.activate()
    sources.stir()
    // These two sources need no descriptor: the engine looks for their events by itself.
    require(sources.fired[2].wait(), "the signal is counted")
    require(sources.fired[3].wait(), "the end of the child is noticed")
    report("share", processorShare(asleep: 100))
    require(!sources.all.contains { $0.isCancelled }, "no source is cancelled")
    _ = limitDescriptors(before)
    sources.requireEvents()
    require(supported.contains(.exit), "exit is supported meanwhile")
    report("sameSupport", DispatchSource.supportedProcessEvents.isSuperset(of: supported))
    sources.cancel()
  }

  /// Sources whose registration is delayed are cancelled.
  @Sendable private static func cancelWhileShort() {
    let sources = Sources()
    _ = limitDescriptors(0)
    sources.activate()
    sources.cancel()
    kill(sources.child, SIGKILL)
  }

  /// The monitor cannot read `/proc`: workers that compute are not taken for blocked.
  @Sendable private static func spinWhileShort() {
    // Four workers share a processor, so that each of them waits for it most of the time.
    require(Kernel.useOneProcessor(), "the processor is chosen")
    let before = limitDescriptors(0)
    let done = Latch(60)
    for _ in 0..<60 {
      DispatchQueue.global().async {
        spin(milliseconds: 20)
        done.open()
      }
    }
    require(done.wait(), "the work is done")
    _ = limitDescriptors(before)
    report("workers", ProcessThreads.workers.count)
  }

  /// A watched descriptor is closed while a copy stays open, which the kernel reports for ever.
  @Sendable private static func foreignWhileShort() {
    guard let pipe = Kernel.closeOnExecPipe(), let other = Kernel.closeOnExecPipe() else { return }
    let source = DispatchSource.makeReadSource(fileDescriptor: pipe.readEnd)
    let registered = Latch()
    source.setEventHandler {}
    source.setRegistrationHandler { registered.open() }
    source.activate()
    require(registered.wait(), "the source is registered")
    let copy = dup(pipe.readEnd)
    close(pipe.readEnd)
    source.cancel()
    // Another one, whose events come all the same.
    let (witness, heard) = (DispatchSource.makeReadSource(fileDescriptor: other.readEnd), Latch())
    let ready = Latch()
    witness.setEventHandler {
      _ = takeByte(other.readEnd)
      heard.open()
    }
    witness.setRegistrationHandler { ready.open() }
    witness.activate()
    require(ready.wait(), "the witness is registered")
    let before = limitDescriptors(0)
    _ = write(pipe.writeEnd, "x", 1)
    usleep(20_000)
    report("share", processorShare(asleep: 400))
    _ = write(other.writeEnd, "x", 1)
    require(heard.wait(), "events of others come")
    _ = limitDescriptors(before)
    witness.cancel()
    close(copy)
  }

  private static func takeByte(_ descriptor: Int32) -> Bool {
    var byte: UInt8 = 0
    return read(descriptor, &byte, 1) == 1
  }

  /// The poller has gone to wait for a distant timer without descriptors, and is interrupted once there are some.
  @Sendable private static func interruptAfterShortage() {
    guard let pipe = Kernel.closeOnExecPipe() else { return }
    let before = limitDescriptors(0)
    let started = Latch()
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(100)) {}
    DispatchQueue.global().async { started.open() }
    require(started.wait(), "the worker runs")
    // It waits by now, or will in a moment.
    usleep(50_000)
    _ = limitDescriptors(before)
    let heard = Latch()
    let source = DispatchSource.makeReadSource(fileDescriptor: pipe.readEnd)
    source.setEventHandler {
      _ = takeByte(pipe.readEnd)
      heard.open()
    }
    source.activate()
    _ = write(pipe.writeEnd, "x", 1)
    require(heard.wait(), "the poller comes back to its new epoll")
    let ran = Latch()
    DispatchQueue.global().async { ran.open() }
    require(ran.wait(), "and takes work")
  }

  // MARK: Memory

  private static let large: UInt32 = 1 << 20

  /// A thread may map no more memory for items; those that have run make room.
  @Sendable private static func shortOfMemory() {
    let queue = DispatchQueue(label: "held")
    let (gate, ran, submitted, said) = (Latch(), Counter(), Counter(), watchErrors())
    queue.async { gate.wait() }
    let submitter = PlainThread {
      guard SystemCallFilter.refuse([.mmap], with: ENOMEM, smallest: large) else { skip("no filters") }
      // More than one region holds.
      for _ in 0..<60_000 {
        queue.async { ran.add(1) }
        submitted.add(1)
      }
    }
    said.wait()
    report("halted", submitted.value < 60_000)
    gate.open()
    submitter.join()
    queue.sync {}
    report("ran", ran.value)
  }

  /// As above, and nothing makes room.
  @Sendable private static func outOfMemory() {
    let queue = DispatchQueue(label: "held")
    let gate = Latch()
    queue.async { gate.wait() }
    let submitter = PlainThread {
      guard SystemCallFilter.refuse([.mmap], with: ENOMEM, smallest: large) else { skip("no filters") }
      for _ in 0..<60_000 { queue.async {} }
    }
    submitter.join()
    report("survived", true)
  }

  // MARK: One system call, of one thread

  /// `GC_REFUSED` says which; the workers are not refused it, so a registration succeeds when it is tried again there.
  @Sendable private static func shortOfOneCall() {
    let words = (getenv("GC_REFUSED").map { String(cString: $0) } ?? "").split(separator: ":")
    guard words.count == 2, let call = SystemCallFilter.Call(rawValue: String(words[0])), let error = Int32(words[1])
    else { return complain("GC_REFUSED") }
    let sources = Sources()
    let (started, gate) = (Latch(2), Latch())
    for _ in 0..<2 {
      DispatchQueue.global().async {
        started.open()
        gate.wait()
      }
    }
    require(started.wait(), "two workers run")
    gate.open()
    guard SystemCallFilter.refuse([call], with: error) else { skip("no filters") }
    sources.activate()
    sources.stir()
    sources.requireEvents()
    sources.cancel()
  }
}
