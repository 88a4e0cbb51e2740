// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral

extension Scenario {
  static let processes: [String: Body] = [
    "process-missing": processMissing, "process-unprivileged": processUnprivileged, "process-idle": processIdle,
    "process-fork": processFork, "process-last-words": processLastWords, "process-reuse": processReuse,
  ]

  /// A child that ends when this process does, or when it is killed.
  private static func sleeper() -> pid_t {
    let (parent, child) = (getpid(), gc_fork())
    if child == 0 {
      while getppid() == parent { usleep(10_000) }
      _exit(0)
    }
    return child
  }

  private static func watch(
    _ process: pid_t, _ mask: DispatchSource.ProcessEvent, _ handler: @escaping @Sendable () -> Void
  ) -> any DispatchSourceProcess {
    let source = DispatchSource.makeProcessSource(identifier: process, eventMask: mask, queue: .global())
    source.setEventHandler(handler: handler)
    source.activate()
    return source
  }

  private static func requireExit(_ process: pid_t, _ mask: DispatchSource.ProcessEvent) {
    let ended = Latch()
    let source = watch(process, mask) { ended.open() }
    kill(process, SIGKILL)
    require(ended.wait(), "the exit is heard of")
    require(source.exitStatus == .killed(signal: SIGKILL, dumpedCore: false), "the status is known")
    source.cancel()
    var status: Int32 = 0
    require(waitpid(process, &status, 0) == process && status == SIGKILL, "the child is there to be reaped")
  }

  private static let processMissing: Body = { requireExit(sleeper(), [.exit, .signal]) }

  private static let processUnprivileged: Body = {
    if getuid() == 0 { require(setuid(65534) == 0, "to lose the privilege") }
    let supported = DispatchSource.supportedProcessEvents
    if supported.contains(.fork) { skip("the kernel tells everybody") }
    report("supported", Int(supported.rawValue))
    requireExit(sleeper(), [.exit, .fork, .exec])
  }

  /// Processes that have ended, with sources that are active, and with one that is suspended.
  private static let processIdle: Body = {
    if Kernel.isSanitized { skip("a sanitizer has work of its own") }
    let children = (0..<8).map { _ in sleeper() }
    let ended = Latch(7)
    let sources = children.map { watch($0, .exit) { ended.open() } }
    sources[0].suspend()
    for child in children { kill(child, SIGKILL) }
    require(ended.wait(), "the exits are heard of")
    for child in children.dropFirst(4) { waitpid(child, nil, 0) }
    report("share", processorShare(asleep: 500))
    sources[0].resume()
    for source in sources { source.cancel() }
  }

  /// The child cancels the parent's source and watches a process of its own; the parent still hears.
  private static let processFork: Body = {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    // Threads of the parent may be in the Swift runtime, whose locks the child never gets.
    if Kernel.isUnoptimised { skip("in an unoptimised build") }
    let (watched, ended) = (sleeper(), Latch())
    let parents = watch(watched, [.exit, .fork, .exec]) { ended.open() }
    let child = gc_fork()
    if child == 0 {
      parents.cancel()
      requireExit(sleeper(), .exit)
      _exit(0)
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    report("child", Int(status))
    kill(watched, SIGKILL)
    report("parent", ended.wait())
    parents.cancel()
  }

  /// A shell. It reads from one of the two descriptors and writes to the other one.
  private static func shell(_ script: String, reading: Int32 = 0, writing: Int32 = 1) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    if reading != 0 { posix_spawn_file_actions_adddup2(&actions, reading, 0) }
    if writing != 1 { posix_spawn_file_actions_adddup2(&actions, writing, 1) }
    defer { posix_spawn_file_actions_destroy(&actions) }
    let words: [String] = ["/bin/sh", "-c", script]
    let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process = pid_t()
    require(posix_spawn(&process, "/bin/sh", &actions, nil, arguments, environ) == 0, "a shell starts")
    return process
  }

