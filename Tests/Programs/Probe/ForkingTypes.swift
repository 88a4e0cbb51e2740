// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral
import SlowRuntime

/// Forks while another thread uses a type for the first time, and has a lock of the Swift runtime meanwhile.
extension Scenario {
  static let forkingTypes: [String: Body] = [
    "fork-while-optional-begins": { forkTwice({ use(First?.self) }, { use(Second?.self) }) },
    "fork-while-array-begins": { forkTwice({ useArray(of: First.self) }, { useArray(of: Second.self) }) },
    "fork-then-begin": forkThenBegin,
  ]

  /// Made at their first use: in the parent, and in the child while another thread wants it too.
  private enum Made {
    static let inParent = getpid()
    static let inChild = Made.makeInChild()
    static let other = Latch()

    private static func makeInChild() -> pid_t {
      let thread = BlockedThread {
        _ = Made.inChild
        Made.other.open()
      }
      if !thread.isAsleep() { _exit(2) }
      return getpid()
    }
  }

  /// The thread that forks has had a lock of the runtime before, and has one in the child that another thread wants.
  @Sendable private static func forkThenBegin() {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    require(Made.inParent == getpid() && !Made.other.isOpen, "made in the parent")
    let child = gc_fork()
    if child == 0 {
      alarm(20)
      _exit(Made.inChild == getpid() && Made.other.wait() ? 0 : 1)
    }
    require(child > 0, "fork")
    var status: Int32 = -1
    require(waitpid(child, &status, 0) == child, "waitpid")
    report("status", Int(status))
  }

  private struct First { let number: Int }
  private struct Second { let number: Int }

  @_optimize(none) @inline(never)
  private static func use(_: Any.Type) {}

  @_optimize(none) @inline(never)
  private static func useArray<Element>(of _: Element.Type) {
    _ = [Element](unsafeUninitializedCapacity: 1) { _, count in count = 0 }
  }

  /// The first fork, with which the process begins to use the library, waits until the lock is let go of. The second one does not need to:
  /// the types are known.
  private static func forkTwice(_ first: @escaping @Sendable () -> Void, _ second: @escaping @Sendable () -> Void) {
    if Kernel.isSanitized { skip("a sanitizer stands between the runtime and its locks") }
    if Kernel.isUnoptimised { skip("an unoptimised child asks for more types than the library's") }
    let ends = pipe()
    var children = 0
    for (isFirst, body) in [(true, first), (false, second)] {
      let thread = PlainThread {
        gc_test_keep_runtime_lock()
        body()
      }
      while !gc_test_runtime_lock_is_kept() { usleep(100) }
      let release = PlainThread {
        if isFirst {
          usleep(200_000)
          gc_test_let_runtime_lock_go()
        }
      }
      let child = gc_fork()
      if child == 0 {
        alarm(20)
        useLibrary(ends)
        _exit(0)
      }
      require(child > 0, "fork")
      var status: Int32 = -1
      require(waitpid(child, &status, 0) == child, "waitpid")
      if status == 0 { children += 1 }
      gc_test_let_runtime_lock_go()
      release.join()
      thread.join()
    }
    report("children", children)
    exit(0)
  }

  private static func pipe() -> (read: Int32, write: Int32) {
    var ends: (read: Int32, write: Int32) = (-1, -1)
    withUnsafeMutablePointer(to: &ends) { place in
      _ = place.withMemoryRebound(to: Int32.self, capacity: 2) { Glibc.pipe($0) }
    }
    return ends
  }

  /// Everything for which the library has types of its own; it ends, or hangs.
  private static func useLibrary(_ ends: (read: Int32, write: Int32)) {
    let (done, queue) = (DispatchSemaphore(value: 0), DispatchQueue(label: "child"))
    DispatchQueue.global().async { done.signal() }
    done.wait()

    let reads = DispatchSource.makeReadSource(fileDescriptor: ends.read, queue: queue)
    reads.setEventHandler { reads.cancel() }
    reads.setCancelHandler { done.signal() }
    reads.activate()
    _ = write(ends.write, "a", 1)
    done.wait()

    func cancelled(_ source: any DispatchSourceProtocol) {
      source.setRegistrationHandler { done.signal() }
      source.setCancelHandler { done.signal() }
      source.activate()
      done.wait()
      source.cancel()
      done.wait()
    }
    cancelled(DispatchSource.makeProcessSource(identifier: getppid(), eventMask: .exit, queue: queue))
    cancelled(DispatchSource.makeSignalSource(signal: SIGUSR1, queue: queue))
    cancelled(DispatchSource.makeFileSystemObjectSource(fileDescriptor: ends.read, eventMask: .attrib, queue: queue))
    cancelled(DispatchSource.makeMemoryPressureSource(eventMask: .all, queue: queue))
    queue.sync {}

    for _ in 0..<2 {
      let pool = DispatchQueuePool(name: "child", queueCount: 2)
      pool.queue.sync {}
    }

    let channel = DispatchIO(type: .stream, fileDescriptor: ends.read, queue: queue) { _ in done.signal() }
    channel.read(offset: 0, length: 1, queue: queue) { isDone, _, _ in if isDone { done.signal() } }
    channel.barrier { done.signal() }
    done.wait()
    done.wait()
    channel.close()
    done.wait()
  }
}
