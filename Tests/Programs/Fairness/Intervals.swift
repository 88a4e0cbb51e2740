// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// A plain thread submits a small item now and then, which goes on from queue to queue: what that costs of the processors, and
/// how late the item comes to the end of its way.
///
/// Each line on standard input asks for a slice of 40 ms, so that slices of the two libraries take turns, and what neighbours do
/// meets both. A slice is answered by a line: the processor time of an item, and how long each one has taken, in microseconds.
enum Intervals {
  private static let slice = 40_000

  static func run(microseconds: Int, hops: Int) {
    let way = Way(hops: hops)
    // Threads and memory are there.
    _ = way.send(20, every: 1_000_000)
    let count = slice / microseconds
    while readLine() != nil {
      let begin = processorTime(CLOCK_PROCESS_CPUTIME_ID)
      let latencies = way.send(count, every: UInt64(microseconds) * 1_000)
      let used = processorTime(CLOCK_PROCESS_CPUTIME_ID) - begin
      print(Double(used) / Double(count) / 1_000, latencies.map { String(Double($0) / 1_000) }.joined(separator: " "))
      fflush(nil)
    }
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
