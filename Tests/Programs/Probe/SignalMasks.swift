// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral
import Synchronization

/// How often the handler has run.
private let calls = Atomic(0)

/// Signals that the program blocks in its own threads when the pool has threads already, and what items send and start.
extension Scenario {
  static let signalMasks: [String: Body] = [
    "signal-blocked-later": blockedLater,
    "signal-critical-section": criticalSection,
    "signal-suspend": suspendsForSignal,
    "signal-raise": raiseInItem,
    "signal-own-section": ownSection,
    "signal-child-masks": childMasks,
  ]

  /// Has some pool threads asleep, and one in an item until `body` returns.
  private static func besidePoolThreads(_ body: () -> Void) {
    DispatchQueue.concurrentPerform(iterations: 4) { _ in }
    let (began, group) = (Latch(), DispatchGroup())
    for _ in 0..<8 { DispatchQueue.global().async(group: group) {} }
    group.wait()
    let ends = DispatchSemaphore(value: 0)
    DispatchQueue.global().async(group: group) {
      began.open()
      ends.wait()
    }
    require(began.wait(), "the item begins")
    body()
    ends.signal()
    group.wait()
  }

  /// SIGTERM ends a program that does not handle it: here one that blocks it, and waits for it.
  @Sendable private static func blockedLater() {
    besidePoolThreads {
      block(SIGTERM)
      var (set, taken) = (sigset_t(), 0)
      sigemptyset(&set)
      sigaddset(&set, SIGTERM)
      var limit = timespec(tv_sec: 10, tv_nsec: 0)
      for _ in 0..<100 {
        sendToProcess(SIGTERM)
        if sigtimedwait(&set, nil, &limit) == SIGTERM { taken += 1 }
      }
      report("taken", taken)
    }
  }

  /// A handler does not run while main blocks its signal, and runs on main.
  @Sendable private static func criticalSection() {
    handle()
    besidePoolThreads {
      var (inside, after) = (0, 0)
      for _ in 0..<100 {
        block(SIGUSR1)
        let before = handled()
        sendToProcess(SIGUSR1)
        DispatchQueue(label: "section").sync {}
        DispatchQueue.global().sync(flags: .enforceQoS) {}
        inside += handled() - before
        block(SIGUSR1, how: SIG_UNBLOCK)
        after += handled() - before
      }
      report("inside", inside)
      report("after", after)
    }
  }

  /// The textbook's loop: it hangs if another thread takes the signal between the look and the wait.
  @Sendable private static func suspendsForSignal() {
    handle()
    besidePoolThreads {
      var (old, set) = (sigset_t(), sigset_t())
      sigemptyset(&set)
      sigaddset(&set, SIGUSR1)
      pthread_sigmask(SIG_BLOCK, &set, &old)
      for round in 1...100 {
        DispatchQueue.global().async { sendToProcess(SIGUSR1) }
        while handled() < round { sigsuspend(&old) }
      }
      report("handled", handled())
    }
  }

  /// `raise` returns when the handler has run, on a pool thread as elsewhere.
  @Sendable private static func raiseInItem() {
    handle()
    let masks = Recorder<UInt64>()
    DispatchQueue(label: "raising").sync {}
    let done = Latch()
    DispatchQueue.global().async {
      masks.note(mask("SigBlk"))
      for _ in 0..<10 { raise(SIGUSR1) }
      report("handled", handled())
      masks.note(mask("SigBlk"))
      done.open()
    }
    require(done.wait(), "the item ends")
    report("sameMask", masks.values[0] == masks.values[1])
    report("blocks", masks.values[0] & (1 << UInt64(SIGUSR1 - 1)) != 0)
    let caused = [SIGSEGV, SIGPIPE, SIGABRT, SIGPROF]
    report("leaves", caused.allSatisfy { masks.values[0] & (1 << UInt64($0 - 1)) == 0 })
  }

  /// An item blocks signals that its thread blocks already, sends them to itself, and takes them when it likes.
  @Sendable private static func ownSection() {
    handle()
    DispatchQueue(label: "section").sync {}
    let done = Latch()
    DispatchQueue.global().async {
      let former = mask("SigBlk")
      for _ in 0..<2 {
        inside(SIGUSR1) {
          // A section within the section leaves it as it was.
          inside(SIGUSR2) { raise(SIGUSR1) }
          raise(SIGUSR1)
          report("inside", handled())
          block(SIGUSR1, how: SIG_UNBLOCK)
          report("after", handled())
        }
        raise(SIGUSR1)
        report("later", handled())
        calls.store(0, ordering: .relaxed)
      }
      // SIGUSR2 would end the process.
      inside(SIGUSR2) {
        raise(SIGUSR2)
        var (set, taken) = (sigset_t(), Int32(0))
        sigemptyset(&set)
        sigaddset(&set, SIGUSR2)
        sigwait(&set, &taken)
        report("taken", Int(taken))
      }
      report("sameMask", mask("SigBlk") == former)
      report("reserved", raise(32) == -1 && errno == EINVAL)
      done.open()
    }
    require(done.wait(), "the item ends")
  }

