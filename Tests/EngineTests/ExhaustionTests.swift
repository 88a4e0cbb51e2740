// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

/// The rows of Documentation/Exhaustion.md.
@Suite("What the kernel refuses is delayed, reported once, and asked for again")
struct ExhaustionTests {
  /// Runs a scenario to its good end. Nil when the surroundings do not allow it.
  private func run(
    _ scenario: String, _ environment: [String: String] = [:], reports: ClosedRange<Int> = 1...1
  ) -> ProbeResult? {
    let leaks = ["ASAN_OPTIONS": "detect_leaks=0"]
    let result = Probe.run(scenario, environment: environment.merging(leaks) { $1 })
    if let group = result["group"] { _ = eventually { rmdir(group) == 0 || errno == ENOENT } }
    #expect(result.ended, "\(result)")
    if result.skipped != nil { return nil }
    #expect(reports.contains(lines(of: result).count), "\(result)")
    return result
  }

  private func lines(of result: ProbeResult) -> [Substring] {
    result.errors.split(separator: "\n").filter { $0.hasPrefix("GrandCentral") }
  }

  // MARK: For a while

  @Test(
    "E6: while no thread can be had at all, work is delayed",
    arguments: ["short-of-threads-by-limit", "short-of-threads-by-group"])
  func threads(scenario: String) throws {
    guard let result = run(scenario) else { return }
    #expect(lines(of: result).first?.contains("a worker thread") == true, "\(result)")
    #expect(try #require(result.number("milliseconds")) < 1_000, "\(result)")
  }

  @Test("E6: while a thread tries to replace the program, threads are refused for a moment, which is not reported")
  func besideExec() { if !Kernel.isSanitized { _ = run("short-of-threads-beside-exec", reports: 0...0) } }

  @Test("E6, E9: where few threads can be had, items that wait for a serial queue end", .timeLimit(.minutes(30)))
  func rush() { if !Kernel.isSanitized { _ = run("short-of-threads-rush", reports: 0...1) } }

  @Test(
    "E1, E6: where every thread waits while no more can be had, items end once they can be",
    .timeLimit(.minutes(30)), arguments: ["semaphore", "deadline", "group", "item", "sync"], [2, 3])
  func allWait(wait: String, limit: Int) {
    if Kernel.isSanitized { return }
    _ = run("all-wait-while-short-of-threads", ["GC_WAIT": wait, "GC_LIMIT": "\(limit)"])
  }

  @Test(
    "E6: what is submitted while the kernel is not asked for threads begins once they can be had",
    .timeLimit(.minutes(30)), arguments: ["short-of-threads-in-a-pause", "short-of-threads-beside-main-queue"])
  func pause(scenario: String) { if !Kernel.isSanitized { _ = run(scenario) } }

  @Test(
    "E6, E9: where all threads that can be had are workers, one of them stands in for the monitor",
    .timeLimit(.minutes(30)),
    arguments: [
      "events", "events-beside-spinning", "slot", "apply", "apply-beside-busy-workers", "sleepers",
      "sleepers-beside-spinning", "long-items", "alone", "withheld",
    ])
  func noMonitor(kind: String) {
    if !Kernel.isSanitized {
      _ = run("short-of-a-monitor", ["GC_KIND": kind], reports: 0...2)
    }
  }

