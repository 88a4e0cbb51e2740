// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

extension Scenario {
  static let quiet: [String: Body] = [
    "semaphore-without-system-calls": { withoutSystemCalls(semaphore()) },
    "group-without-system-calls": { withoutSystemCalls(group()) },
    "serial-sync-without-system-calls": { withoutSystemCalls(sync(DispatchQueue(label: "serial"))) },
    "concurrent-sync-without-system-calls": {
      withoutSystemCalls(sync(DispatchQueue(label: "concurrent", attributes: .concurrent)))
    },
    "once-without-system-calls": { withoutSystemCalls(once()) },
  ]

  /// Runs `body` a thousand times on a thread that the kernel kills at the first system call.
  private static func withoutSystemCalls(_ body: @escaping Body) {
    if Kernel.isSanitized { skip("the sanitizer makes system calls") }
    let (survived, refused) = (Counter(), Counter())
    PlainThread {
      for _ in 0..<10 { body() }
      guard Kernel.forbidSystemCalls() else {
        refused.add()
        return
      }
      for _ in 0..<1_000 { body() }
      survived.add()
      Kernel.exitThread(0)
    }.join()
    if refused.value > 0 { skip("the kernel refuses seccomp") }
    exit(survived.value == 1 ? 0 : 1)
  }

  private static func semaphore() -> Body {
    let semaphore = DispatchSemaphore(value: 1)
    return {
      semaphore.wait()
      semaphore.signal()
      semaphore.signal()
      _ = semaphore.wait(timeout: .distantFuture)
    }
  }

  private static func group() -> Body {
    let group = DispatchGroup()
    return {
      group.enter()
      group.enter()
      group.leave()
      group.leave()
      group.wait()
    }
  }

  private static func sync(_ queue: DispatchQueue) -> Body {
    let sum = Unprotected(0)
    return {
      queue.sync { sum.value += 1 }
      queue.sync(flags: .barrier) { sum.value += 1 }
    }
  }

  private static func once() -> Body {
    let (once, runs) = (Once(), Unprotected(0))
    return { once.value.run { runs.value += 1 } }
  }

  private final class Once: Sendable {
    let value = DispatchOnce()
  }
}
