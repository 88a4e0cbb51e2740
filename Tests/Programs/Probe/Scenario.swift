// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc

/// One thing to try in a process of its own. It prints `key=value` lines, which the tests judge.
enum Scenario {
  typealias Body = @Sendable () -> Void

  private static let all: [[String: Body]] = [
    mainQueue, priority, quiet, blocking, idleness, limits, forking, forkingTypes, forkingWaits, retargeting, exiting,
    poolSettings, poolHooks, applyConvoys, staleBits, signals, files, processes, channels, asyncBlocking, exhaustion,
    refusals, olderKernels, watching, backtraces, overtaken, displacing, insight,
    insightDumps, vacancies, applyMeetings, brokenErrors,
  ]

  static func main() {
    Kernel.prepare()
    let name = CommandLine.arguments.dropFirst().first ?? ""
    for group in all {
      if let body = group[name] { return body() }
    }
    complain("no scenario is called \"\(name)\"")
    exit(64)
  }
}

/// One line on standard output, written at once.
func report(_ key: String, _ value: some CustomStringConvertible) {
  put("\(key)=\(value)\n", to: 1)
}

func report(_ key: String, _ value: Bool) { report(key, value ? 1 : 0) }

func complain(_ text: String) { put(text + "\n", to: 2) }

/// Ends the process as failed unless `condition` holds.
func require(_ condition: Bool, _ what: String) {
  guard !condition else { return }
  complain("failed: \(what)")
  exit(1)
}

func skip(_ reason: String) -> Never {
  report("skip", reason)
  exit(0)
}

private func put(_ text: String, to descriptor: Int32) {
  var bytes = Array(text.utf8)
  _ = write(descriptor, &bytes, bytes.count)
}

/// Milliseconds since `start`, a reading of `monotonicNanoseconds`.
func milliseconds(since start: UInt64) -> Int { Int((monotonicNanoseconds() - start) / 1_000_000) }

/// Keeps the processor busy.
func spin(milliseconds: Double) {
  let end = monotonicNanoseconds() + UInt64(milliseconds * 1e6)
  while monotonicNanoseconds() < end {}
}

/// The part of one processor, in hundredths, that the process uses while the calling thread sleeps. A machine that is late
/// makes that longer.
func processorShare(asleep milliseconds: UInt32) -> Int {
  let (used, start) = (clock(), monotonicNanoseconds())
  usleep(milliseconds * 1_000)
  return (clock() - used) / (CLOCKS_PER_SEC / 1_000_000) * 100_000 / Int(monotonicNanoseconds() - start)
}

func residentKilobytes() -> Int {
  let line = readText("/proc/self/status")?.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
  return Int(line.split(whereSeparator: { !$0.isNumber }).first ?? "") ?? 0
}
