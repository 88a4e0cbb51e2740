// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("Blocking in async code", .timeLimit(.minutes(30)))
struct AsyncBlockingTests {
  private func reports(_ result: ProbeResult) -> [Substring] {
    result.errors.split(separator: "\n").filter { $0.contains("async code blocks its thread") }
  }

  @Test("X4: is reported once for each place, when asked for")
  func reported() {
    let result = Probe.run("blocking-in-tasks", environment: ["GRANDCENTRAL_CHECKS": "blocking"])
    #expect(result.ended, "\(result)")
    let lines = reports(result)
    #expect(lines.count == 3, "\(result)")
    for place in ["waitForSemaphore", "waitForGroup", "waitInSync"] {
      #expect(lines.count { $0.contains(place) } == 1, "\(result)")
    }
  }

  @Test("X4: is not reported when not asked for, nor outside of tasks", arguments: ["", "other", "blocking"])
  func notReported(checks: String) {
    let scenario = checks == "blocking" ? "blocking-outside" : "blocking-in-tasks"
    let result = Probe.run(scenario, environment: ["GRANDCENTRAL_CHECKS": checks])
    #expect(result.ended, "\(result)")
    #expect(reports(result).isEmpty, "\(result)")
  }

  @Test("X4: is compensated for tasks on our queues: sixty-four block, and the last one lets them go")
  func compensated() {
    let result = Probe.run("all-tasks-block")
    #expect(result.ended, "\(result)")
    // A pool that adds one thread a second, as libdispatch does, would take a minute.
    #expect((result.number("milliseconds") ?? .max) < 20_000, "\(result)")
  }
}

@Suite("The main actor", .timeLimit(.minutes(30)))
struct MainActorTests {
  @Test("X1: agrees with the main queue under dispatchMain, and loses no job from before it")
  func dispatchMain() {
    let result = Probe.run("main-actor")
    #expect(result.ended, "\(result)")
    #expect(result["early"] == "10", "\(result)")
    #expect(result["late"] == "100", "\(result)")
    #expect(result["isolated"] == "1", "\(result)")
  }
}

@Suite("Public types")
struct SendableTests {
  private func needsSendable<T: Sendable>(_ type: T.Type) {}

  @Test("X3: are Sendable; the package Tests/Programs/Client sends each of them to another domain")
  func sendable() {
    needsSendable(DispatchQueue.self)
    needsSendable(DispatchSerialQueue.self)
    needsSendable(DispatchQueuePool.self)
    needsSendable(DispatchQueuePool.QueueStatistics.self)
    needsSendable(DispatchGroup.self)
    needsSendable(DispatchGroupScope.Entry.self)
    needsSendable(DispatchSemaphore.self)
    needsSendable(DispatchWorkItem.self)
    needsSendable((any DispatchSourceProtocol).self)
    needsSendable(DispatchSource.Events<UInt>.self)
    needsSendable(DispatchData.self)
    needsSendable(DispatchIO.self)
    needsSendable(DispatchClock.Instant.self)
  }
}
