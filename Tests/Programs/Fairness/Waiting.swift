// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Items that give work to queues, and then wait: that work does not wait with them.
enum Waiting {
  /// How long one round may take before the row is over.
  private static let patience = 5.0

  /// Beside items that submit themselves again for ever, an item fans out to eight queues and waits for them.
  static func fanOut(rounds: Int) {
    occupyGlobalQueue()
    let queues = (0..<8).map { DispatchQueue(label: "fan-\($0)") }
    let (worst, began) = (Guarded<UInt64>(0), Guarded(monotonicNanoseconds()))
    let (finished, done) = (Counter(), Latch())
    DispatchQueue.global().async {
      for _ in 0..<rounds {
        let begin = monotonicNanoseconds()
        began.with { $0 = begin }
        let group = DispatchGroup()
        for queue in queues { queue.async(group: group) {} }
        group.wait()
        worst.with { $0 = max($0, span(begin, monotonicNanoseconds())) }
        finished.add()
      }
      done.open()
    }
    if !done.wait(seconds: patience) {
      // The round that goes on, too, has taken so long at least.
      worst.with { $0 = max($0, span(began.with { $0 }, monotonicNanoseconds())) }
    }
    tell("worst ms", milliseconds(worst.with { $0 }))
    tell("rounds", Double(finished.value))
  }

  /// Thirty-two items that submit themselves again, each after a little work.
  private static func occupyGlobalQueue() {
    @Sendable func again() {
      DispatchQueue.global().async {
        burn(nanoseconds: 50_000)
        again()
      }
    }
    for _ in 0..<32 { again() }
  }

  /// An item makes eight queues runnable, and blocks until all of them have started.
  static func fillAndBlock(in kind: String, beside load: String, rounds: Int) {
    if load == "busy" { occupyGlobalQueue() }
    let stop = kind == "read" ? Stop.pipe() : Stop.semaphore()
    let queues = (0..<8).map { DispatchQueue(label: "fill-\($0)") }
    var worst: UInt64 = 0
    for _ in 0..<rounds {
      let (began, last, started, ended) = (Moment(), Guarded<UInt64>(0), Latch(queues.count), Latch())
      DispatchQueue.global().async {
        began.noteNow()
        for queue in queues {
          queue.async {
            last.with { $0 = max($0, monotonicNanoseconds()) }
            started.open()
          }
        }
        stop.block()
        ended.open()
      }
      guard started.wait(seconds: patience) else {
        worst = UInt64(patience * 1e9)
        break
      }
      worst = max(worst, span(began.moment, last.with { $0 }))
      stop.release()
      ended.wait()
    }
    tell("worst ms", milliseconds(worst))
  }

  /// A way to block.
  private struct Stop: Sendable {
    let block: @Sendable () -> Void
    let release: @Sendable () -> Void

    static func semaphore() -> Stop {
      let semaphore = DispatchSemaphore(value: 0)
      return Stop(block: { semaphore.wait() }, release: { semaphore.signal() })
    }

    /// A call of the kernel, of which the library knows nothing.
    static func pipe() -> Stop {
      guard let ends = Kernel.closeOnExecPipe() else { exit(1) }
      return Stop(
        block: {
          var byte: UInt8 = 0
          while read(ends.readEnd, &byte, 1) < 0 {}
        }, release: { _ = write(ends.writeEnd, "x", 1) })
    }
  }
}
