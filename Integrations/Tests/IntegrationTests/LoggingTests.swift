// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralLogging
import Logging
import Testing

@Suite("GrandCentralLogging says on which queue a line was logged")
struct LoggingTests {
  @Test("the label of the queue that runs the item; none for a queue without one")
  func label() {
    let provider = Logger.MetadataProvider.dispatchQueue
    let seen = DispatchQueue(label: "org.example.logs").sync { provider.get() }
    #expect(seen == ["queue": "org.example.logs"])
    let inner = DispatchQueue(label: "outer").sync { DispatchQueue(label: "inner").sync { provider.get() } }
    #expect(inner == ["queue": "inner"])
    #expect(DispatchQueue(label: "").sync { provider.get() }.isEmpty)
  }
}
