// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@Suite("The thread pool")
struct PoolTests {
  @Test("E1: the environment sets the number of processors to count with", arguments: [1, 2, 3])
  func environment(count: Int) {
    let result = Probe.run("threads-of-apply", environment: ["GRANDCENTRAL_THREADS": "\(count)"])
    #expect(result.ended, "\(result)")
    #expect(1...count ~= result.number("threads") ?? 0, "\(result)")
  }

  @Test("E1: items that do not block are run by few workers")
  func spinners() {
    let result = Probe.run("threads-of-spinners", environment: ["GRANDCENTRAL_THREADS": "2"])
    #expect(result.ended, "\(result)")
    // On a loaded machine a worker that was preempted for long looks blocked, so one more may come for each.
    let most = 6 + (result.number("preempted") ?? 0)
    #expect(1...most ~= result.number("threads") ?? 0, "\(result)")
  }

  @Test("E1: the program sets the number of processors to count with")
  func override() {
    let result = Probe.run("override-by-api")
    #expect(result.ended, "\(result)")
    #expect(result.number("threads") == 1, "\(result)")
  }

  @Test("E1: the affinity mask bounds the pool")
  func affinity() throws {
    let result = Probe.run("affinity")
    #expect(result.ended, "\(result)")
    if result.skipped == nil { #expect(result.number("threads") == 1, "\(result)") }
  }

  @Test("E1: one pinned thread does not speak for the process: workers are not pinned, and as many as processors")
  func pinnedFirstThread() throws {
    let result = Probe.run("pinned-first-thread")
    #expect(result.ended, "\(result)")
    guard result.skipped == nil, let processors = result.number("processors") else { return }
    #expect(result["usable"] == "\(processors)", "\(result)")
    #expect(result.number("threads") == processors, "\(result)")
  }

  @Test("E8: workers are named after their band")
  func names() {
    let result = Probe.run("names")
    #expect(result.ended, "\(result)")
    let names = result["names"]?.split(separator: ",") ?? []
    #expect(names.count == 5, "\(result)")
    for name in names { #expect(name.wholeMatch(of: /gc-[a-z]+-[0-9]+/) != nil, "\(name)") }
    #expect(result["main"]?.hasPrefix("gc-") == false, "\(result)")
  }

  @Test("E8: every worker runs the start hook before its first item, and the exit hook when it retires")
  func hooks() {
    let result = Probe.run("hooks")
    #expect(result.ended, "\(result)")
    #expect(result.number("unannounced") == 0, "\(result)")
    #expect(result.number("starts") ?? 0 >= 16, "\(result)")
    #expect(result.number("retired") == 1, "\(result)")
    #expect(result.number("strangers") == 0, "\(result)")
    #expect(result.number("balanced") == 1, "\(result)")
  }

  @Test("E8: threads that submit and end leave no cached memory behind")
  func threadCaches() {
    let result = Probe.run("thread-caches")
    #expect(result.ended, "\(result)")
    if result.skipped == nil { #expect(result.number("grownKilobytes") ?? .max < 12_000, "\(result)") }
  }

  @Test("E4: a thread that a background item starts does not inherit its priority")
  func niceness() {
    let result = Probe.run("niceness")
    #expect(result.ended, "\(result)")
    #expect(result["started"] != nil && result["started"] == result["main"], "\(result)")
  }

  @Test("E1: exit hooks that take long count against the budget of threads, and what they submit runs")
  func exitHooks() {
    let result = Probe.run("exit-hooks-wait", environment: ["GRANDCENTRAL_THREAD_BUDGET": "8"])
    #expect(result.ended, "\(result)")
    #expect(result.number("submitted") == 1, "\(result)")
    #expect(result.number("most") ?? .max <= 8, "\(result)")
    #expect(result.number("replaced") == 1, "\(result)")
  }

  @Test(
    "E8: a start hook may wait for work of the pool, whether the engine sees it or not",
    arguments: ["start-hook-waits", "start-hook-waits-unseen"], ["1", "2"])
  func startHookWaits(scenario: String, processors: String) {
    let result = Probe.run(scenario, environment: ["GRANDCENTRAL_THREADS": processors])
    #expect(result.ended, "\(result)")
  }

  @Test("E8: what former hooks have kept may set hooks and wait for the pool as it is freed")
  func hooksAreFreed() {
    let result = Probe.run("hooks-are-freed")
    #expect(result.ended, "\(result)")
    #expect(result.number("freed") == 1, "\(result)")
    #expect(result.number("started") == 1, "\(result)")
  }

  @Test("S7: what an item starts does not inherit the exactness of the engine's own waits")
  func timerSlack() {
    let result = Probe.run("timer-slack")
    #expect(result.ended, "\(result)")
    if result.skipped == nil { #expect(result.number("different") == 0, "\(result)") }
  }

  @Test("E1: a budget that items at work use up is not reported as blocked workers")
  func budgetAtWork() {
    let result = Probe.run(
      "budget-at-work", environment: ["GRANDCENTRAL_THREAD_BUDGET": "2", "GRANDCENTRAL_THREADS": "2"])
    #expect(result.ended, "\(result)")
    #expect(!result.errors.contains("blocked"), "\(result)")
  }

  @Test("E2: a program with much thread-local storage has a monitor too")
  func threadLocals() {
    let result = Probe.run("blockers", of: .threadLocals, environment: ["GRANDCENTRAL_THREADS": "1"])
    #expect(result.ended, "\(result)")
    #expect(result.number("ran") == 1, "\(result)")
  }
}
