// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

/// A shell that does what it is told, then ends.
private final class Child: Sendable {
  let id: pid_t
  private let input: Int32
  let output: Int32

  /// `script` reads its commands' data from a pipe that `say` writes to.
  init(_ script: String) {
    var (toChild, fromChild): ([Int32], [Int32]) = ([0, 0], [0, 0])
    precondition(isolated(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &toChild), toChild))
    precondition(isolated(pipe(&fromChild), fromChild))
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
    posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1)
    // The threads that tests run on may block signals, and children inherit that.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    var nothing = sigset_t()
    sigemptyset(&nothing)
    posix_spawnattr_setsigmask(&attributes, &nothing)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    defer {
      posix_spawnattr_destroy(&attributes)
      posix_spawn_file_actions_destroy(&actions)
    }
    let words = ["/bin/sh", "-c", script]
    let arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process = pid_t()
    precondition(posix_spawn(&process, "/bin/sh", &actions, &attributes, arguments, environ) == 0)
    id = process
    (input, output) = (toChild[1], fromChild[0])
    close(toChild[0])
    close(fromChild[1])
  }

  deinit {
    close(input)
    close(output)
  }

  func say(_ line: String) {
    let count = line.utf8.count + 1
    // A child that is gone fails the test, not the process.
    #expect(send(input, line + "\n", count, Int32(MSG_NOSIGNAL)) == count)
  }

  /// The next line of its output.
  func line() -> String {
    var (text, byte): ([UInt8], UInt8) = ([], 0)
    while read(output, &byte, 1) == 1, byte != 10 { text.append(byte) }
    return String(decoding: text, as: UTF8.self)
  }

  /// Waits until it has ended, and leaves it unreaped.
  func isZombie() -> Bool {
    eventually { (readText("/proc/\(id)/stat") ?? "").split(separator: ")").last?.hasPrefix(" Z") ?? false }
  }

  @discardableResult
  func reap() -> Int32 {
    var status: Int32 = -1
    while waitpid(id, &status, 0) < 0 && errno == EINTR {}
    return status
  }
}

/// Whether the descriptors were made, and programs do not inherit them, unless they are made 0 or 1.
private func isolated(_ result: Int32, _ ends: [Int32]) -> Bool {
  result == 0 && ends.allSatisfy { fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }
}

/// A source of a process, and what it has said.
private final class Watched: Sendable {
  typealias Event = DispatchSource.ProcessEvent
  let source: any DispatchSourceProcess
  let calls = Recorder<Event>()
  let statuses = Recorder<DispatchSource.ProcessExitStatus?>()
  let queue = DispatchQueue(label: "process")
  private let ended = Latch()

  init(_ process: pid_t, _ mask: Event = .exit, activated: Bool = true) {
    source = DispatchSource.makeProcessSource(identifier: process, eventMask: mask, queue: queue)
    source.setEventHandler { [unowned source, calls, statuses] in
      statuses.note(source.exitStatus)
      calls.note(source.data)
    }
    source.setCancelHandler { [ended] in ended.open() }
    if activated { source.activate() }
  }

  func hears(_ event: Event, _ location: SourceLocation = #_sourceLocation) {
    waitFor(location) { calls.values.contains { $0.contains(event) } }
  }

  func end(_ location: SourceLocation = #_sourceLocation) {
    source.cancel()
    #expect(ended.wait(), sourceLocation: location)
  }
}

@Suite("A source of a process")
struct ProcessSourceTests {
  @Test("S12: a child's exit is an event, once, and its status is there before it is reaped and after")
  func exit() {
    let child = Child("read x; exit 7")
    let watched = Watched(child.id)
    #expect(watched.source.exitStatus == nil)
    child.say("go")
    watched.hears(.exit)
    #expect(watched.statuses.values == [.exited(code: 7)])
    #expect(child.reap() == 7 << 8)
    #expect(watched.source.exitStatus == .exited(code: 7))
    #expect(watched.source.handle == child.id)
    #expect(watched.source.mask == .exit)
    watched.queue.sync {}
    #expect(watched.calls.values == [.exit])
    watched.end()
  }

  @Test("S12: a child that a signal kills says which")
  func killed() {
    let child = Child("read x")
    let watched = Watched(child.id)
    #expect(kill(child.id, SIGTERM) == 0)
    watched.hears(.exit)
    #expect(watched.statuses.values == [.killed(signal: SIGTERM, dumpedCore: false)])
    #expect(child.reap() == SIGTERM)
    watched.end()
  }

  @Test("S12: a child that has ended before the activation is an event at once")
  func endedBefore() {
    let child = Child("exit 3")
    let watched = Watched(child.id, activated: false)
    #expect(child.isZombie())
    watched.source.activate()
    watched.hears(.exit)
    #expect(watched.statuses.values == [.exited(code: 3)])
    #expect(child.reap() == 3 << 8)
    watched.end()
  }

  @Test("S12: a process that is gone, and reaped, before the activation is an event at once")
  func gone() {
    let child = Child("exit 3")
    child.reap()
    let watched = Watched(child.id)
    watched.hears(.exit)
    #expect(watched.statuses.values == [nil])
    watched.end()
  }

