// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Items that compute and wait in turn, for ever, as those of a server do; there are far more of them than processors. How late is
/// a timer beside them, and how many threads are there after a while?
enum Crowd {
  private static let interval: UInt64 = 50_000_000
  private static let fires = 60

  /// - Parameter waiting: Microseconds; nil for a ring: each item waits for a semaphore, and signals the next one's.
  static func run(items: Int, computing: Int, waiting: Int?) {
    let ring = (0..<items).map { DispatchSemaphore(value: $0 % 2) }
    for index in 0..<items {
      DispatchQueue.global().async {
        while true {
          burn(nanoseconds: UInt64(computing) * 1_000)
          if let waiting {
            if waiting > 0 { usleep(UInt32(waiting)) }
          } else {
            _ = ring[index].wait(timeout: .now() + .milliseconds(50))
            ring[(index + 1) % items].signal()
          }
        }
      }
    }
    // The queue of a timer is idle at each turn. Its handler notes how late it is, and asks for the next turn.
    let (queue, late, done) = (DispatchQueue(label: "timer"), Recorder<UInt64>(), Latch())
    again(on: queue, late, done)
    done.wait()
    let sorted = late.values.sorted()
    tell("median late ms", milliseconds(sorted[sorted.count / 2]))
    tell("tenth late ms", milliseconds(sorted[sorted.count * 9 / 10]))
    tell("threads", Double(threadCount()))
  }

  private static func again(on queue: DispatchQueue, _ late: Recorder<UInt64>, _ done: Latch) {
    let due = monotonicNanoseconds() + interval
    queue.asyncAfter(deadline: .now() + .nanoseconds(Int(interval))) {
      late.note(span(due, monotonicNanoseconds()))
      late.count < fires ? again(on: queue, late, done) : done.open()
    }
  }
}