  /// While this process stands still, a child forks a hundred times, becomes another program, and ends. This process finds all
  /// of that at once when it goes on.
  private static let processLastWords: Body = {
    if !DispatchSource.supportedProcessEvents.contains(.exec) { skip("needs CAP_NET_ADMIN") }
    guard let ends = Kernel.closeOnExecPipe() else { return require(false, "descriptors") }
    let child = shell(
      "read x; i=0; while [ $i -lt 100 ]; do (:); i=$((i+1)); done; exec /bin/true", reading: ends.readEnd)
    let (calls, registered, ended) = (Recorder<UInt>(), Latch(), Latch())
    let queue = DispatchQueue(label: "process")
    let source = DispatchSource.makeProcessSource(identifier: child, eventMask: [.exit, .fork, .exec], queue: queue)
    source.setRegistrationHandler { registered.open() }
    source.setEventHandler { [unowned source] in
      let data: DispatchSource.ProcessEvent = source.data
      calls.note(data.rawValue)
      if data.contains(.exit) { ended.open() }
    }
    source.activate()
    require(registered.wait(), "the child is watched")
    // The third field of the file is the state: T for one that stands still, Z for one that has ended.
    let script = """
      await() { while read -r line < /proc/$1/stat && s=${line##*) } && [ "${s%% *}" != $2 ]; do :; done; }
      kill -STOP \(getpid()); await \(getpid()) T; echo go; await \(child) Z; kill -CONT \(getpid())
      """
    let controller = shell(script, writing: ends.writeEnd)
    require(ended.wait(), "the exit is heard of")
    queue.sync {}
    let events = calls.values.map { DispatchSource.ProcessEvent(rawValue: $0) }
    report("fork", events.contains { $0.contains(.fork) })
    report("exec", events.contains { $0.contains(.exec) })
    report("after", events.drop { !$0.contains(.exit) }.count - 1)
    source.cancel()
    for process in [child, controller] { waitpid(process, nil, 0) }
  }

  /// A process gets the number of one that has ended. That is in a namespace of processes of its own: the numbers of others stay as they are.
  private static let processReuse: Body = {
    // One looks for the process's threads under /proc, which has the numbers of the namespace outside. Another one starts none after a fork.
    if Kernel.isSanitized { skip("no sanitizer is made for that") }
    if !Kernel.unshare(Kernel.newProcesses) { skip("unshare: \(errno)") }
    let first = gc_fork()
    if first == 0 {
      reuseNumber()
      exit(0)
    }
    var status: Int32 = 0
    require(waitpid(first, &status, 0) == first && status == 0, "the namespace's first process ends well: \(status)")
  }

  private static func reuseNumber() {
    guard let ends = Kernel.closeOnExecPipe() else { return require(false, "descriptors") }
    func make(_ code: Int) -> pid_t { shell("read x; exit \(code)", reading: ends.readEnd) }
    func end(_ process: pid_t) { require(write(ends.writeEnd, "go\n", 3) == 3, "process \(process) is told") }
    let child = make(1)
    let (calls, ended, queue) = (Recorder<UInt>(), Latch(), DispatchQueue(label: "process"))
    let source = DispatchSource.makeProcessSource(identifier: child, eventMask: .exit, queue: queue)
    source.setEventHandler { [unowned source] in
      let data: DispatchSource.ProcessEvent = source.data
      calls.note(data.rawValue)
      ended.open()
    }
    source.activate()
    end(child)
    require(ended.wait(), "the exit is heard of")
    waitpid(child, nil, 0)
    // A thread of this process may get the number, or the one that is given next.
    for _ in 0..<10 {
      guard setLastNumber(child - 1) else { skip("the next number cannot be chosen: \(errno)") }
      let other = make(2)
      if other == child {
        require(source.exitStatus == .exited(code: 1), "the status is the first one's")
        queue.sync {}
        require(calls.values == [DispatchSource.ProcessEvent.exit.rawValue], "there is one event: \(calls.values)")
        report("reused", 1)
      }
      end(other)
      waitpid(other, nil, 0)
      if other == child { return source.cancel() }
    }
    skip("a thread has the number")
  }

  /// The kernel gives the next process the next number that is free.
  private static func setLastNumber(_ number: pid_t) -> Bool {
    let file = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return false }
    defer { close(file) }
    let word = String(number)
    return write(file, word, word.utf8.count) == word.utf8.count
  }
}
