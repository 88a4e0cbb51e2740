// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore

@testable import GrandCentral

/// The whole engine on the made-up machine: pool, sleep, poller, monitor.
///
/// Each is for random walks and PCT: a run has some hundreds to thousands of steps. The thread that runs it is the
/// process's first one. What it must not do is computed by the machine (a deadlock, a block freed twice, a report that ends
/// the process); what it must do is waited for.
public enum EngineScenarios {
  /// Those that say how late something may be go without unusual answers: a deadline that passes early is one.
  public static var all: [(name: String, unusual: Int, body: () -> Void)] {
    [
      ("pool-start", 2, poolStart),
      ("pool-start-refused", 2, poolStartRefused),
      ("async-sync", 2, asyncSync),
      ("two-submitters", 2, twoSubmitters),
      ("sleep-one-worker", 2, { sleepAndWake(processors: 1) }),
      ("sleep-two-workers", 2, { sleepAndWake(processors: 2) }),
      ("group-notify", 2, groupNotify),
      ("timer", 0, timer),
      ("timer-wall-step", 0, timerWallStep),
      ("timer-wall-step-back", 0, timerWallStepBack),
      ("timer-continuous-suspend", 0, timerContinuousSuspend),
      ("pipe-source", 2, pipeSource),
      ("pipe-source-no-descriptors", 2, pipeSourceWithoutDescriptors),
      ("pipe-source-cancel", 2, pipeSourceCancel),
      ("poller-interrupt", 0, pollerInterrupt),
      ("perform-helped", 2, performHelped),
      ("perform-short", 2, performShort),
      ("blocking", 2, blocking),
      ("blocking-unseen", 2, blockingUnseen),
    ]
  }

  // MARK: The pool

  /// The first item starts the engine and a worker, and runs.
  static func poolStart() {
    let latch = Latch()
    DispatchQueue.global().async { latch.open() }
    latch.wait()
  }

  /// The kernel may refuse threads now and then: the item runs all the same.
  static func poolStartRefused() {
    ck_machine_allow(UInt32(CK_MACHINE_THREADS))
    let latch = Latch(2)
    for _ in 0..<2 { DispatchQueue.global().async { latch.open() } }
    latch.wait()
  }

  /// A serial queue: items in order, one at a time, `sync` behind what was submitted before it.
  static func asyncSync() {
    let queue = DispatchQueue(label: "serial")
    let count = Counter()
    queue.async {
      require(count.value == 0, "the first item is not first"); count.value = 1
    }
    queue.async {
      require(count.value == 1, "the second item is not second"); count.value = 2
    }
    queue.sync {
      require(count.value == 2, "sync has passed an item"); count.value = 3
    }
    require(count.value == 3, "sync has returned early")
  }

  /// Two threads submit to one serial queue and to the pool.
  static func twoSubmitters() {
    let queue = DispatchQueue(label: "serial")
    let latch = Latch(4)
    let inside = Counter()
    let item: @Sendable () -> Void = {
      require(inside.value == 0, "two items of a serial queue run at once")
      inside.value = 1
      DispatchQueue.global().async { latch.open() }
      inside.value = 0
      latch.open()
    }
    let other = ProgramThread { queue.async(execute: item) }
    queue.async(execute: item)
    other.join()
    latch.wait()
  }

  /// Workers go to sleep while work is submitted: no wake-up is lost, with or without spurious ones.
  static func sleepAndWake(processors: Int32) {
    ck_machine_set_processors(processors)
    ck_machine_allow(UInt32(CK_MACHINE_WAKES))
    for round in 0..<3 {
      let latch = Latch(2)
      let other = ProgramThread { DispatchQueue.global().async { latch.open() } }
      DispatchQueue.global().async { latch.open() }
      latch.wait()
      other.join()
      // Long enough for a worker to be about to sleep, or asleep.
      if round == 1 { ck_machine_compute(30_000) }
    }
  }

  static func groupNotify() {
    let group = DispatchGroup()
    let latch = Latch()
    let done = Counter()
    for _ in 0..<2 { DispatchQueue.global().async(group: group) { done.value += 1 } }
    group.notify(queue: .global()) {
      require(done.value == 2, "the group has notified before its items had ended")
      latch.open()
    }
    latch.wait()
  }

  // MARK: Timers

