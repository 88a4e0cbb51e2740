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
      report(
        "forked",
        childMask { child, _, _ in
          child.pointee = gc_fork()
          if child.pointee == 0 { _exit(mask("SigBlk") == 1 ? 1 : 2) }
          return 0
        })
      // The item's own mask is inherited as it is.
      block(SIGPIPE)
      report("own", childMask { posix_spawn($0, "/bin/sh", $1, nil, $2, environ) } == mask("SigBlk"))
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
