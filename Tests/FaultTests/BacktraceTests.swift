// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

/// The toolchain's backtracer unwinds the process that has trapped: what it prints is what a user sees.
@Suite("A fault's backtrace")
struct BacktraceTests {
  private static let backtraces = [
    "SWIFT_BACKTRACE": "enable=yes,interactive=no,color=no,threads=crashed,images=none,sanitize=no,output-to=stderr"
  ]

  @Test(
    "F1: shows the program's own function, with its file and line",
    .enabled(if: !Kernel.isSanitized, "the backtracer can hang on a sanitized program"),
    arguments: [("misuse-on-main", "theProgramsMainFunction"), ("misuse-on-a-worker", "theProgramsItem")])
  func showsTheProgram(scenario: String, function: String) {
    let result = Probe.run(scenario, environment: Self.backtraces)
    #expect(result.end == .killed(SIGABRT), "\(result)")
    let frames = result.errors.split(separator: "\n").filter { $0.contains(function) }
    #expect(frames.contains { $0.contains("Backtraces.swift:") }, "\(result)")
    #expect(result["came"] == nil)
  }

  @Test("F1: the program's functions have names, also where its name leads to a folder or to a pipe")
  func namesOfCode() throws {
    let pipe = "/tmp/gc-name-\(getpid())"
    try #require(mkfifo(pipe, 0o600) == 0)
    defer { unlink(pipe) }
    for name in ["contract-probe", "/", pipe] {
      let result = Probe.run("code-names", environment: ["GC_NAME": name])
      #expect(result.ended && result["name"] == "gc_is_open", "\(result)")
    }
  }

  @Test(
    "F1: a fault ends the process though SIGABRT is blocked or ignored",
    arguments: ["misuse-with-sigabrt-blocked", "misuse-with-sigabrt-ignored"])
  func alwaysEnds(scenario: String) {
    let result = Probe.run(scenario)
    #expect(result.end == .killed(SIGABRT), "\(result)")
    #expect(result["came"] == nil)
  }
}
