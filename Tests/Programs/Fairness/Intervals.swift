// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// A plain thread submits a small item now and then, which goes on from queue to queue: what that costs of the processors, and
/// how late the item comes to the end of its way.
enum Intervals {
  static func run(microseconds: Int, hops: Int) {
    let way = Way(hops: hops)
    // Threads and memory are there.
    _ = way.send(20, every: 1_000_000)
    let count = max(100, 400_000 / microseconds)
    let begin = processorTime(CLOCK_PROCESS_CPUTIME_ID)
    let latencies = way.send(count, every: UInt64(microseconds) * 1_000).sorted()
    tell("CPU us", Double(processorTime(CLOCK_PROCESS_CPUTIME_ID) - begin) / Double(count) / 1_000)
    tell("p50 us", Double(latencies[count / 2]) / 1_000)
    tell("p99 us", Double(latencies[count * 99 / 100]) / 1_000)
  }

  private struct Way {
    private let queues: [DispatchQueue]

    init(hops: Int) { queues = (0..<hops).map { DispatchQueue(label: "hop-\($0)") } }

    /// Sends items, one after each pause; the nanoseconds that each has taken.
    func send(_ count: Int, every pauses: UInt64) -> [UInt64] {
      let (latencies, done) = (Recorder<UInt64>(), Latch(count))
      for _ in 0..<count {
        pause(nanoseconds: pauses)
        let sent = monotonicNanoseconds()
        Way.pass(queues[...]) {
          latencies.note(span(sent, monotonicNanoseconds()))
          done.open()
        }
      }
      done.wait()
      return latencies.values
    }

    /// Does `last` at the end of the queues, each of which passes it on to the next one.
    private static func pass(_ queues: ArraySlice<DispatchQueue>, _ last: @escaping @Sendable () -> Void) {
      guard let queue = queues.first else { return last() }
      queue.async { pass(queues.dropFirst(), last) }
    }
  }
}
