// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Items that need nothing but processors: they take as long as the processors allow, and hardly more threads than there are
/// processors.
///
/// What the processors allow is known without neighbours: the work, shared among the processors. Beside neighbours it is less.
/// Then what counts is the time in which a processor was idle while items were left, and the work that the items did not ask
/// for, against the same of plain threads that do such work before and after. Nobody can be better than the first, so the
/// smaller one of the two figures counts.
enum Processors {
  private static let processors = Kernel.usableProcessors

  static func run(items: Int, milliseconds length: Int, rounds: Int) {
    let item = UInt64(length) * 1_000_000
    // About a second of plain work on either side.
    let sample = 1_000 * processors / length
    let before = Measure { plainThreads(items: sample, of: item) }
    var most = 0
    let queue = Measure {
      for _ in 0..<rounds { most = max(most, globalQueue(items: items, of: item)) }
    }
    let after = Measure { plainThreads(items: sample, of: item) }

    let work = UInt64(items * rounds) * item
    let plain = { (part: (Measure) -> Double) in (part(before) + part(after)) / 2 }
    let share = queue.ofShare(work) / plain { $0.ofShare(UInt64(sample) * item) }
    tell("of the processors", min(queue.ofIdeal(work), share))
    tell("of a quiet machine's", queue.ofIdeal(work))
    tell("of plain threads'", queue.ofIdeal(work) / plain { $0.ofIdeal(UInt64(sample) * item) })
    // Besides the main thread and the library's monitor.
    tell("surplus threads", Double(most - processors - 2))
  }

  /// What a piece of work has taken.
  private struct Measure {
    private let time, used, idle: UInt64

    init(_ body: () -> Void) {
      let (begin, usedBefore, idleBefore) = (
        monotonicNanoseconds(), processorTime(CLOCK_PROCESS_CPUTIME_ID), Self.idleTime()
      )
      body()
      time = span(begin, monotonicNanoseconds())
      used = processorTime(CLOCK_PROCESS_CPUTIME_ID) - usedBefore
      idle = span(idleBefore, Self.idleTime())
    }

    /// The time, in parts of what a machine without neighbours takes.
    func ofIdeal(_ work: UInt64) -> Double { Double(time) * Double(processors) / Double(work) }

    /// The same of what the neighbours have left: what was idle is lost, and what was used beyond the work.
    func ofShare(_ work: UInt64) -> Double {
      let all = Double(time) * Double(processors)
      return Double(used) / Double(work) * all / max(1, all - Double(idle))
    }

    /// How long processors of the machine have been idle, in nanoseconds; the kernel tells hundredths of a second.
    private static func idleTime() -> UInt64 {
      let line = readText("/proc/stat")?.split(separator: "\n").first ?? ""
      // cpu, user, nice, system, idle, waiting for a disk
      let fields = line.split(separator: " ").map { UInt64($0) ?? 0 }
      return fields.count > 5 ? (fields[4] + fields[5]) * 10_000_000 : 0
    }
  }

  /// Runs items on a global queue; the most threads that the process has meanwhile.
  private static func globalQueue(items: Int, of length: UInt64) -> Int {
    let (left, done) = (Counter(items), Latch())
    for _ in 0..<items {
      DispatchQueue.global().async {
        burn(nanoseconds: length)
        if left.add(-1) == 0 { done.open() }
      }
    }
    return mostThreads(until: done)
  }

  /// Plain threads, one for each processor, take an item each in turn.
  private static func plainThreads(items: Int, of length: UInt64) {
    let (left, running, done) = (Counter(items), Counter(processors), Latch())
    let threads = (0..<processors).map { _ in
      PlainThread {
        while left.add(-1) >= 0 { burn(nanoseconds: length) }
        if running.add(-1) == 0 { done.open() }
      }
    }
    // Looked at as often as the queue is, for a fair comparison.
    _ = mostThreads(until: done)
    for thread in threads { thread.join() }
  }

  private static func mostThreads(until done: Latch) -> Int {
    var most = 0
    repeat { most = max(most, threadCount()) } while !done.wait(seconds: 0.005)
    return most
  }
}
