// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

@Suite("Channels in a process of their own")
struct ProcessTests {
  private func run(_ scenario: String, _ environment: [String: String] = [:]) -> ProbeResult? {
    let result = Probe.run(scenario, environment: environment)
    #expect(result.ended, "\(result)")
    if let reason = result.skipped {
      print("\(scenario) left out: \(reason)")
      return nil
    }
    return result
  }

  @Test("I8: files by the kernel's ring where it has one, and by helpers", arguments: ["auto", "uring", "threads"])
  func ways(way: String) {
    guard let result = run("io-way", ["GRANDCENTRAL_IO": way]) else { return }
    let isRefused = result.errors.contains("io_uring")
    #expect(isRefused == false || way == "uring")
    if way == "threads" || isRefused { #expect(result.number("ring") == 0, "\(result)") }
    if way == "uring", !isRefused { #expect(result.number("ring") == 1, "\(result)") }
  }

  @Test("I7, E6: without descriptors a path cannot be opened, and a pipe is read later")
  func noDescriptors() {
    guard let result = run("io-no-descriptors") else { return }
    #expect(result.number("open") == Int(EMFILE), "\(result)")
    #expect(result.number("early") == 0 && result.number("read") == 0, "\(result)")
  }

  @Test("E5: channels work in a forked child, and go on in the parent", arguments: ["uring", "threads"])
  func fork(way: String) {
    guard let result = run("io-fork", ["GRANDCENTRAL_IO": way]) else { return }
    #expect(result.number("child") == 0, "\(result)")
  }

  @Test("E5: a daemon's files stay open when it first uses channels", arguments: ["uring", "threads"])
  func forkDaemon(way: String) {
    guard let result = run("io-fork-daemon", ["GRANDCENTRAL_IO": way]) else { return }
    #expect(result.number("child") == 0, "\(result)")
  }

  @Test("E5: a child closes the path that it has opened, though its parent has made the channel")
  func forkOpens() {
    guard let result = run("io-fork-opens") else { return }
    #expect(result.number("child") == 0, "\(result)")
  }

  @Test("I7: every failure tells the handlers what it tells them with libdispatch: Documentation/ChannelErrors.md")
  func failures() throws {
    let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
    let page = try #require(readText(root + "/Documentation/ChannelErrors.md"))
    let expected = page.split(separator: "\n").filter { $0.hasPrefix("| root |") || $0.hasPrefix("| user |") }
    let result = Probe.run("all", of: .channelErrors)
    let found = Set(result.output.split(separator: "\n"))
    #expect(result.ended && expected.count > 100, "\(result)")
    for line in expected where getuid() == 0 || line.hasPrefix("| user |") {
      #expect(found.contains(line), "not so: \(line)")
    }
  }

  @Test("I7: EACCES reaches the handler; the cleanup handler gets 0")
  func noAccess() {
    guard let result = run("io-no-access") else { return }
    #expect(result.number("error") == Int(EACCES) && result.number("cleanup") == 0, "\(result)")
  }

  @Test("I3: where the kernel has no thread for what the ring cannot do at once, helpers write")
  func noRingThreads() {
    guard let result = run("io-no-ring-threads", ["GRANDCENTRAL_IO": "auto"]) else { return }
    #expect(result.number("size") == 200, "\(result)")
  }

  @Test(
    "I3: a file system that takes the question whether a write would wait for an invalid argument is not asked again")
  func refusedQuestion() {
    guard let result = run("io-odd-writes", ["GC_ERROR": "\(EINVAL)"]) else { return }
    #expect(result.number("error") == 0 && result.number("size") == 1_000, "\(result)")
  }

  @Test("I7: writes that write nothing, and name no error, end with EIO")
  func emptyWrites() {
    guard let result = run("io-odd-writes", ["GC_ERROR": "0"]) else { return }
    #expect(result.number("error") == Int(EIO) && result.number("rest") == 1_000, "\(result)")
  }

  @Test("I3, I7: a disk that is full ends the write with ENOSPC and what is left", arguments: ["uring", "threads"])
  func smallDisk(way: String) {
    guard let result = run("io-small-disk", ["GRANDCENTRAL_IO": way]) else { return }
    for name in ["stream", "random"] {
      #expect(result.number("error-\(name)") == Int(ENOSPC), "\(result)")
      #expect(result.number("rest-\(name)") == 100_000 - 65_536, "\(result)")
    }
  }

  @Test(
    "I3, I7: a file that may not become larger ends the write with EFBIG, and no signal",
    arguments: ["uring", "threads"])
  func fileLimit(way: String) {
    guard let result = run("io-file-limit", ["GRANDCENTRAL_IO": way]) else { return }
    for name in ["stream", "random", "single"] {
      #expect(result.number("error-\(name)") == Int(EFBIG), "\(result)")
      #expect(result.number("rest-\(name)") == 4096, "\(result)")
    }
  }
}
