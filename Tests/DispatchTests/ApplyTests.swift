// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Synchronization
import Testing

@Suite("concurrentPerform")
struct ApplyTests {
  /// How often each index was seen.
  private final class Tally: Sendable {
    private let counts: Guarded<[Int]>
    init(_ count: Int) { counts = Guarded(Array(repeating: 0, count: count)) }
    func note(_ index: Int) { counts.with { $0[index] += 1 } }
    var isOnceEach: Bool { counts.with { $0.allSatisfy { $0 == 1 } } }
  }

  @Test(
    "Q16: each index is given exactly once, and all are done on return", arguments: [1, 2, 3, 7, 64, 1_000, 65_537])
  func eachIndexOnce(count: Int) {
    let tally = Tally(count)
    DispatchQueue.concurrentPerform(iterations: count) { tally.note($0) }
    #expect(tally.isOnceEach)
  }

  @Test("Q16: no iterations is no work")
  func zeroIterations() {
    let calls = Counter()
    DispatchQueue.concurrentPerform(iterations: 0) { _ in calls.add() }
    #expect(calls.value == 0)
  }

  @Test("Q16: no iterations need no queue: a call waits for none that is suspended, and is no fault on its own")
  func zeroIterationsOnQueue() {
    let (queue, calls, returned) = (DispatchQueue(label: "apply"), Counter(), Latch())
    queue.suspend()
    DispatchQueue.global().async {
      queue.apply(iterations: 0) { _ in calls.add() }
      returned.open()
    }
    let hasReturned = returned.wait()
    queue.resume()
    #expect(hasReturned)
    guard hasReturned else { return }
    queue.sync { queue.apply(iterations: 0) { _ in calls.add() } }
    #expect(calls.value == 0)
  }

  @Test("Q16: plain writes of the body are seen after the return")
  func publishes() {
    let values = Unprotected([Int](repeating: 0, count: 0))
    let storage = UnsafeMutableBufferPointer<Int>.allocate(capacity: 10_000)
    defer { storage.deallocate() }
    storage.initialize(repeating: 0)
    let view = Unprotected(storage)
    for round in 1...20 {
      DispatchQueue.concurrentPerform(iterations: storage.count) { view.value[$0] += round }
    }
    values.value = Array(storage)
    #expect(values.value.allSatisfy { $0 == 210 })
  }

  @Test("Q16: more threads than active processors never take part, as long as no iteration waits")
  func boundedByProcessors() {
    let count = 400
    // An iteration's own. A lock would be waited for where its holder has no processor, and for a thread that waits another one comes.
    nonisolated(unsafe) let threads = UnsafeMutablePointer<pid_t>.allocate(capacity: count)
    defer { threads.deallocate() }
    DispatchQueue.concurrentPerform(iterations: count) { index in
      threads[index] = Kernel.threadID
      // Others have the time to come, and the caller does not do it all.
      let begin = DispatchTime.now().uptimeNanoseconds
      while DispatchTime.now().uptimeNanoseconds < begin + 100_000 {}
    }
    #expect(Set(UnsafeBufferPointer(start: threads, count: count)).count <= Kernel.usableProcessors)
  }

  @Test("Q16: the caller takes part when nobody else can")
  func callerTakesPart() {
    let tally = Tally(10)
    let caller = Kernel.threadID
    let strangers = Counter()
    DispatchQueue(label: "serial").apply(iterations: 10) { index in
      tally.note(index)
      if Kernel.threadID != caller { strangers.add() }
    }
    #expect(tally.isOnceEach)
    #expect(strangers.value == 0)
  }

  @Test("Q16: on a serial queue it is a loop on that queue, in order")
  func loopOnSerialQueue() {
    let queue = DispatchQueue(label: "serial")
    let recorder = Recorder<Int>()
    queue.async { recorder.note(-1) }
    queue.apply(iterations: 100) { index in
      dispatchPrecondition(condition: .onQueue(queue))
      recorder.note(index)
    }
    #expect(recorder.values == Array(-1..<100))
  }

