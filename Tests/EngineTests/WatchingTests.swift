// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

/// Each test runs a program with a pool of two, in which a wait ends only if another worker watches the blocked worker's slot.
@Suite("Pending work always has a watcher")
struct WatchingTests {
  private func run(_ scenario: String) -> ProbeResult {
    Probe.run(scenario, environment: ["GRANDCENTRAL_THREADS": "2"])
  }

  @Test("E2: what the poller's worker has found besides an item that blocks does not wait behind it")
  func foundBeside() {
    let result = run("blocker-found-beside-its-rescuer")
    #expect(result.number("rounds") == 20, "\(result)")
  }

  @Test("E2: a worker with nothing to do that becomes one too many leaves the slots to somebody else")
  func surplusWatcher() {
    let result = run("blocker-with-surplus-watcher")
    #expect(result.number("rounds") == 10, "\(result)")
  }

  @Test("E2, S8: a server that blocks in accept and read serves clients on sources of the same pool")
  func serverOnTheSamePool() {
    let result = run("server-on-the-same-pool")
    if result.skipped == nil { #expect(result.number("requests") == 100, "\(result)") }
  }
}
