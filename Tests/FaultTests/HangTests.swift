// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

/// The ways to hang of `Tests/Programs/Hangs`, each in a process of its own.
@Suite("Blocking patterns", .serialized, .timeLimit(.minutes(30)))
struct HangTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    let isCycle: Bool
    let says: [Substring]
    var testDescription: String { name }

    static let all: [Row] = Probe.run("--list", of: .hangs).output.split(separator: "\n").map { line in
      let fields = line.split(separator: "\t")
      return Row(name: String(fields[0]), isCycle: fields[1] == "cycle", says: fields[2].split(separator: "|"))
    }
  }

  @Test("F4, K4: twenty-six patterns and more are there, with what is to be said of each")
  func table() {
    #expect(Row.all.count >= 26)
    #expect(Row.all.count { $0.isCycle } >= 16)
    #expect(Set(Row.all.map(\.name)).count == Row.all.count)
    #expect(Row.all.allSatisfy { !$0.says.isEmpty })
  }

  @Test("F4, K4: a cycle is reported once, within 100 ms; nobody else is accused", arguments: Row.all)
  func reported(row: Row) throws {
    let result = Probe.run(row.name, of: .hangs, environment: ["GRANDCENTRAL_CYCLES": "report", "HANGS_WATCH": "200"])
    #expect(result.ended, "\(result)")
    let reports = result.errors.split(separator: "\n").filter { $0.contains("GC0032") }
    guard row.isCycle else {
      #expect(reports.isEmpty, "\(result)")
      return
    }
    try #require(reports.count == 1, "\(result)")
    #expect(reports[0].hasPrefix("GrandCentral: [GC0032] "), "\(result)")
    for word in row.says { #expect(reports[0].contains(word), "\(word) is missing in: \(result)") }
    let formed = try #require(result.number("formed")), reported = try #require(result.number("reported"))
    // The machine may be late by itself: for the waiter, and for the reader that looks at the clock. The library's report computes for some
    // 20 ms without optimisation: meanwhile it loses what another thread loses in sum.
    let late = try #require(result.number("late")), lost = try #require(result.number("lost"))
    #expect(reported - formed <= 100_000_000 + 2 * late + max(lost, late), "\(result)")
  }

  @Test("F4: the main thread's part in a cycle traps", arguments: Row.all.filter { $0.name.hasPrefix("main-") })
  func mainTraps(row: Row) {
    let result = Probe.run(row.name, of: .hangs)
    #expect(result.end == .killed(6), "\(result)")
    expectFault(result.errors, "GC0032", mentions: row.says.map(String.init) + ["the main thread"])
  }

  @Test("F4: what is switched off is not looked for")
  func off() {
    // The program looks at what the library says for long after the time in which a cycle is reported, and ends.
    let result = Probe.run(
      "crosswise-sync", of: .hangs, environment: ["GRANDCENTRAL_CYCLES": "off", "HANGS_WATCH": "1000"])
    #expect(result.ended, "\(result)")
    #expect(result["formed"] != nil, "\(result)")
    #expect(result.errors.isEmpty, "\(result)")
  }
}
