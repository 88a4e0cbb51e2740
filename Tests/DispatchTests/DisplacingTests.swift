// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

/// Each test runs a program with a pool of two whose workers compute for ever without a place.
@Suite("A worker that computes without a place holds nothing back")
struct DisplacingTests {
  @Test(
    "E9: an urgent item and a queue's item start beside items that compute for ever",
    arguments: ["long-after-wait", "long-beside-blocked", "long-with-fewer-processors"])
  func others(scenario: String) {
    let result = Probe.run(scenario, environment: ["GRANDCENTRAL_THREADS": "2"])
    #expect(result.number("ran") == 2, "\(result)")
  }

  @Test("E11: urgent items beside long ones do not add a thread each")
  func urgentItems() {
    let result = Probe.run("flood-of-urgent-items", environment: ["GRANDCENTRAL_THREADS": "2"])
    #expect(result.number("threads") ?? .max < 40, "\(result)")
  }
}