  @Test("S12: a process that is not a child is watched as well")
  func grandchild() {
    // The shell in between waits for its child, so that it is reaped.
    let child = Child("exec 3<&0; read x; (read y <&3; exit 5) & echo $!; wait $!; echo reaped; read z")
    child.say("go")
    let grandchild = pid_t(child.line()) ?? -1
    let watched = Watched(grandchild)
    #expect(watched.source.exitStatus == nil)
    #expect(watched.calls.values == [])
    child.say("go")
    watched.hears(.exit)
    #expect(child.line() == "reaped")
    // Kernels from 6.15 on know the exit status now, older ones never.
    #expect([nil, .exited(code: 5)].contains(watched.source.exitStatus))
    child.say("go")
    child.reap()
    watched.end()
  }

  @Test("S12: many children, each with its own end")
  func many() {
    let children = (0..<40).map { Child("read x; exit \($0)") }
    let watched = children.map { Watched($0.id) }
    for child in children.reversed() { child.say("go") }
    for (index, source) in watched.enumerated() {
      source.hears(.exit)
      #expect(source.statuses.values == [.exited(code: Int32(index))])
      #expect(children[index].reap() == Int32(index) << 8)
      source.end()
    }
  }

  @Test("S12: several sources of one process all hear, and one that is cancelled does not")
  func sharing() {
    let child = Child("read x")
    let (first, second, third) = (Watched(child.id), Watched(child.id), Watched(child.id))
    second.end()
    child.say("go")
    first.hears(.exit)
    third.hears(.exit)
    #expect(second.calls.values == [])
    child.reap()
    first.end()
    third.end()
  }

  @Test("S12: a source cancelled before the end never fires, and one that is suspended fires when it is resumed")
  func cancellationAndSuspension() {
    let child = Child("read x")
    let (cancelled, suspended, witness) = (Watched(child.id), Watched(child.id), Watched(child.id))
    cancelled.end()
    suspended.source.suspend()
    child.say("go")
    witness.hears(.exit)
    child.reap()
    suspended.queue.sync {}
    #expect(suspended.calls.values == [])
    suspended.source.resume()
    suspended.hears(.exit)
    #expect(cancelled.calls.values == [])
    suspended.end()
    witness.end()
  }

  @Test("S12: a number that another process has got meanwhile is not mistaken for the process")
  func reuse() {
    let result = Probe.run("process-reuse")
    #expect(result.ended, "\(result)")
    if result.skipped == nil { #expect(result.number("reused") == 1, "\(result)") }
  }

  @Test("S12: no process has a number below 1: the source is cancelled")
  func badNumber() {
    let watched = Watched(-5)
    waitFor { watched.source.isCancelled }
    #expect(watched.calls.values == [])
    watched.end()
  }

  @Test("S12: exit is supported, signal is not, fork and exec come together")
  func support() {
    let events = DispatchSource.supportedProcessEvents
    #expect(events.contains(.exit))
    #expect(!events.contains(.signal))
    #expect(events.contains(.fork) == events.contains(.exec))
    if Kernel.tellsOfForks { #expect(events.contains(.fork)) }
  }

  @Test(
    "S12: fork and exec are events where the kernel lets us",
    .enabled(if: Kernel.tellsOfForks, "needs CAP_NET_ADMIN"))
  func forkAndExec() {
    let child = Child("echo ready; read x; (true); read y; exec /bin/cat")
    // The shell's own exec is over.
    #expect(child.line() == "ready")
    let watched = Watched(child.id, [.exit, .fork, .exec])
    let narrow = Watched(child.id, [.exec])
    child.say("fork")
    watched.hears(.fork)
    #expect(!watched.calls.values.contains { $0.contains(.exec) })
    child.say("exec")
    watched.hears(.exec)
    narrow.hears(.exec)
    #expect(kill(child.id, SIGKILL) == 0)
    watched.hears(.exit)
    child.reap()
    #expect(narrow.calls.values == [.exec])
    watched.end()
    narrow.end()
  }

  @Test(
    "S12: what a process has done before its end is told before its end, though all of that is found at once",
    .enabled(if: Kernel.tellsOfForks, "needs CAP_NET_ADMIN"))
  func lastWords() {
    let result = Probe.run("process-last-words")
    #expect(result.ended, "\(result)")
    #expect(result.number("fork") == 1 && result.number("exec") == 1 && result.number("after") == 0, "\(result)")
  }

  @Test("S12: what cannot be had is said in one line")
  func missing() {
    let result = Probe.run("process-missing")
    #expect(result.ended, "\(result)")
    let lines = result.errors.split(separator: "\n").filter { $0.contains("will not hear of") }
    #expect(lines.count == 1, "\(result)")
    #expect(lines.first?.contains("signal (Linux does not tell)") ?? false, "\(result)")
  }

  @Test("S12: without the privilege fork and exec are missing, and exit works")
  func unprivileged() {
    let result = Probe.run("process-unprivileged")
    if result.skipped != nil { return }
    #expect(result.ended, "\(result)")
    #expect(result.errors.contains("fork (needs CAP_NET_ADMIN), exec (needs CAP_NET_ADMIN)"), "\(result)")
    #expect(result.number("supported") == Int(Watched.Event.exit.rawValue), "\(result)")
  }

  @Test("S12: an ended process costs nothing, whether or not its source is cancelled")
  func noSpinning() {
    let result = Probe.run("process-idle")
    if result.skipped != nil { return }
    #expect(result.ended, "\(result)")
    #expect((result.number("share") ?? .max) < 20, "\(result)")
  }
}