  static func timer() {
    let latch = Latch(2)
    let began = ck_machine_now()
    for milliseconds in [3, 1] {
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) {
        require(ck_machine_now() - began >= UInt64(milliseconds) * 1_000_000, "a timer has fired early")
        latch.open()
      }
    }
    latch.wait()
    require(ck_machine_now() - began < 1_000_000_000, "a timer has fired a second late")
  }

  /// The wall clock is set forwards past a deadline: its timer fires soon.
  static func timerWallStep() {
    let latch = Latch()
    DispatchQueue.global().asyncAfter(wallDeadline: .now() + .seconds(3_600)) { latch.open() }
    let began = ck_machine_now()
    ck_machine_compute(200_000)
    ck_machine_step_wall(7_200_000_000_000)
    latch.wait()
    require(ck_machine_now() - began < 1_500_000_000, "the step of the wall clock was not noticed")
  }

  /// The wall clock is set back: what was nearly due is later by as much, and not early by that clock.
  static func timerWallStepBack() {
    let (latch, began) = (Latch(), ck_machine_now())
    let deadline = DispatchWallTime.now() + .milliseconds(5)
    DispatchQueue.global().asyncAfter(wallDeadline: deadline) {
      require(!(DispatchWallTime.now() < deadline), "a timer has fired early by the wall clock")
      latch.open()
    }
    ck_machine_compute(200_000)
    ck_machine_step_wall(-20_000_000)
    latch.wait()
    require(ck_machine_now() - began < 1_500_000_000, "a timer has fired a second late")
  }

  /// The machine sleeps past a deadline that goes on meanwhile.
  static func timerContinuousSuspend() {
    let latch = Latch()
    let source = DispatchSource.makeTimerSource(queue: .global())
    source.setEventHandler { latch.open() }
    source.schedule(wallDeadline: .now() + .seconds(3_600))
    source.activate()
    let began = ck_machine_now()
    ck_machine_compute(200_000)
    ck_machine_suspend(7_200_000_000_000)
    latch.wait()
    source.cancel()
    require(ck_machine_now() - began < 1_500_000_000, "the machine's sleep was not noticed")
  }

  // MARK: The poller

  /// A source that reads a byte at each event, and opens the latch for it.
  private static func startReading(_ descriptor: Int32, _ latch: Latch) -> any DispatchSourceRead {
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
    source.setEventHandler {
      var byte: UInt8 = 0
      if gc_read(descriptor, &byte, 1) == 1 { latch.open() }
    }
    source.activate()
    return source
  }

  /// Each write is told of until it has been read.
  static func pipeSource() {
    let pipe = makePipe()
    let latch = Latch(3)
    let source = startReading(pipe.reading, latch)
    let other = ProgramThread {
      for _ in 0..<3 {
        _ = gc_write(pipe.writing, "x", 1)
        ck_machine_compute(20_000)
      }
    }
    latch.wait()
    other.join()
    source.cancel()
  }

  /// No descriptor is left for an epoll when the source begins; later there are some again.
  static func pipeSourceWithoutDescriptors() {
    let pipe = makePipe()
    let latch = Latch()
    ck_machine_limit_descriptors(pipe.writing + 1)
    let source = startReading(pipe.reading, latch)
    _ = gc_write(pipe.writing, "x", 1)
    // A timer must fire meanwhile.
    let fired = Latch()
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(2)) { fired.open() }
    fired.wait()
    ck_machine_limit_descriptors(64)
    latch.wait()
    source.cancel()
  }

  /// Cancelled beside an event: the cancel handler comes once, and after it nothing.
  static func pipeSourceCancel() {
    let pipe = makePipe()
    let latch = Latch()
    let cancelled = Counter()
    // The reader may be gone when the byte is written.
    ck_machine_ignore_signal(13)
    let source = DispatchSource.makeReadSource(fileDescriptor: pipe.reading, queue: DispatchQueue(label: "events"))
    source.setEventHandler {
      require(cancelled.value == 0, "an event after the cancel handler")
      // Otherwise the event would come again and again, and time would stand still.
      var byte: UInt64 = 0
      _ = gc_read(pipe.reading, &byte, 1)
    }
    source.setCancelHandler {
      cancelled.value += 1
      require(cancelled.value == 1, "the cancel handler has run twice")
      _ = gc_close(pipe.reading)
      latch.open()
    }
    source.activate()
    let other = ProgramThread { _ = gc_write(pipe.writing, "x", 1) }
    ck_machine_compute(10_000)
    source.cancel()
    latch.wait()
    other.join()
  }

  /// A worker sleeps in the poll; an item, and a nearer timer, must not wait for the farther one.
  static func pollerInterrupt() {
    ck_machine_set_processors(1)
    let latch = Latch(2)
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(600)) {}
    ck_machine_compute(50_000)
    let began = ck_machine_now()
    let other = ProgramThread {
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { latch.open() }
    }
    DispatchQueue.global().async { latch.open() }
    latch.wait()
    other.join()
    require(ck_machine_now() - began < 500_000_000, "an item or a timer has waited for a farther timer")
  }

  // MARK: Parallel loops

  /// Long iterations: the monitor sends help, and each index is done once.
  static func performHelped() {
    perform(iterations: 4, length: 1_500_000)
  }

  /// Short ones: the caller leaves while the monitor may be about to help.
  static func performShort() {
    // The monitor is awake.
    let latch = Latch()
    DispatchQueue.global().async { latch.open() }
    latch.wait()
    let other = ProgramThread { perform(iterations: 2, length: 250_000) }
    for _ in 0..<3 { perform(iterations: 2, length: 250_000) }
    other.join()
  }

  private static func perform(iterations: Int, length: UInt64) {
    let counts = (0..<iterations).map { _ in Counter() }
    DispatchQueue.concurrentPerform(iterations: iterations) { index in
      counts[index].value += 1
      ck_machine_compute(length)
    }
    for count in counts { require(count.value == 1, "an index was left out, or done twice") }
  }

  // MARK: Blocking

  /// An item waits for what another one does: with one processor there must be a second worker.
  static func blocking() {
    ck_machine_set_processors(1)
    let semaphore = DispatchSemaphore(value: 0)
    let latch = Latch()
    DispatchQueue.global().async {
      semaphore.wait()
      latch.open()
    }
    DispatchQueue.global().async { semaphore.signal() }
    latch.wait()
  }

  /// The same by a wait that the library does not see: the monitor finds it.
  static func blockingUnseen() {
    ck_machine_set_processors(1)
    let unseen = Latch()
    let latch = Latch()
    DispatchQueue.global().async {
      unseen.wait()
      latch.open()
    }
    DispatchQueue.global().async { unseen.open() }
    latch.wait()
  }
}