  @Test("Q16: a barrier that is submitted during a call waits for all of its iterations")
  func barrierDuringApply() {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let (ended, seen, ran) = (Counter(), Recorder<Int>(), Latch())
    queue.apply(iterations: 64) { index in
      if index == 0 {
        queue.async(flags: .barrier) {
          seen.note(ended.value)
          ran.open()
        }
      }
      // A barrier that does not wait runs now; where it waits, a moment is enough.
      if index == 63 { _ = ran.wait(seconds: 0.1) }
      ended.add()
    }
    #expect(ran.wait())
    #expect(seen.values == [64])
  }

  @Test("Q16: on a concurrent queue it waits for an earlier barrier")
  func applyOnConcurrentQueue() {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let (before, inside, early) = (Counter(), Counter(), Counter())
    for round in 1...50 {
      queue.async(flags: .barrier) { before.add() }
      queue.apply(iterations: 20) { _ in
        if before.value != round { early.add() }
        inside.add()
      }
      #expect(inside.value == round * 20)
    }
    #expect(early.value == 0)
  }

  @Test("Q16: it nests, in the caller's iterations and in a helper's")
  func nests() {
    let (sum, helped, last, caller) = (Counter(), Counter(), Latch(), Kernel.threadID)
    DispatchQueue.concurrentPerform(iterations: 8) { outer in
      // The last one has another thread than the first.
      if outer == 0, Processors.areSeveral { last.wait() }
      DispatchQueue.concurrentPerform(iterations: 8) { _ in
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
          sum.add()
          if Kernel.threadID != caller { helped.add() }
        }
      }
      if outer == 7 { last.open() }
    }
    #expect(sum.value == 512)
    if Processors.areSeveral { #expect(helped.value >= 64) }
  }

  @Test("Q16: it works from inside items of any queue")
  func fromAnyQueue() {
    let queues = [
      DispatchQueue(label: "serial"), DispatchQueue(label: "concurrent", attributes: .concurrent),
      DispatchQueue.global(), DispatchQueue.global(qos: .background),
    ]
    let (sum, done) = (Counter(), Latch(queues.count))
    for queue in queues {
      queue.async {
        DispatchQueue.concurrentPerform(iterations: 1_000) { _ in sum.add() }
        done.open()
      }
    }
    #expect(done.wait())
    #expect(sum.value == 4_000)
  }

