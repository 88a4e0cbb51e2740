// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import Testing

// Q9: the test of misuse that Documentation/Testing.md shows.
@Test func syncOntoItself() async {
  await #expect(processExitsWith: .failure) {
    let queue = DispatchSerialQueue(label: "queue")
    queue.sync { queue.sync {} }
  }
}
