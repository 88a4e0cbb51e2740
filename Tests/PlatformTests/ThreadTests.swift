// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc
import Synchronization
import Testing

@testable import GrandCentral

private let endedThreads = Atomic<Int>(0)

@Suite("A thread")
struct ThreadTests {
  @Test(
    "E8: carries its name, cut to what the kernel keeps",
    arguments: [("gc-default-0", "gc-default-0"), ("gc-a-name-that-is-too-long", "gc-a-name-that-"), ("", "")])
  func name(given: String, kept: String) throws {
    let seen = Recorded<String>()
    try TestThread(given) { seen.note(currentName()) }.join()
    #expect(seen.values == [kept])
  }

  @Test("E8: can be renamed by itself")
  func rename() throws {
    let seen = Recorded<String>()
    try TestThread("gc-default-1") {
      GrandCentral.Thread.setName("gc-utility-1")
      seen.note(currentName())
    }.join()
    #expect(seen.values == ["gc-utility-1"])
  }

  @Test("has an id of its own, that of the kernel")
  func id() throws {
    let ids = Recorded<UInt32>()
    let threads = try (0..<4).map { _ in
      try TestThread {
        #expect(GrandCentral.Thread.id == UInt32(LibC.threadID()))
        ids.note(GrandCentral.Thread.id)
        // All four live until all four have looked, so that no id is used again.
        _ = eventually { ids.values.count == 4 }
      }
    }
    for thread in threads { thread.join() }
    #expect(Set(ids.values).count == 4)
    #expect(!ids.values.contains(0))
  }

  @Test("is the main one only if it is the process's first")
  func main() async throws {
    let others = Recorded<Bool>()
    try TestThread { others.note(GrandCentral.Thread.isMain) }.join()
    #expect(others.values == [false])
    let (isMain, isFirst) = await MainActor.run { (GrandCentral.Thread.isMain, LibC.threadID() == getpid()) }
    #expect(isMain == isFirst)
  }

  @Test("E5: knows itself again in the child of a fork")
  func fork() async {
    await #expect(processExitsWith: .exitCode(0)) {
      let parentID = GrandCentral.Thread.id
      _ = GrandCentral.Thread.isMain
      let child = gc_fork()
      if child == 0 {
        let isRight = GrandCentral.Thread.id == UInt32(LibC.threadID()) && GrandCentral.Thread.id != parentID
        _exit(isRight && GrandCentral.Thread.isMain ? 0 : 1)
      }
      var status: Int32 = 0
      waitpid(child, &status, 0)
      exit(status == 0 ? 0 : 1)
    }
  }

  @Test("E8: runs its hook when it ends")
  func exitHook() throws {
    try TestThread {
      // relaxed: only counts.
      GrandCentral.Thread.atExit { endedThreads.wrappingAdd(1, ordering: .relaxed) }
    }.join()
    // relaxed: only counts.
    #expect(eventually { endedThreads.load(ordering: .relaxed) == 1 })
  }

  @Test("S11: blocks what the program's threads blocked at first, whichever thread starts it")
  func signals() throws {
    let masks = Recorded<[Bool]>()
    let look: @Sendable () -> Void = {
      var mask = sigset_t()
      pthread_sigmask(SIG_SETMASK, nil, &mask)
      masks.note((1...64).map { sigismember(&mask, $0) == 1 })
    }
    try TestThread { look() }.join()
    for how in [SIG_BLOCK, SIG_UNBLOCK] {
      try TestThread {
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(how, &all, nil)
        do { try TestThread { look() }.join() } catch { Issue.record(error) }
      }.join()
    }
    #expect(masks.values.count == 3)
    #expect(Set(masks.values).count == 1)
  }

  @Test("gets the stack that was asked for")
  func stack() throws {
    let sizes = Recorded<Int>()
    // Four times the usual default; the library may hand out a larger one that another thread has left.
    try TestThread(stackSize: 32 << 20) { sizes.note(LibC.stackSize()) }.join()
    #expect(sizes.values.count == 1)
    #expect(sizes.values.allSatisfy { $0 >= 32 << 20 })
  }

  @Test("E6: that cannot be had is an error, not a trap")
  func exhaustion() {
    #expect(throws: Errno.self) { try TestThread(stackSize: 1 << 46) {} }
  }
}

private func currentName() -> String {
  String(decoding: (FileDescriptor.contents(of: "/proc/thread-self/comm") ?? []).dropLast(), as: UTF8.self)
}

@Suite("A timed wait in the kernel's poll")
struct ExactWaitTests {
  @Test("S7: is asked for earlier by what the kernel may add, and never longer than wanted")
  func isAskedForEarlier() {
    #expect(Thread.exactWait(.max) == .max)
    for short: UInt64 in [0, 1, 20_000, 50_000] { #expect(Thread.exactWait(short) == short) }
    for wanted: UInt64 in [50_001, 1_000_000, 49_999_999, 50_000_000, 10_000_000_000, 1 << 60] {
      let asked = Thread.exactWait(wanted)
      let added = max(50_000, min(wanted / 1_000, 100_000_000))
      #expect(asked + added == wanted)
    }
  }
}
