// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import GrandCentral

/// Each test changes what belongs to the process, so each has a process of its own.
@Suite("The topology")
struct TopologyTests {
  @Test("E1: counts the processors of the affinity mask at most, and one at least")
  func affinity() async {
    await #expect(processExitsWith: .exitCode(0)) {
      unsetenv("GRANDCENTRAL_THREADS")
      var mask = LibC.affinity
      let allowed = mask.reduce(0) { $0 + $1.nonzeroBitCount }
      let count = Topology.activeProcessors()
      guard (1...allowed).contains(count) else { exit(1) }

      // First this thread alone is left one processor, then the process's first thread, too. One thread does not speak for the
      // process, so only the second step changes what the next reading says.
      guard let first = mask.firstIndex(where: { $0 != 0 }) else { exit(2) }
      let bit = mask[first] & (~mask[first] &+ 1)
      mask = [UInt8](repeating: 0, count: mask.count)
      mask[first] = bit
      LibC.affinity = mask
      guard Topology.activeProcessors() == count else { exit(4) }
      LibC.setAffinity(mask, of: getpid())
      exit(Topology.activeProcessors() == 1 ? 0 : 3)
    }
  }

  @Test("E1: is overridden by the environment, and that by the program")
  func overrides() async {
    await #expect(processExitsWith: .exitCode(0)) {
      setenv("GRANDCENTRAL_THREADS", "37", 1)
      guard Topology.activeProcessors() == 37 else { exit(1) }
      Topology.setOverride(5)
      guard Topology.activeProcessors() == 5 else { exit(2) }
      Topology.setOverride(nil)
      guard Topology.activeProcessors() == 37 else { exit(3) }
      setenv("GRANDCENTRAL_THREADS", "many", 1)
      exit(Topology.activeProcessors() == Topology.systemProcessors() ? 0 : 4)
    }
  }

  @Test(
    "E1: takes 1 to 1024 from the environment, and nothing else",
    arguments: [
      ("1", 1), ("1024", 1024), ("8\n", 8), ("0", nil), ("1025", nil), ("-3", nil), ("", nil), ("4x", nil),
      ("99999999999999999999", nil),
    ] as [(String, Int?)])
  func environment(value: String, count: Int?) {
    #expect(Topology.parseOverride(Array(value.utf8)) == count)
  }

  @Test("GC0025: an override outside 1...1024 traps")
  func misuse() async throws {
    let result = try await #require(
      processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]
    ) {
      Topology.setOverride(1025)
    }
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(text.contains("GrandCentral misuse [GC0025]: "))
    #expect(text.contains("1025"))
  }
}
