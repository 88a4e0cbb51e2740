// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

extension Scenario {
  static let applyConvoys: [String: Body] = ["apply-convoy": applyConvoy, "apply-nested-convoy": applyNestedConvoy]

  /// One call, checked by what it has left on the caller's stack when it returns.
  ///
  /// - Returns: whether each index was called once and had ended.
  private static func call(_ count: Int, _ body: @Sendable (Int) -> Void) -> Bool {
    // The call's own memory: a piece that runs after the return writes into a later call's.
    withUnsafeTemporaryAllocation(of: Int32.self, capacity: count) { ended in
      ended.initialize(repeating: 0)
      let view = Unprotected(ended)
      DispatchQueue.concurrentPerform(iterations: count) { index in
        body(index)
        view.value[index] += 1
      }
      return ended.allSatisfy { $0 == 1 }
    }
  }

  /// More callers than the registry has places. The pieces last so long that the monitor helps: it looks every millisecond.
  @Sendable private static func applyConvoy() {
    let broken = Counter()
    PlainThread.concurrently(24) { caller in
      for round in 0..<12 {
        let count = 2 + (caller + round) % 4
        if !call(count, { usleep(UInt32(300 + ($0 + caller) % 5 * 400)) }) { broken.add() }
      }
    }
    report("broken", broken.value)
  }

  /// Callers inside of calls, most of which have help by the time the inner ones begin.
  @Sendable private static func applyNestedConvoy() {
    let broken = Counter()
    PlainThread.concurrently(8) { caller in
      for round in 0..<4 {
        let whole = call(3) { index in
          if !call(3, { usleep(UInt32(200 + ($0 + index + caller + round) % 4 * 500)) }) { broken.add() }
        }
        if !whole { broken.add() }
      }
    }
    report("broken", broken.value)
  }
}
