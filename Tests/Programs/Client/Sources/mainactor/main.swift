// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral

// The main actor's jobs run in our `dispatchMain()`, wherever Swift's library is.
@MainActor func finish() {
  dispatchPrecondition(condition: .onQueue(.main))
  print("the main actor runs")
  exit(0)
}

Task.detached { await finish() }
dispatchMain()
