// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral

// Under an `async` main the main queue's items run where the main actor's jobs do, wherever Swift's library is.
await withUnsafeContinuation { continuation in
  DispatchQueue.main.async {
    dispatchPrecondition(condition: .onQueue(.main))
    print("an item runs")
    continuation.resume()
  }
}
dispatchPrecondition(condition: .onQueue(.main))
print("the main actor goes on")