  /// Has the calling thread block a signal, and puts back what it was told of its mask.
  private static func inside(_ signal: Int32, _ body: () -> Void) {
    var (old, set) = (sigset_t(), sigset_t())
    sigemptyset(&set)
    sigaddset(&set, signal)
    pthread_sigmask(SIG_BLOCK, &set, &old)
    body()
    pthread_sigmask(SIG_SETMASK, &old, nil)
  }

  /// What children of an item block, by each way to start one.
  @Sendable private static func childMasks() {
    block(SIGHUP, how: SIG_SETMASK)
    let done = Latch()
    DispatchQueue.global().async {
      report("spawn", childMask { posix_spawn($0, "/bin/sh", $1, nil, $2, environ) })
      report("search", childMask { posix_spawnp($0, "sh", $1, nil, $2, environ) })
      var attributes = posix_spawnattr_t()
      posix_spawnattr_init(&attributes)
      posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
      report("grouped", childMask { posix_spawn($0, "/bin/sh", $1, &attributes, $2, environ) })
      var set = sigset_t()
      sigemptyset(&set)
      sigaddset(&set, SIGINT)
      posix_spawnattr_setsigmask(&attributes, &set)
      posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
      report("chosen", childMask { posix_spawn($0, "/bin/sh", $1, &attributes, $2, environ) })
      pthread_sigmask(SIG_BLOCK, nil, &set)
      posix_spawnattr_setsigmask(&attributes, &set)
      report("told", childMask { posix_spawn($0, "/bin/sh", $1, &attributes, $2, environ) })
      report(
        "forked",
        childMask { child, _, _ in
          child.pointee = gc_fork()
          if child.pointee == 0 { _exit(mask("SigBlk") == 1 ? 1 : 2) }
          return 0
        })
      // The textbook's way to start a child: without signals in between.
      report(
        "restored",
        childMask { child, _, _ in
          var (old, all) = (sigset_t(), sigset_t())
          sigfillset(&all)
          pthread_sigmask(SIG_SETMASK, &all, &old)
          child.pointee = gc_fork()
          let isBlocked = mask("SigBlk") & 1 << UInt64(SIGTERM - 1) != 0
          pthread_sigmask(SIG_SETMASK, &old, nil)
          if child.pointee == 0 { _exit(isBlocked && mask("SigBlk") == 1 ? 1 : 2) }
          return 0
        })
      // What the item blocks is inherited, also what its thread blocks already. What it lets in is not blocked.
      block(SIGUSR1, SIGPIPE)
      block(SIGTERM, how: SIG_UNBLOCK)
      let own = UInt64(1) | 1 << UInt64(SIGUSR1 - 1) | 1 << UInt64(SIGPIPE - 1)
      report("own", childMask { posix_spawn($0, "/bin/sh", $1, nil, $2, environ) } == own)
      done.open()
    }
    require(done.wait(), "the item ends")
  }

  private typealias Start = (
    UnsafeMutablePointer<pid_t>, UnsafePointer<posix_spawn_file_actions_t>, [UnsafeMutablePointer<CChar>?]
  ) -> Int32

  /// What a child that prints its status, or ends with it, blocks.
  private static func childMask(_ start: Start) -> UInt64 {
    let ends = Pipes.make()
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends.write, 1)
    let pointers = ["sh", "-c", "exec cat /proc/self/status"].map { (word: String) in strdup(word) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    var child = pid_t()
    require(start(&child, &actions, pointers) == 0, "the child starts")
    close(ends.write)
    let text = Pipes.readAll(ends.read)
    var status: Int32 = 0
    waitpid(child, &status, 0)
    return text.isEmpty ? UInt64(status >> 8 & 0xff) : mask("SigBlk", in: text)
  }

  // relaxed: read by the thread that the handler interrupts, or behind the handler's effect on that thread.
  private static func handled() -> Int { calls.load(ordering: .relaxed) }

  private static func handle() {
    signal(SIGUSR1) { _ in calls.wrappingAdd(1, ordering: .relaxed) }
  }
}
