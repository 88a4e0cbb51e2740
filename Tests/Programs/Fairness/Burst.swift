// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Many items block at once, each in a thread of its own, and go on. When their threads have nothing to do any more, a small
/// item costs what it costs in a process that never had them.
///
/// Where both sides of a hand-over have a processor each and spin, it costs a thirtieth of what it costs where they sleep, and
/// chance decides. So they always sleep here: there is one processor, or a pause before each item.
///
/// Each line on standard input asks for a slice, as `Intervals` does, so that slices of the two processes take turns.
enum Burst {
  static func run(_ kind: String, threads: Int) {
    let pauses = kind == "pauses"
    if !pauses, !Kernel.useOneProcessor() { exit(1) }
    // Threads and memory are there.
    _ = cost(pauses)
    if threads > 0 { block(threads) }
    while readLine() != nil {
      print(cost(pauses), 0)
      fflush(nil)
    }
  }

  /// The processor time of an item of a global queue that is waited for, in microseconds.
  private static func cost(_ pauses: Bool) -> Double {
    let semaphore = DispatchSemaphore(value: 0)
    let rounds = pauses ? 300 : 3_000
    let begin = processorTime(CLOCK_PROCESS_CPUTIME_ID)
    for _ in 0..<rounds {
      if pauses { pause(nanoseconds: 50_000) }
      DispatchQueue.global().async { semaphore.signal() }
      semaphore.wait()
    }
    return Double(processorTime(CLOCK_PROCESS_CPUTIME_ID) - begin) / Double(rounds) / 1_000
  }

  /// Blocks so many items, of a queue each. The library may have fewer threads than items: some begin when others have ended.
  private static func block(_ count: Int) {
    let (gate, ended) = (Latch(), Latch(count))
    for index in 0..<count {
      DispatchQueue(label: "burst-\(index)").async {
        gate.wait()
        ended.open()
      }
    }
    // Waits until no further threads come.
    var seen = (most: 0, since: monotonicNanoseconds())
    while seen.most < count && span(seen.since, monotonicNanoseconds()) < 300_000_000 {
      let now = threadCount()
      if now > seen.most { seen = (now, monotonicNanoseconds()) }
      pause(nanoseconds: 1_000_000)
    }
    gate.open()
    ended.wait()
    // Threads that end soon do so now, and not while the cost is measured.
    let end = monotonicNanoseconds()
    while threadCount() > count / 10 && span(end, monotonicNanoseconds()) < 1_000_000_000 {
      pause(nanoseconds: 5_000_000)
    }
  }
}
