// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

/// Order between bands shows when there is one worker, so each test runs a program with a pool of one. The program
/// submits from inside an item, which holds that worker, and prints the order in which the bands had their turns.
@Suite("Order by quality of service")
struct PriorityTests {
  private func run(_ scenario: String) -> ProbeResult {
    Probe.run(scenario, environment: ["GRANDCENTRAL_THREADS": "1"])
  }

  /// As `run`, where the item that submits is to hold the pool for however long it takes: no thread is added for what is
  /// pending meanwhile (E9).
  private func runOnOneThread(_ scenario: String) -> ProbeResult {
    Probe.run(scenario, environment: ["GRANDCENTRAL_THREADS": "1", "GRANDCENTRAL_THREAD_BUDGET": "1"])
  }

  @Test("Q6: pending work of a higher band is picked before that of a lower band")
  func strictBands() {
    let result = run("bands")
    #expect(result.ended, "\(result)")
    #expect(result.number("started") == 500, "\(result)")
    #expect(result.number("overtaken") ?? .max < max(1, result.number("threads") ?? 0), "\(result)")
  }

  @Test("Q6: serial queues of a higher QoS come before those of a lower one")
  func strictBandsOfQueues() {
    let result = run("queue-bands")
    #expect(result.ended, "\(result)")
    #expect(result.number("overtaken") ?? .max < max(1, result.number("threads") ?? 0), "\(result)")
  }

  @Test("Q11: a queue's own QoS decides, then its target's, then the submitter's")
  func whereQoSComesFrom() {
    let result = runOnOneThread("qos-origin")
    #expect(result.ended, "\(result)")
    let order = result["order"]?.split(separator: ",").map(String.init) ?? []
    #expect(order == ["inherited", "plain", "own", "target"], "\(result)")
  }

  @Test("W3: enforceQoS lifts an item above its queue, and a detached item does not inherit")
  func flagsDecide() {
    let result = runOnOneThread("qos-flags")
    #expect(result.ended, "\(result)")
    let order = result["order"]?.split(separator: ",").map(String.init) ?? []
    #expect(order == ["enforced", "inherited", "detached"], "\(result)")
  }

  @Test("W4: waiting for an item of lower QoS raises its queue until the item has run")
  func waitRaises() {
    let result = run("wait-raises")
    #expect(result.ended, "\(result)")
    #expect(result.number("before") ?? .max < max(1, result.number("threads") ?? 0), "\(result)")
  }

  @Test("W4: sync onto a queue of lower QoS raises that queue until the sync has run")
  func syncRaises() {
    let result = run("sync-raises")
    #expect(result.ended, "\(result)")
    #expect(result.number("before") ?? .max < max(1, result.number("threads") ?? 0), "\(result)")
  }

  @Test(
    "W4: what a thread waits for is not held up by work that is as urgent as the thread",
    arguments: [
      "barrier", "behind-barrier", "item", "limited", "global", "later", "later-serial", "async-and-wait",
    ])
  func waiterLends(_ what: String) {
    let result = run("lend-" + what)
    #expect(result.ended, "\(result)")
    #expect(result.number("in-time") == 1, "\(result)")
    #expect(result.number("runs") == 1, "\(result)")
  }

  @Test(
    "W4, X2: what a task waits for is not held up by work that is as urgent as the task",
    arguments: ["item", "timeout", "later", "barrier", "global", "escalated"])
  func taskLends(_ what: String) {
    let result = run("lend-task-" + what)
    #expect(result.ended, "\(result)")
    #expect(result.number("in-time") == 1, "\(result)")
    #expect(result.number("runs") == 1, "\(result)")
  }

  @Test("Q16: concurrentPerform runs its iterations at the caller's QoS")
  func applyPropagates() {
    let result = Probe.run("apply-qos", environment: ["GRANDCENTRAL_THREADS": "2"])
    #expect(result.ended, "\(result)")
    #expect(result.number("first") == 1, "\(result)")
  }
}
