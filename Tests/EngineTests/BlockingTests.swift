// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

/// Each test runs a program with a pool of two, whatever the machine has. The bounds are far above what is reached on
/// a quiet machine and far below what a pool without compensation needs. A machine that is late for threads that owe us nothing
/// is so for each thread that must wake up.
@Suite("Blocked workers are replaced", .serialized)
struct BlockingTests {
  private func run(_ scenario: String, _ environment: [String: String] = [:]) -> ProbeResult {
    Probe.run(scenario, environment: ["GRANDCENTRAL_THREADS": "2"].merging(environment) { $1 })
  }

  /// Whether a time that the program tells is below the bound, and what the machine is late for so many threads.
  private func isBelow(_ bound: Int, _ key: String, of result: ProbeResult, threads: Int) -> Bool {
    guard let time = result.number(key), let late = result.number("late") else { return false }
    return time < bound + threads * late
  }

  @Test("E2: ten jobs that sleep on a global queue have all started within milliseconds, not seconds")
  func tenSleepers() {
    let result = run("usleep-ten")
    #expect(result.ended, "\(result)")
    #expect(isBelow(500, "lastStart", of: result, threads: 10), "\(result)")
    #expect(isBelow(1_500, "total", of: result, threads: 10), "\(result)")
  }

  @Test(
    "E2: 64 items of which 63 wait for the last finish within milliseconds, however they wait",
    arguments: ["rendezvous-latch", "rendezvous-semaphore", "rendezvous-group"])
  func rendezvous(scenario: String) {
    let result = run(scenario)
    #expect(result.ended, "\(result)")
    #expect(isBelow(1_500, "total", of: result, threads: 64), "\(result)")
  }

  @Test("E2: 400 serial queues that block at once all run")
  func manySerialQueues() {
    let result = run("serial-400")
    #expect(result.ended, "\(result)")
    #expect(isBelow(10_000, "total", of: result, threads: 400), "\(result)")
  }

  @Test("E2: a chain of forty queues, each in a sync onto the next, comes undone")
  func syncChain() {
    let result = run("sync-chain")
    #expect(result.ended, "\(result)")
    #expect(isBelow(2_000, "total", of: result, threads: 40), "\(result)")
  }

  @Test("E1: the thread budget is kept, and one report names the blocked queues")
  func budget() {
    let result = run("budget", ["GRANDCENTRAL_THREAD_BUDGET": "8"])
    #expect(result.ended, "\(result)")
    #expect(result.number("blocked") == 8, "\(result)")
    #expect(result.number("workers") == 8, "\(result)")
    let reports = result.errors.split(separator: "\n").filter { $0.hasPrefix("GrandCentral:") }
    #expect(reports.count == 1, "\(result)")
    #expect(reports.first?.contains("blocked-") == true, "\(result)")
    #expect(reports.first?.contains("8") == true, "\(result)")
  }

  @Test("E1: the report names the global queues whose items hold the threads")
  func budgetOfGlobalQueues() {
    let result = run("budget-global", ["GRANDCENTRAL_THREAD_BUDGET": "8"])
    #expect(result.ended, "\(result)")
    let report = result["said"] ?? ""
    #expect(report.contains("\"com.apple.root.default-qos\" × "), "\(result)")
    #expect(!report.contains("nothing that has a name"), "\(result)")
  }

  @Test("E1: more sleepers than the budget has threads make progress, a budget at a time")
  func budgetIsShared() {
    let result = run("budget-sleepers", ["GRANDCENTRAL_THREAD_BUDGET": "10"])
    #expect(result.ended, "\(result)")
    #expect(result.number("total") ?? 0 >= 200, "\(result)")
    #expect(isBelow(5_000, "total", of: result, threads: 100), "\(result)")
  }

  @Test(
    "E1, E9: items that have taken all threads may wait for a global queue of another urgency",
    arguments: ["16", "32", "64", "200"])
  func budgetOfAnotherQueue(budget: String) {
    let result = run("budget-other-queue", ["GRANDCENTRAL_THREAD_BUDGET": budget])
    #expect(result.ended, "\(result)")
  }

  @Test(
    "E1, E2: items that work in turns do not make a convoy of threads, whatever they wait for",
    arguments: ["contended-mutex", "contended-semaphore", "contended-queue"])
  func contended(scenario: String) {
    let result = run(scenario)
    #expect(result.ended, "\(result)")
    // If every worker that joins the convoy were replaced, there would be all of the budget's 512. On a loaded machine the mutex's
    // holder may stand still for so long that the engine tries further workers.
    #expect(result.number("workers") ?? .max <= 300, "\(result)")
    #expect(!result.errors.contains("budget"), "\(result)")
  }

  @Test("E2: what an item has made runnable does not wait behind it when it blocks, though all were busy at the time")
  func slotBehindBlocker() {
    let result = run("slot-behind-blocker")
    #expect(result.number("rounds") == 20, "\(result)")
  }
}
