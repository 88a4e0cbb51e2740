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

  private static let recorded = ["GRANDCENTRAL_INSPECT": "1", "GRANDCENTRAL_RECORD": "ring"]

  /// What stands in a core file: its type, its kinds of notes, and how many bytes of memory it has.
  private func coreFile(_ path: String) throws -> (type: UInt16, notes: [UInt32], memory: Int) {
    let file = try #require(fopen(path, "r"))
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = fread(&bytes, 1, bytes.count, file)
    try #require(count > 4096 && Array(bytes[0..<4]) == [0x7F, 0x45, 0x4C, 0x46])
    func number<T: FixedWidthInteger>(_ type: T.Type, at offset: Int) -> T {
      bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: type) }
    }
    let (begin, length) = (Int(number(UInt64.self, at: 64 + 8)), Int(number(UInt64.self, at: 64 + 32)))
    let memory = number(UInt64.self, at: 120 + 8) + number(UInt64.self, at: 120 + 32)
    var notes: [UInt32] = []
    var place = begin
    while place < begin + length {
      notes.append(number(UInt32.self, at: place + 8))
      let (name, contents) = (Int(number(UInt32.self, at: place)), Int(number(UInt32.self, at: place + 4)))
      place += 12 + (name + 3) & ~3 + (contents + 3) & ~3
    }
    #expect(place == begin + length)
    return (number(UInt16.self, at: 16), notes, Int(memory))
  }

  /// The kinds of notes: a process, its threads, and the files that are mapped.
  private func expectCore(_ path: String, threads: ClosedRange<Int>) throws {
    let file = try coreFile(path)
    #expect(file.type == 4)
    #expect(file.notes.first == 3 && file.notes.suffix(2) == [0x4649_4C45, 1])
    #expect(threads.contains(file.notes.dropLast().count { $0 == 1 }), "\(file.notes)")
    var status = stat()
    try #require(stat(path, &status) == 0)
    #expect(Int(status.st_size) == file.memory)
    // What was never used is a hole. How much was depends on how long the program has run: on a loaded machine 8.7 of 42 MB.
    #expect(status.st_blocks * 512 < file.memory / 2)
  }

  @Test("F3: a core file of what tools read: of the program's own will, in a handler of signals, at a fault")
  func cores() throws {
    let path = "/tmp/gc-core-\(getpid())"
    var made = [path]
    defer { for each in made { unlink(each) } }
    let environment = Self.recorded.merging(["GC_PROBE_FILE": path]) { $1 }
    let result = Probe.run("core-file", environment: environment)
    #expect(result.ended, "\(result)")
    for (field, expected) in [("early", 0), ("refused", 0), ("pipe", 0), ("errno", 77), ("written", 1), ("again", 1)] {
      #expect(result.number(field) == expected, "\(field): \(result)")
    }
    try expectCore(path, threads: 3...8)
    let handler = Probe.run("core-in-handler", environment: environment)
    #expect(handler.ended && handler["handled"] == "1", "\(handler)")
    try expectCore(path, threads: 1...8)
    let fault = Probe.run("dump-fault", environment: ["GRANDCENTRAL_CORE": path + "-%p", "GRANDCENTRAL_DUMP": "off"])
    #expect(fault.end == .killed(SIGABRT), "\(fault)")
    let line = try #require(fault.errors.split(separator: "\n").last)
    let name = try #require(line.split(separator: " ").last.map(String.init))
    made.append(name)
    #expect(line.hasPrefix("  gcd trace --core, gcd why --core: \(path)-"), "\(fault)")
    try expectCore(name, threads: 1...8)
    let nowhere = ["GRANDCENTRAL_CORE": "/proc/absent", "GRANDCENTRAL_DUMP": "off"]
    let refused = Probe.run("dump-fault", environment: nowhere)
    #expect(refused.errors.contains("  no core file could be written: /proc/absent\n"), "\(refused)")
  }

  @Test("F3: as much of a path for core files that is none is told as is kept of it", arguments: [1_023, 5_000])
  func longPath(length: Int) throws {
    let path = String(repeating: "x", count: length)
    let result = Probe.run("dump-fault", environment: ["GRANDCENTRAL_CORE": path, "GRANDCENTRAL_DUMP": "off"])
    #expect(result.end == .killed(SIGABRT), "\(result)")
    let line = try #require(result.errors.split(separator: "\n").last)
    let words = "  no core file, as GRANDCENTRAL_CORE is no path that begins with /, or too long: "
    let told = words + String(repeating: "x", count: 1_023)
    #expect(line == told, "\(result)")
  }

  @Test("F3: at the signal that the environment has chosen the process writes what it would at a fault, and goes on")
  func chosenSignal() throws {
    let path = "/tmp/gc-core-signal-\(getpid())"
    defer { unlink(path) }
    for name in ["USR2", "SIGUSR2", "12"] {
      let environment = Self.recorded.merging(["GRANDCENTRAL_DUMP_SIGNAL": name, "GRANDCENTRAL_CORE": path]) { $1 }
      let result = Probe.run("dump-signal", environment: environment)
      #expect(result.ended && result.number("read") == 1, "\(result)")
      let lines = result.errors.split(separator: "\n")
      #expect(lines.first == "GrandCentral: nothing can be shown yet", "\(result)")
      #expect(lines.count { $0.hasSuffix(", as its threads and objects were:") } == 2, "\(result)")
      #expect(lines.count { $0 == "  gcd trace --core, gcd why --core: \(path)" } == 2, "\(result)")
      #expect(lines.last == "its own", "\(result)")
      try expectCore(path, threads: 1...8)
    }
    // What a thread causes by a crash or by its end would come again when the handler returns, and two are the C library's own.
    let caused = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, 32, 33].map { "\($0)" }
    for name in ["KILL", "9", "0", "65", "SIG", "USR2x", "-12"] + caused {
      let result = Probe.run("dump-signal", environment: ["GRANDCENTRAL_DUMP_SIGNAL": name])
      let words = "GrandCentral: GRANDCENTRAL_DUMP_SIGNAL names no signal that can be handled: \(name)\n"
      // Without a handler the signal ends the process, unless the thread that has started it had it blocked.
      #expect(result.end == .killed(SIGUSR2) || result.ended, "\(result)")
      #expect(result.errors.hasPrefix(words) && !result.errors.contains("can be shown"), "\(result)")
    }
  }

  @Test("F3: a core file that cannot be had is refused; a child of a fork has its own")
  func refusedCores() {
    let path = "/tmp/gc-core-refused-\(getpid())"
    defer { unlink(path) }
    let result = Probe.run("core-refused", environment: Self.recorded.merging(["GC_PROBE_FILE": path]) { $1 })
    #expect(result.ended, "\(result)")
    #expect(result["appended"] == "0" && result["limited"] == "0" && result["unlimited"] == "1", "\(result)")
    if result.skipped == nil { #expect(result.number("children") == 0, "\(result)") }
  }

  @Test("F3: of threads with a fault at the same time one writes the core file")
  func faultsAtOnce() throws {
    for round in 0..<5 {
      let path = "/tmp/gc-core-faults-\(getpid())-\(round)"
      defer { unlink(path) }
      let result = Probe.run("core-faults", environment: ["GRANDCENTRAL_CORE": path, "GRANDCENTRAL_DUMP": "off"])
      #expect(result.end == .killed(SIGABRT), "\(result)")
      let told = result.errors.split(separator: "\n").filter { $0.hasPrefix("  ") }
      #expect(told == ["  gcd trace --core, gcd why --core: \(path)"], "\(result)")
      try expectCore(path, threads: 1...16)
    }
  }

  @Test("F1: a report that no process reads ends nothing, and a fault ends the process as ever, with its core file")
  func brokenErrors() throws {
    let path = "/tmp/gc-core-broken-\(getpid())"
    defer { unlink(path) }
    let result = Probe.run("broken-errors", environment: ["GRANDCENTRAL_CORE": path, "GRANDCENTRAL_DUMP": "off"])
    #expect(result["cancelled"] == "1", "\(result)")
    #expect(result.end == .killed(SIGABRT), "\(result)")
    try expectCore(path, threads: 1...8)
  }

  @Test("F3: what a process shows of itself is lost where no process reads it or the file is full, and ends nothing")
  func brokenDumps() {
    let path = "/tmp/gc-dump-broken-\(getpid())"
    defer { unlink(path) }
    let environment = ["GRANDCENTRAL_DUMP_SIGNAL": "USR2", "GRANDCENTRAL_DUMP": path]
    // At the signal it goes to standard error, and then to the file; at the fault as well.
    for setting in [environment.filter { $0.key == "GRANDCENTRAL_DUMP_SIGNAL" }, environment] {
      let result = Probe.run("broken-errors-dump", environment: setting)
      #expect(result["goesOn"] == "1" && result["written"] == "0", "\(result)")
      #expect(result["left"] == "0" && result["stays"] == "1", "\(result)")
      if setting["GRANDCENTRAL_DUMP"] != nil { #expect(result["limited"] == "0", "\(result)") }
      #expect(result.end == .killed(SIGABRT), "\(result)")
    }
  }

  @Test("F1, F3: a thread with a fault waits for the first one's core file, whatever signals come; no child does")
  func faultAwaited() {
    let result = Probe.run("fault-awaited")
    #expect(result.ended, "\(result)")
    #expect(result["early"] == "0", "\(result)")
    #expect(result.number("interrupted") == 5 || result["over"] == "1", "\(result)")
    #expect(result.number("child") == 0, "\(result)")
  }

  @Test("E5: the parent's threads are none of the child's")
  func forks() {
    let result = Probe.run("dump-fork", environment: Self.inspect)
    #expect(result.ended, "\(result)")
    if result.skipped != nil { return }
    #expect(result.number("child") == 0)
  }
}
