// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

extension Scenario {
  static let applyConvoys: [String: Body] = [
    "apply-convoy": applyConvoy, "apply-nested-convoy": applyNestedConvoy,
    "apply-pairs-0": { applyPairs(from: 0) }, "apply-pairs-10": { applyPairs(from: 10) },
    "apply-pairs-200": { applyPairs(from: 200) },
    "apply-pairs-limited": {
      applyPairs(from: 200, on: DispatchQueue(label: "two", attributes: .concurrent, maximumConcurrency: 2))
    }, "apply-unseen": applyUnseen,
    "apply-few-2": { applyFew(2) }, "apply-few-3": { applyFew(3) }, "apply-few-7": { applyFew(7) },
    "apply-spinning": applySpinning, "apply-rendezvous": applyRendezvous, "apply-soon": applySoon,
    "apply-before-barrier": applyBeforeBarrier, "apply-suspended": applySuspended,
  ]

  /// One call, checked by what it has left on the caller's stack when it returns.
  ///
  /// - Returns: whether each index was called once and had ended.
  private static func call(_ count: Int, _ body: @Sendable (Int) -> Void) -> Bool {
    // The call's own memory: a piece that runs after the return writes into a later call's.
    withUnsafeTemporaryAllocation(of: Int32.self, capacity: count) { ended in
      ended.initialize(repeating: 0)
      let view = Unprotected(ended)
      DispatchQueue.concurrentPerform(iterations: count) { index in
        body(index)
        view.value[index] += 1
      }
      return ended.allSatisfy { $0 == 1 }
    }
  }

  /// More callers than the registry has places. The pieces last so long that the monitor helps: it looks every millisecond.
  @Sendable private static func applyConvoy() {
    let broken = Counter()
    PlainThread.concurrently(24) { caller in
      for round in 0..<12 {
        let count = 2 + (caller + round) % 4
        if !call(count, { usleep(UInt32(300 + ($0 + caller) % 5 * 400)) }) { broken.add() }
      }
    }
    report("broken", broken.value)
  }

  /// Callers inside of calls, most of which have help by the time the inner ones begin.
  @Sendable private static func applyNestedConvoy() {
    let broken = Counter()
    PlainThread.concurrently(8) { caller in
      for round in 0..<4 {
        let whole = call(3) { index in
          if !call(3, { usleep(UInt32(200 + ($0 + index + caller + round) % 4 * 500)) }) { broken.add() }
        }
        if !whole { broken.add() }
      }
    }
    report("broken", broken.value)
  }

  /// One iteration waits, in the system rather than in the library, for the next one: which is behind it in its chunk, and is
  /// begun by another thread.
  @Sendable private static func applyUnseen() {
    let done = Counter()
    let word = Unprotected(UnsafeMutablePointer<sem_t>.allocate(capacity: 1))
    defer { word.value.deallocate() }
    for first in [10, 100, 500] {
      sem_init(word.value, 0, 0)
      DispatchQueue.concurrentPerform(iterations: 1_000) { index in
        if index == first { while sem_wait(word.value) != 0 {} }
        if index == first + 1 { sem_post(word.value) }
        done.add()
      }
    }
    report("iterations", done.value)
  }

  /// From `first` on, each iteration with an even index waits for the next one. Those before are too short to measure.
  private static func applyPairs(from first: Int, on queue: DispatchQueue? = nil) {
    let done = Counter()
    let signals = (0..<512).map { _ in DispatchSemaphore(value: 0) }
    let body: @Sendable (Int) -> Void = { index in
      if index >= first {
        if index % 2 == 0 { signals[index].wait() } else { signals[index - 1].signal() }
      }
      done.add()
    }
    if let queue {
      queue.apply(iterations: 512, execute: body)
    } else {
      DispatchQueue.concurrentPerform(iterations: 512, execute: body)
    }
    report("iterations", done.value)
  }

  /// An iteration waits, in the system, for the last one, which is behind it in the caller's piece.
  private static func applyFew(_ count: Int) {
    let word = Unprotected(UnsafeMutablePointer<sem_t>.allocate(capacity: 1))
    defer { word.value.deallocate() }
    sem_init(word.value, 0, 0)
    DispatchQueue.concurrentPerform(iterations: count) { index in
      if index == count / 2 - (count == 2 ? 1 : 0) { while sem_wait(word.value) != 0 {} }
      if index == count - 1 { sem_post(word.value) }
    }
  }

  /// A barrier comes while an iteration waits for the next one.
  @Sendable private static func applyBeforeBarrier() {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let later = DispatchSemaphore(value: 0)
    queue.apply(iterations: 64) { index in
      if index == 0 { queue.async(flags: .barrier) {} }
      if index == 3 { later.wait() } else if index == 4 { later.signal() }
    }
    queue.sync(flags: .barrier) {}
  }

  /// The queue is suspended meanwhile.
  @Sendable private static func applySuspended() {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let later = DispatchSemaphore(value: 0)
    queue.apply(iterations: 64) { index in
      if index == 0 { queue.suspend() }
      if index == 3 { later.wait() } else if index == 4 { later.signal() }
    }
    queue.resume()
  }

  /// From index 16 on, each iteration with an even index spins until the next one has run.
  @Sendable private static func applySpinning() {
    let ran = (0..<200).map { _ in Counter() }
    DispatchQueue.concurrentPerform(iterations: 200) { index in
      if index >= 16, index % 2 == 0 { while ran[index + 1].value == 0 { sched_yield() } }
      ran[index].add()
    }
  }

  /// The first iteration is so short that the rest seems worth one helper only. The last three wait for each other.
  @Sendable private static func applyRendezvous() {
    DispatchQueue.concurrentPerform(iterations: 64) { _ in compute(microseconds: 200) }
    for _ in 0..<100 {
      let (arrived, all) = (Counter(), DispatchSemaphore(value: 0))
      DispatchQueue.concurrentPerform(iterations: 6) { index in
        if index == 0 { compute(microseconds: 2) }
        if index < 3 { return }
        if arrived.add() == 3 { for _ in 0..<2 { all.signal() } } else { all.wait() }
      }
    }
  }

  /// One iteration waits for the next one; the others would take many seconds, and end when the two have met.
  @Sendable private static func applySoon() {
    let (next, over) = (DispatchSemaphore(value: 0), Counter())
    DispatchQueue.concurrentPerform(iterations: 50_000) { index in
      switch index {
      case 20:
        report("met", next.wait(timeout: .now() + 5) == .success)
        over.add()
      case 21: next.signal()
      default: if index > 21, over.value == 0 { compute(microseconds: 1_000) }
      }
    }
  }

  static func compute(microseconds: UInt64) {
    let end = DispatchTime.now().uptimeNanoseconds + microseconds * 1_000
    while DispatchTime.now().uptimeNanoseconds < end {}
  }
}
