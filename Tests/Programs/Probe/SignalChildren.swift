// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral
import SlowRuntime
import Synchronization

/// Signals and other processes.
extension Scenario {
  static let signalChildren: [String: Body] = [
    "signal-children": children,
    "signal-children-ignored": childrenIgnored,
    "signal-spawn": spawnFromItem,
    "signal-fork": forked,
    "signal-vfork": vforked,
  ]

  private static func spawn(_ arguments: [String], output: Int32? = nil) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let output { posix_spawn_file_actions_adddup2(&actions, output, 1) }
    var pointers = arguments.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    var child = pid_t()
    require(posix_spawn(&child, arguments[0], &actions, nil, &pointers, environ) == 0, "spawn \(arguments[0])")
    return child
  }

  @Sendable private static func children() {
    let watched = CountedSignal(SIGCHLD)
    let reaped = Counter()
    watched.source.setEventHandler {
      watched.sum.add(Int(watched.source.data))
      while waitpid(-1, nil, WNOHANG) > 0 { reaped.add() }
    }
    for _ in 0..<60 { _ = spawn(["/bin/true"]) }
    require(eventually { reaped.value >= 60 }, "all children are reaped")
    report("reaped", reaped.value)
    report("count", watched.sum.value)
  }

  /// A program that ignores the ends of its children has no zombies, watched or not.
  @Sendable private static func childrenIgnored() {
    signal(SIGCHLD, SIG_IGN)
    let watched = CountedSignal(SIGCHLD)
    for _ in 0..<5 { _ = spawn(["/bin/true"]) }
    require(eventually { waitpid(-1, nil, WNOHANG) == -1 && errno == ECHILD }, "no child is left")
    require(eventually { watched.sum.value >= 1 }, "the signal arrives")
    report("count", watched.sum.value)
  }

  /// A child that an item starts finds the masks and dispositions that it would find if main had started it.
  @Sendable private static func spawnFromItem() {
    block(SIGHUP, how: SIG_SETMASK)
    let watched = [CountedSignal(SIGUSR1), CountedSignal(SIGTERM)]
    signal(SIGTERM, SIG_IGN)
    settle { installed(SIGTERM) == "handled" }
    let texts = Recorder<String>()
    let look: @Sendable () -> Void = {
      let ends = Pipes.make()
      let child = spawn(["/bin/sh", "-c", "exec cat /proc/self/status"], output: ends.write)
      close(ends.write)
      texts.note(Pipes.readAll(ends.read))
      waitpid(child, nil, 0)
    }
    DispatchQueue(label: "spawning").sync {}
    let done = Latch()
    DispatchQueue.global().async {
      look()
      done.open()
    }
    require(done.wait(), "the item ends")
    look()
    report("blockedFromItem", mask("SigBlk", in: texts.values[0]))
    report("blockedFromMain", mask("SigBlk", in: texts.values[1]))
    let ours = UInt64(1) << UInt64(SIGUSR1 - 1) | 1 << UInt64(SIGTERM - 1)
    report("ignored", mask("SigIgn", in: texts.values[0]) & ours)
    report("caught", mask("SigCgt", in: texts.values[0]) & ours)
    for (source, signal) in zip(watched, [SIGUSR1, SIGTERM]) { _ = source.cancel(signal) }
  }

  @Sendable private static func forked() {
    let watched = CountedSignal(SIGUSR1)
    paced(3, watched.sum) { sendToProcess(SIGUSR1) }
    let mortal = gc_fork()
    if mortal == 0 {
      sendToProcess(SIGUSR1)
      _exit(1)
    }
    var status: Int32 = 0
    waitpid(mortal, &status, 0)
    report("mortal", status & 0x7f)
    let child = gc_fork()
    if child == 0 {
      watched.source.cancel()
      let own = CountedSignal(SIGUSR1)
      paced(5, own.sum) { sendToProcess(SIGUSR1) }
      _exit(own.sum.value == 5 && watched.sum.value == 3 ? 0 : 1)
    }
    waitpid(child, &status, 0)
    report("child", status)
    paced(3, watched.sum) { sendToProcess(SIGUSR1) }
    report("parent", watched.sum.value)
  }

  private static let handled = Atomic(0)

  /// A child that shares its parent's memory ignores a watched signal, and so does its program. The parent has its handler still.
  @Sendable private static func vforked() {
    signal(SIGUSR2) { _ in Scenario.handled.add(1, ordering: .relaxed) }
    let theirs = handler(of: SIGUSR2)
    // Under a sanitizer this one is the library's.
    let (watched, ours) = (CountedSignal(SIGUSR2), handler(of: SIGUSR2))
    let command = ["/bin/sh", "-c", "kill -USR2 $$; exit 5"]
    var arguments = command.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    let child = gc_test_vfork(SIGUSR2, &arguments)
    var status: Int32 = 0
    require(child > 0 && waitpid(child, &status, 0) == child, "vfork")
    report("child", status >> 8)
    paced(1, watched.sum) { sendToProcess(SIGUSR2) }
    report("handled", handled.load(ordering: .relaxed))
    report("isSame", handler(of: SIGUSR2) == ours)
    report("afterwards", watched.cancel(SIGUSR2))
    report("isRestored", handler(of: SIGUSR2) == theirs)
  }
}

/// Pipes that a child gets no other end of than it is given.
enum Pipes {
  static func make() -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    require(pipe(&ends) == 0, "pipe")
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  static func readAll(_ descriptor: Int32) -> String {
    var (text, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { break }
      text += buffer[..<count]
    }
    close(descriptor)
    return String(decoding: text, as: UTF8.self)
  }
}
