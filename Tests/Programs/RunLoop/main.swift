// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Foundation
import GrandCentral

typealias DispatchQueue = GrandCentral.DispatchQueue

/// A program whose main thread is in Foundation's run loop.

func report(_ key: String, _ value: Int) { print("\(key)=\(value)") }

let both = Counter()

@Sendable func finish() {
  report("count", both.value)
  fflush(nil)
  exit(0)
}

Task.detached {
  for _ in 0..<100 {
    let onMain = await withCheckedContinuation { continuation in
      DispatchQueue.main.async {
        GrandCentral.dispatchPrecondition(condition: .onQueue(.main))
        MainActor.assertIsolated()
        continuation.resume(returning: Thread.isMainThread)
      }
    }
    if onMain { both.add() }
    await MainActor.run {
      GrandCentral.dispatchPrecondition(condition: .onQueue(.main))
      if Thread.isMainThread { both.add() }
    }
  }
  DispatchQueue.main.async { _ = Timer.scheduledTimer(withTimeInterval: 0.001, repeats: false) { _ in finish() } }
}
RunLoop.main.run()