  @Test("E6: while there are no descriptors, sources are delayed, signals and ends of processes are noticed")
  func descriptors() throws {
    guard let result = run("short-of-descriptors") else { return }
    #expect(lines(of: result).first?.contains("a descriptor") == true, "\(result)")
    #expect(result.number("sameSupport") == 1, "\(result)")
    if !Kernel.isSanitized { #expect(try #require(result.number("share")) < 60, "\(result)") }
  }

  @Test("S4: a source whose registration is delayed can be cancelled")
  func cancel() { _ = run("short-of-descriptors-cancel") }

  @Test("E2: without descriptors, workers that compute are not taken for blocked")
  func spinning() throws {
    if Kernel.isSanitized { return }
    let threads = ["GRANDCENTRAL_THREADS": "4"]
    guard let result = run("short-of-descriptors-spinning", threads, reports: 0...1) else { return }
    #expect(try #require(result.number("workers")) <= 8, "\(result)")
  }

  @Test("S10: without descriptors, events that cannot be called off do not keep the poller busy")
  func foreign() throws {
    guard let result = run("short-of-descriptors-foreign", reports: 0...3) else { return }
    #expect(try #require(result.number("share")) < 25, "\(result)")
  }

  @Test("E6: a poller that waits without descriptors comes back when there are some")
  func interrupt() { _ = run("short-of-descriptors-interrupt", ["GRANDCENTRAL_THREADS": "1"], reports: 0...1) }

  @Test(
    "E6: a registration that one system call was refused for is made later",
    arguments: [
      "epoll_create1:24", "eventfd2:23", "inotify_init1:24", "inotify_add_watch:28", "inotify_add_watch:12",
      "pidfd_open:24", "timerfd_create:24",
    ])
  func oneCall(refused: String) { _ = run("short-of-one-call", ["GC_REFUSED": refused], reports: 0...1) }

  @Test("E6: a thread that can map no memory waits until items have run")
  func memory() {
    guard !Kernel.isSanitized, let result = run("short-of-memory") else { return }
    #expect(result.number("ran") == 60_000 && result.number("halted") == 1, "\(result)")
    #expect(lines(of: result).first?.contains("memory") == true, "\(result)")
  }

  @Test("E6: a process without memory ends with a line that says so")
  func outOfMemory() {
    if Kernel.isSanitized { return }
    let result = Probe.run("out-of-memory")
    if result.skipped != nil { return }
    #expect(result.end == .killed(SIGABRT), "\(result)")
    #expect(lines(of: result).last?.hasPrefix("GrandCentral: there is no memory: ") == true, "\(result)")
    #expect(lines(of: result).count == 2, "\(result)")
  }

  // MARK: For good

  private static let errors = [ENOSYS, EPERM, EACCES]

  @Test("E6: where epoll_pwait2 is refused the older call waits", arguments: errors)
  func wait(error: Int32) throws {
    guard let result = run("refused-wait", ["GC_ERROR": "\(error)"], reports: 0...0) else { return }
    if !Kernel.isSanitized { #expect(try #require(result.number("share")) < 50, "\(result)") }
  }

  @Test("E6: where timerfd_create is refused, timers on the wall clock fire", arguments: errors)
  func timer(error: Int32) { _ = run("refused-timer", ["GC_ERROR": "\(error)"]) }

  @Test("E6: where inotify is refused, sources of files end, and say why", arguments: errors)
  func watches(error: Int32) { _ = run("refused-watches", ["GC_ERROR": "\(error)"]) }

  @Test("E6: where pidfd_open is refused, the ends of processes are looked for", arguments: errors)
  func process(error: Int32) { _ = run("refused-process", ["GC_ERROR": "\(error)"]) }

  @Test("E6: where eventfd2 is refused, sources of descriptors end, all else works", arguments: errors)
  func event(error: Int32) { _ = run("refused-event", ["GC_ERROR": "\(error)"], reports: 2...2) }

  @Test("E6: where io_uring_setup is refused, helpers read", arguments: errors)
  func ring(error: Int32) {
    guard let result = run("refused-ring", ["GC_ERROR": "\(error)"], reports: 0...0) else { return }
    #expect(result.number("bytes") == 100, "\(result)")
  }

  @Test("E6, E9: where io_uring_setup is refused, items that have taken all threads read")
  func ringRush() {
    guard let result = run("refused-ring-rush", ["GRANDCENTRAL_THREAD_BUDGET": "16"], reports: 0...1) else { return }
    #expect(result.number("bytes") == 6400, "\(result)")
  }

  @Test("E6: where clone is refused, submissions return, after one report", arguments: errors)
  func noThreads(error: Int32) throws {
    guard !Kernel.isThreadSanitized, let result = run("refused-threads", ["GC_ERROR": "\(error)"]) else { return }
    #expect(result.number("sync") == 7, "\(result)")
  }
}
