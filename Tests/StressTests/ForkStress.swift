// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

/// Children of forks. The Swift runtime's locks, which a child may never get, are the danger: an optimised build asks for no type in the
/// engine's own threads, and an unoptimised one waits at a fork until they rest (`Engine/Fork.swift`).
@Suite("Forks under stress", .serialized)
struct ForkStress {
  @Test(
    "E5, S12: a child that is forked in the middle of other work works, and watches processes of its own",
    arguments: [
      ("process-fork", "child", "0"), ("fork", "child", "1"), ("fork-while-busy", "children", "10"),
      ("fork-while-locked", "children", "20"), ("fork-from-item", "child", "1"), ("fork-before-use", "child", "1"),
    ])
  func children(_ scenario: String, _ key: String, _ expected: String) {
    repeatedly(scenario, key, expected)
  }

  @Test(
    "E5: a fork waits for a thread that has a lock of the runtime, however long it has it",
    arguments: [
      ("fork", "child", "1"), ("fork-while-busy", "children", "10"), ("fork-while-locked", "children", "20"),
      ("fork-from-item", "child", "1"),
    ])
  func slowRuntime(_ scenario: String, _ key: String, _ expected: String) {
    let locks = repeatedly(scenario, key, expected, environment: ["GC_SLOW_RUNTIME": "1"])
    if let locks, !Kernel.isSanitized { #expect(locks > 0, "no lock was held for long") }
  }

  @Test(
    "E5: a child works that is forked while another thread begins to use the library",
    arguments: ["fork-while-engine-begins", "fork-beside-first-use"])
  func engineBegins(_ scenario: String) {
    repeatedly(scenario, "child", "1")
  }

  @Test(
    "E5: a child works that is forked while another thread uses a type for the first time",
    arguments: ["fork-while-optional-begins", "fork-while-array-begins"])
  func typesBegin(_ scenario: String) {
    let result = Probe.run(scenario)
    if result.skipped != nil { return }
    #expect(result.ended && result.number("children") == 2, "\(result)")
  }

  /// Runs the scenario again and again. Returns how many locks of the runtime were held for long; nil if it cannot run here.
  @discardableResult
  private func repeatedly(
    _ scenario: String, _ key: String, _ expected: String, environment: [String: String] = [:]
  ) -> Int? {
    let deadline = monotonicNanoseconds() + UInt64(Stress.seconds / 3 * 1e9)
    var (rounds, locks) = (0, 0)
    repeat {
      let result = Probe.run(scenario, environment: environment)
      rounds += 1
      if result.skipped != nil { return nil }
      #expect(result.ended && result[key] == expected, "round \(rounds): \(result)")
      locks += result.number("slowLocks") ?? 0
      if !result.ended { break }
    } while Stress.runs(until: deadline)
    print("\(scenario): \(rounds) rounds")
    return locks
  }
}
