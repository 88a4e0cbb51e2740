// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@Suite("The main queue where nobody drains it but the toolchain", .timeLimit(.minutes(30)))
struct ForeignLoopTests {
  @Test("X1: under an async main the main queue's items run where the main actor's jobs do, one at a time")
  func asyncMain() {
    let result = Probe.run("main-queue", of: .asyncMain)
    #expect(result.ended, "\(result)")
    #expect(result["elsewhere"] == "0", "\(result)")
    #expect(result["afterwards"] == "1", "\(result)")
    #expect(result["count"] == "1000", "\(result)")
    #expect(result["peak"] == "1", "\(result)")
    #expect(result["sync"] == "1", "\(result)")
    #expect(result["after"] == "1", "\(result)")
  }

  @Test("X1: a main queue that is never empty leaves room for the main actor")
  func busy() {
    let result = Probe.run("main-queue-busy", of: .asyncMain)
    #expect(result["count"] == "100", "\(result)")
  }

  @Test("X1: a sync from the main actor onto the main queue is a deadlock, and said to be one")
  func deadlock() {
    let result = Probe.run("main-sync-on-main", of: .asyncMain)
    #expect(!result.ended, "\(result)")
    #expect(result.errors.contains("would deadlock"), "\(result)")
  }

  @Test(
    "X1: items from before the program's own loop are run by it", arguments: ["late-dispatch-main", "late-descriptor"])
  func lateLoop(scenario: String) {
    let result = Probe.run(scenario, of: .asyncMain)
    #expect(result.ended, "\(result)")
    #expect(result["ordered"] == "1", "\(result)")
    if scenario == "late-dispatch-main" { #expect(result["onMainThread"] == "1", "\(result)") }
  }

  @Test("X1: a forked child of such a program has a main queue of its own")
  func forked() {
    let result = Probe.run("forked", of: .asyncMain)
    if result.skipped != nil { return }
    #expect(result["child"] == "7", "\(result)")
    #expect(result["parent"] == "1", "\(result)")
  }

  @Test("X1: Foundation's run loop runs the main queue's items")
  func runLoop() {
    let result = Probe.run("", of: .runLoop)
    #expect(result.ended, "\(result)")
    #expect(result["count"] == "200", "\(result)")
  }
}