  @Test("Q16: many callers at once each get all their iterations, some of them from helpers")
  func manyCallers() {
    let (whole, helped, canHelp) = (Counter(), Counter(), Processors.areSeveral)
    PlainThread.concurrently(12) { _ in
      let caller = Kernel.threadID
      for call in 0..<8 {
        let (tally, last) = (Tally(97), Latch())
        DispatchQueue.concurrentPerform(iterations: 97) { index in
          // Calls that cannot end without a helper, that are worth one, and that are not.
          if call % 4 == 0, index == 0, canHelp { last.wait() }
          let begin = monotonicNanoseconds()
          while call % 4 == 1, monotonicNanoseconds() < begin + 10_000 {}
          tally.note(index)
          if Kernel.threadID != caller { helped.add() }
          if index == 96 { last.open() }
        }
        if tally.isOnceEach { whole.add() }
      }
    }
    #expect(whole.value == 12 * 8)
    if canHelp { #expect(helped.value >= 12 * 2) }
  }

  @Test("Q16: unequal iterations are shared out", .enabled(if: Processors.areSeveral))
  func unequalIterations() {
    let (tally, others, isMet) = (Tally(64), Latch(63), Counter())
    DispatchQueue.concurrentPerform(iterations: 64) { index in
      // As long as all others together.
      if index > 0 { others.open() } else if others.wait() { isMet.add() }
      tally.note(index)
    }
    #expect(tally.isOnceEach)
    #expect(isMet.value == 1)
  }

  @Test(
    "Q16: many callers that the monitor helps each return once all of their pieces have ended",
    arguments: ["apply-convoy", "apply-nested-convoy"])
  func helpedConvoy(scenario: String) {
    let result = Probe.run(scenario)
    #expect(result.ended, "\(result)")
    #expect(result.number("broken") == 0, "\(result)")
  }

  @Test(
    "Q16: iterations that wait for later ones end, whether the first ones are short or not",
    .enabled(if: Processors.areSeveral),
    arguments: ["apply-pairs-0", "apply-pairs-10", "apply-pairs-200", "apply-pairs-limited"])
  func iterationsInPairs(scenario: String) {
    let result = Probe.run(scenario)
    #expect(result.ended, "\(result)")
    #expect(result.number("iterations") == 512, "\(result)")
  }

  @Test(
    "Q16: an iteration that waits outside of the library does not hold up the next one",
    .enabled(if: Processors.areSeveral))
  func iterationWaitsUnseen() {
    let result = Probe.run("apply-unseen")
    #expect(result.ended, "\(result)")
    #expect(result.number("iterations") == 3_000, "\(result)")
  }

  @Test(
    "Q16: of a few iterations the last but one waits for the last", .enabled(if: Processors.areSeveral),
    arguments: ["apply-few-2", "apply-few-3", "apply-few-7"])
  func fewIterations(scenario: String) {
    let result = Probe.run(scenario)
    #expect(result.ended, "\(result)")
  }

  @Test(
    "Q16 E9: an iteration that spins until a later one has run ends", .enabled(if: Processors.areSeveral))
  func iterationSpins() {
    let result = Probe.run("apply-spinning")
    #expect(result.ended, "\(result)")
  }

  @Test(
    "Q16: iterations that wait for each other at random, as many as there may be threads, end",
    arguments: ["2", "3", "8"])
  func iterationsMeetAtRandom(threads: String) {
    let result = Probe.run("apply-meetings", environment: ["GRANDCENTRAL_THREADS": threads])
    #expect(result.ended, "\(result)")
  }

  @Test("Q16: as many iterations as there may be threads meet, though the first ones were too short for help")
  func iterationsMeet() {
    let result = Probe.run("apply-rendezvous", environment: ["GRANDCENTRAL_THREADS": "3"])
    #expect(result.ended, "\(result)")
  }

  @Test(
    "Q16 E9: what an iteration waits for begins while many others are left", .enabled(if: Processors.areSeveral))
  func nextIterationSoon() {
    let result = Probe.run("apply-soon")
    #expect(result.number("met") == 1, "\(result)")
  }

  @Test(
    "Q16: the threads that help a call on a concurrent queue do not stand behind a barrier or a suspension",
    .enabled(if: Processors.areSeveral), arguments: ["apply-before-barrier", "apply-suspended"])
  func helpersNeedNoPlace(scenario: String) {
    let result = Probe.run(scenario)
    #expect(result.ended, "\(result)")
  }

  @Test("Q16: each iteration on a concurrent queue is an item of the queue, whichever thread runs it")
  func helpersAreOnQueue() {
    let (target, key) = (DispatchQueue(label: "target", attributes: .concurrent), DispatchSpecificKey<Int>())
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent, target: target)
    queue.setSpecific(key: key, value: 7)
    let right = Counter()
    queue.apply(iterations: 16) { index in
      dispatchPrecondition(condition: .onQueue(queue))
      dispatchPrecondition(condition: .onQueue(target))
      if index < 4 { usleep(5_000) }
      if DispatchQueue.getSpecific(key: key) == 7, DispatchQueue.current === queue { right.add() }
    }
    #expect(right.value == 16)
  }

  @Test("Q16: long iterations behind each other are shared out", .enabled(if: Processors.areSeveral))
  func longIterationsTogether() {
    let (caller, calls) = (Kernel.threadID, 8)
    let (own, others) = (Counter(), Counter())
    for _ in 0..<calls {
      DispatchQueue.concurrentPerform(iterations: 1_024) { index in
        if index >= 32 { return }
        // The kernel has the thread: it takes no processor, so that neighbours change little.
        usleep(10_000)
        if Kernel.threadID == caller { own.add() } else { others.add() }
      }
    }
    #expect(own.value + others.value == 32 * calls)
    // Chunks of 64 have all but the first one on one thread. Two threads that take turns have 16 each, less what a late helper misses: on a
    // busy machine that may be much in one call, so the calls count together.
    #expect(own.value <= 26 * calls, "\(own.value) of \(32 * calls) on the caller")
    if Kernel.usableProcessors == 2 {
      #expect(others.value <= 26 * calls, "\(others.value) of \(32 * calls) on the helper")
    }
  }

  @Test("Q16: a count beyond 2^31 is not cut off")
  func hugeCount() {
    let result = Probe.run("apply-huge")
    #expect(result.ended, "\(result)")
    #expect(result.number("calls") == 100_000, "\(result)")
  }
}
