// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral

/// Forks while another thread waits for something that the child uses as well.
extension Scenario {
  static let forkingWaits: [String: Body] = ["fork-beside-waits": forkBesideWaits]

  @Sendable private static func forkBesideWaits() {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    let (signalled, semaphore, group) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchGroup())
    // The parent's thread gets none of the child's signals.
    report(
      "signal",
      statusOfChild(beside: { signalled.wait() }, endedBy: { signalled.signal() }) {
        signalled.signal()
        return signalled.wait(timeout: .now() + 10) == .success && signalled.wait(timeout: .now()) == .timedOut
      })
    report("semaphore", statusOfChildThatWaits({ semaphore.wait() }, endedBy: { semaphore.signal() }))
    group.enter()
    report("group", statusOfChildThatWaits({ group.wait() }, endedBy: { group.leave() }))
    let item = DispatchWorkItem {}
    report("item", statusOfChildThatWaits({ item.wait() }, endedBy: { item.perform() }))
  }

  /// A thread of the child's waits as the parent's does. Its stack is likely to be where the parent's thread had its own.
  private static func statusOfChildThatWaits(
    _ wait: @escaping @Sendable () -> Void, endedBy end: () -> Void
  ) -> Int {
    statusOfChild(beside: wait, endedBy: end) {
      let thread = BlockedThread(wait)
      if !thread.isAsleep() { return false }
      end()
      thread.join()
      return true
    }
  }

  /// Forks a child while a thread waits; the wait of that thread ends afterwards.
  private static func statusOfChild(
    beside wait: @escaping @Sendable () -> Void, endedBy end: () -> Void, runs body: () -> Bool
  ) -> Int {
    let thread = BlockedThread(wait)
    require(thread.isAsleep(), "a thread of the parent's waits")
    let child = gc_fork()
    if child == 0 {
      alarm(20)
      _exit(body() ? 0 : 1)
    }
    var status: Int32 = -1
    waitpid(child, &status, 0)
    end()
    thread.join()
    return Int(status)
  }
}
