// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral

extension AsyncMain {
  /// Waits for an item of the main queue.
  private nonisolated static func item<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
    await withCheckedContinuation { continuation in
      DispatchQueue.main.async { continuation.resume(returning: body()) }
    }
  }

  /// Items of the main queue and jobs of the main actor, in turn and from everywhere.
  @MainActor static func mainQueue() async {
    let shared = Shared()
    let elsewhere = Task.detached { DispatchQueue.current === DispatchQueue.main }
    report("elsewhere", await elsewhere.value)
    report("afterwards", DispatchQueue.current === DispatchQueue.main)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<500 {
        group.addTask {
          await item {
            dispatchPrecondition(condition: .onQueue(.main))
            MainActor.assertIsolated()
            MainActor.assumeIsolated { shared.add() }
          }
        }
        group.addTask {
          await MainActor.run {
            dispatchPrecondition(condition: .onQueue(.main))
            shared.add()
          }
        }
      }
    }
    report("count", shared.count)
    report("peak", shared.peak)
    let (synced, later, targeting) = (Latch(), Latch(), DispatchQueue(label: "targeting", target: .main))
    DispatchQueue.global().async {
      DispatchQueue.main.sync { MainActor.assertIsolated() }
      targeting.sync { MainActor.assertIsolated() }
      synced.open()
    }
    DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(5)) { later.open() }
    report("sync", await Task.detached { synced.wait() }.value)
    report("after", await Task.detached { later.wait() }.value)
  }

  /// An item that submits itself for ever leaves room for the main actor.
  @MainActor static func busyMainQueue() async {
    @Sendable func again() { DispatchQueue.main.async(execute: again) }
    again()
    let shared = Shared()
    for _ in 0..<100 { await Task.detached { await shared.add() }.value }
    report("count", shared.count)
  }

  @MainActor static func syncOnMain() async {
    await Task.detached {}.value
    DispatchQueue.main.sync { report("ran", 1) }
  }

  /// What was submitted before there was a loop is run by the loop, once. From then on no other thread runs items.
  @MainActor static func lateDispatchMain() async {
    let (order, first) = (Recorder<Int>(), Kernel.threadID)
    for index in 0..<10 { DispatchQueue.main.async { order.note(index) } }
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(5)) {
      for index in 10..<20 { DispatchQueue.main.async { order.note(index) } }
      DispatchQueue.main.async {
        report("ordered", order.values == Array(0..<20))
        report("onMainThread", Kernel.threadID == first)
        exit(0)
      }
    }
    dispatchMain()
  }

  /// `dispatchMain` at the end of a main that has been suspended: the item runs in the loop that the main thread is in then, or on
  /// another thread.
  @MainActor static func dispatchMainAtEnd() async {
    _ = await item { true }
    dispatchMain()
  }

  /// The same as `lateDispatchMain`, with a loop of the program's own.
  @MainActor static func lateDescriptor() async {
    let order = Recorder<Int>()
    for index in 0..<10 { DispatchQueue.main.async { order.note(index) } }
    var entry = pollfd(fd: DispatchMainLoop.fileDescriptor, events: Int16(POLLIN), revents: 0)
    DispatchQueue.global().async { for index in 10..<20 { DispatchQueue.main.async { order.note(index) } } }
    let start = monotonicNanoseconds()
    while order.count < 20, monotonicNanoseconds() - start < 20_000_000_000 {
      if poll(&entry, 1, 1_000) == 1 { DispatchMainLoop.drain() }
    }
    report("ordered", order.values == Array(0..<20))
  }

  /// A forked child leaves the toolchain's library alone, and has the loop that it asks for.
  @MainActor static func forked() async {
    if Kernel.isThreadSanitized { return report("skip", "ThreadSanitizer starts no thread after a fork") }
    DispatchQueue.main.async {}
    DispatchQueue.global().async {}
    let child = gc_fork()
    if child == 0 {
      DispatchQueue.main.async { _exit(7) }
      dispatchMain()
    }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    report("child", (status >> 8) & 0xff)
    report("parent", await item { true })
  }
}
