// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

/// Random sources, to which random things happen while other threads suspend, retarget and change them.
///
/// A round is a load (`FuzzLoad`) with one to three sources, a driver that makes things happen, and a meddler beside it. Its
/// seed decides what both do; how their steps interleave is up to the machine. A failure names the round's seed and lane:
/// `GC_FUZZ_SEED=… GC_FUZZ_LANE=… Scripts/check fuzz` begins with that round, on that lane alone. `GC_FUZZ_SECONDS` says for how
/// long, `GC_FUZZ_KIND` with which load (the numbers of `makeLoad`).
@Suite("Sources at random", .serialized)
struct SourceFuzz {
  private static func variable(_ name: String) -> UInt64? { getenv(name).flatMap { UInt64(String(cString: $0)) } }

  @Test("S1 to S15: whatever is done to sources, handlers run as promised, nothing is lost, and nothing is left behind")
  func fuzz() {
    let seconds = Self.variable("GC_FUZZ_SECONDS").map { Double($0) } ?? Stress.seconds
    let seed = Self.variable("GC_FUZZ_SEED") ?? Stress.seed("source fuzz")
    print("source fuzz: GC_FUZZ_SEED=\(seed)")
    let report = FuzzReport()
    // Otherwise both kinds would end the process when no source watches the signal, or no thread reads the pipe.
    signal(SIGPIPE, SIG_IGN)
    for lane in 0..<4 { signal(FuzzSignals.number(lane), SIG_IGN) }
    // The engine's own descriptors, and those of the kinds, are made once.
    for kind in 0..<Self.kinds { round(kind: kind, seed: seed &+ UInt64(kind), lane: 0, report) }
    // Other suites have descriptors of their own, which come and go: only the stage `fuzz` runs this one alone, and says so.
    let isAlone = getenv("GC_FUZZ_ALONE") != nil
    // The tests run on the toolchain's library, whose manager thread makes a descriptor for its own timer some time after its first
    // worker has begun.
    if isAlone {
      #expect(eventually { Self.openDescriptors().contains { $0.hasSuffix("[timerfd]") } }, "\(Self.openDescriptors())")
    }
    let before = Self.openDescriptors()
    let deadline = monotonicNanoseconds() + UInt64(seconds * 1e9)
    let (rounds, only) = (Counter(), Self.variable("GC_FUZZ_LANE"))
    let lanes = only.map { [Int($0)] } ?? Array(0..<4)
    PlainThread.concurrently(lanes.count) { index in
      let lane = lanes[index]
      // A round's own seed, given with its lane, comes first.
      var number = only == nil ? seed &+ UInt64(lane) << 40 : seed
      while Stress.runs(until: deadline), !report.hasFailed {
        round(kind: nil, seed: number, lane: lane, report)
        number &+= 1
        rounds.add()
      }
    }
    #expect(report.failures.values == [])
    #expect(eventually { report.liveHandlers.value == 0 }, "\(report.liveHandlers.value) handlers are kept")
    #expect(eventually { report.gone.value == report.made.value }, "\(report.gone.value) of \(report.made.value) gone")
    if isAlone {
      let isClosed = eventually { Self.openDescriptors().count <= before.count }
      #expect(isClosed, "left open: \(Self.openDescriptors()); before: \(before)")
    }
    print("source fuzz: \(rounds.value) rounds, \(report.made.value) sources")
  }

  private static let kinds = 7

  private func makeLoad(
    _ kind: Int, _ random: inout SeededRandom, _ name: String, _ report: FuzzReport, _ queues: FuzzQueues, _ lane: Int
  ) -> any FuzzLoad {
    switch kind {
    case 0: FuzzStealing(&random, name, report, queues)
    case 1: FuzzProcess(&random, name, report, queues)
    case 2: FuzzFile(&random, name, report, queues)
    case 3: FuzzSignals(&random, name, report, queues, lane: lane)
    case 4: FuzzTimer(&random, name, report)
    case 5: FuzzUserData(&random, name, report, queues)
    case 6: FuzzWriting(&random, name, report, queues)
    default: FuzzReading(&random, name, report, queues)
    }
  }

  private func round(kind: Int?, seed: UInt64, lane: Int, _ report: FuzzReport) {
    var random = SeededRandom(seed: seed)
    let queues = FuzzQueues()
    // Children and stolen numbers cost more than the rest.
    let number = random.oneIn(30) ? random.below(2) : 2 + random.below(9)
    let name = "seed \(seed) lane \(lane)"
    let load = makeLoad(
      kind ?? Self.variable("GC_FUZZ_KIND").map { Int($0) } ?? number, &random, name, report, queues, lane)
    let (isPatient, steps) = (!random.oneIn(3), 1 + random.below(60))
    let meddling = random.oneIn(4) ? nil : random.next()
    // A timer's queue is part of what is known about it.
    let meddlers = load is FuzzTimer ? [] : load.subjects
    let isOver = Latch()
    let meddler = meddling.map { meddling in
      PlainThread {
        var random = SeededRandom(seed: meddling)
        while !isOver.isOpen, !meddlers.isEmpty {
          meddlers[random.below(meddlers.count)].meddle(&random, queues)
          sched_yield()
        }
      }
    }
    // What happens before the activation counts as well, if the kind can know.
    if load is FuzzReading || load is FuzzUserData, random.oneIn(3) { load.step(&random) }
    for subject in load.subjects { subject.activate() }
    for _ in 0..<steps {
      load.step(&random)
      if random.oneIn(4) { sched_yield() }
      if !isPatient, random.oneIn(20) { load.subjects[random.below(load.subjects.count)].cancel() }
    }
    if isPatient {
      let isWhole = { load.subjects.contains { $0.ended.isOpen } }
      if !eventually({ load.isSettled() || isWhole() || report.hasFailed }) {
        let subjects = load.subjects.map { "\($0.name), \($0.events.value) events" }
        report.failures.note("\(name): reported \(load.account); \(subjects)")
      }
    }
    if random.oneIn(2) { isOver.open() }
    for subject in load.subjects {
      if random.oneIn(3) { subject.cancelAndForget() } else { subject.cancel() }
    }
    for subject in load.subjects { subject.expectEnd() }
    isOver.open()
    meddler?.join()
    load.tidyUp()
  }

  private static func openDescriptors() -> [String] {
    (0..<1024).compactMap { number in
      var target = [UInt8](repeating: 0, count: 256)
      let count = readlink("/proc/self/fd/\(number)", &target, 255)
      return count > 0 ? "\(number) \(String(decoding: target[..<count], as: UTF8.self))" : nil
    }
  }
}
