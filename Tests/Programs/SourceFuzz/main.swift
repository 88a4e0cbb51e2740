// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Random sources, to which random things happen while other threads suspend, retarget and change them: whatever is done to
// them, handlers run as promised, nothing is lost, and nothing is left behind. See Round.swift for what happens.
//
//   GC_FUZZ_SECONDS   how long; 10 without it
//   GC_FUZZ_SEED      the first round's seed. How the steps of threads interleave is up to the machine.
//   GC_FUZZ_LANE      rounds on this lane alone, which begin with that very seed; a failure names both
//   GC_FUZZ_KIND      rounds with this load alone (the numbers of `Round.load`)
//
// Failures are printed, and the program ends with 1.

import ContractSupport
import Glibc

func variable(_ name: String) -> UInt64? { getenv(name).flatMap { UInt64(String(cString: $0)) } }

let seconds = getenv("GC_FUZZ_SECONDS").flatMap { Double(String(cString: $0)) } ?? 10
let first = variable("GC_FUZZ_SEED") ?? monotonicNanoseconds() ^ UInt64(getpid()) << 40
let only = variable("GC_FUZZ_LANE").map { Int($0) }
let kind = variable("GC_FUZZ_KIND").map { Int($0) }
print("source fuzz: GC_FUZZ_SEED=\(first), \(seconds) s")
fflush(nil)

// Otherwise both kinds would end the process when no source watches the signal, or no thread reads the pipe.
signal(SIGPIPE, SIG_IGN)
for lane in 0..<4 { signal(FuzzSignals.number(lane), SIG_IGN) }

/// The descriptors of this process, and what they are of.
func descriptors() -> [String] {
  (0..<1024).compactMap { number in
    var target = [UInt8](repeating: 0, count: 256)
    let count = readlink("/proc/self/fd/\(number)", &target, 255)
    return count > 0 ? "\(number) \(String(decoding: target[..<count], as: UTF8.self))" : nil
  }
}

let (report, rounds) = (FuzzReport(), Counter())
// The engine's own descriptors, and those of the kinds, are made once.
for kind in 0..<Round.kinds { Round(seed: first &+ UInt64(kind), lane: 0, report: report).run(kind: kind) }
let before = descriptors()
let deadline = monotonicNanoseconds() + UInt64(seconds * 1e9)
let lanes = only.map { [$0] } ?? Array(0..<4)
PlainThread.concurrently(lanes.count) { index in
  var number = only == nil ? first &+ UInt64(lanes[index]) << 40 : first
  while monotonicNanoseconds() < deadline, !report.hasFailed {
    Round(seed: number, lane: lanes[index], report: report).run(kind: kind)
    number &+= 1
    rounds.add()
  }
}

if !eventually({ report.liveHandlers.value == 0 }) {
  report.failures.note("\(report.liveHandlers.value) handlers are kept")
}
if !eventually({ report.gone.value == report.made.value }) {
  report.failures.note("\(report.gone.value) of \(report.made.value) sources are gone")
}
if !eventually({ descriptors().count <= before.count }) {
  report.failures.note("left open: \(descriptors()); before: \(before)")
}
for failure in report.failures.values { print("source fuzz: \(failure)") }
print("source fuzz: \(rounds.value) rounds, \(report.made.value) sources")
exit(report.hasFailed ? 1 : 0)
