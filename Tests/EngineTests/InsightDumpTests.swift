// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

@Suite("What a process writes of itself")
struct InsightDumpTests {
  private static let inspect = ["GRANDCENTRAL_INSPECT": "1"]

  /// The text must show everything that `prepare` of the program has made.
  private func expectAll(_ text: String) {
    let lines = text.split(separator: "\n").filter { $0.hasPrefix("  ") }
    func expect(_ parts: String...) {
      #expect(lines.contains { line in parts.allSatisfy { line.contains($0) } }, "\(parts) in\n\(text)")
    }
    expect("  process ")
    // A byte of the label that could move a terminal's cursor is shown as a question mark.
    expect("  thread ", "(program): waits since ", "for its turn on queue \"he?ld\"", ", which thread ")
    expect("  object ", "serial queue \"he?ld\"")
    expect("timer, fires in 9", ", every 5.000 s, target ")
    expect("group, members 3")
    expect("source \"read source\" of 0, target ", ", suspended 1, inactive")
  }

  @Test("F3: the threads and the objects, a line each")
  func text() {
    let result = Probe.run("dump-text", environment: Self.inspect)
    #expect(result.ended, "\(result)")
    #expect(result["early"] == "0", "there is nothing to write yet")
    #expect(result["written"] == "1")
    #expect(result["refused"] == "0")
    #expect(result.number("errno") == 77)
    expectAll(result.errors)
  }

  @Test("F1, F3: a fault writes them after its line; to a file where a setting says so, or nowhere")
  func faults() throws {
    let path = "/tmp/gc-dump-\(getpid())"
    // A pipe without a reader does not keep the process from ending.
    let pipe = path + "-pipe"
    try #require(mkfifo(pipe, 0o600) == 0)
    defer { for made in [path, pipe] { unlink(made) } }
    for setting in ["", "off", path, pipe] {
      let result = Probe.run("dump-fault", environment: ["GRANDCENTRAL_DUMP": setting, "GRANDCENTRAL_INSPECT": "1"])
      #expect(result.end == .killed(SIGABRT), "\(result)")
      let lines = result.errors.split(separator: "\n")
      #expect(lines.first?.hasPrefix("GrandCentral misuse [GC0001]: ") == true, "\(result)")
      if setting.isEmpty { expectAll(result.errors) } else { #expect(lines.count == 1, "\(result)") }
    }
    let file = try #require(fopen(path, "r"))
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = fread(&bytes, 1, bytes.count, file)
    expectAll(String(decoding: bytes.prefix(count), as: UTF8.self))
  }

  @Test("F3: a handler of signals may do it, whatever lock its thread holds")
  func handlers() {
    let result = Probe.run("dump-in-handler", environment: Self.inspect)
    #expect(result.ended, "\(result)")
    #expect(result["handled"] == "1")
  }

  @Test("E5: the parent's threads are none of the child's")
  func forks() {
    let result = Probe.run("dump-fork", environment: Self.inspect)
    #expect(result.ended, "\(result)")
    if result.skipped != nil { return }
    #expect(result.number("child") == 0)
  }
}
