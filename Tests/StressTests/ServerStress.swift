// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

/// What needs many processes at once, as each has one pool.
@Suite("Blocking servers under stress", .serialized)
struct ServerStress {
  @Test("E2, S8: seven processes at once: servers that block in accept and read serve clients on sources of their pool")
  func servers() {
    let deadline = Stress.deadline()
    let (runs, failures) = (Counter(), Recorder<String>())
    PlainThread.concurrently(7) { thread in
      // With two processors one worker is left, which must find a blocking item and the item that ends its wait.
      let environment = thread % 2 == 0 ? ["GRANDCENTRAL_THREADS": "2"] : [:]
      repeat {
        let result = Probe.run("server-on-the-same-pool", environment: environment)
        if result.skipped == nil, result.number("requests") != 100 { failures.note("\(result)") }
        runs.add()
      } while Stress.runs(until: deadline) && failures.count == 0
    }
    print("blocking servers: \(runs.value) processes")
    #expect(failures.values == [])
  }
}
