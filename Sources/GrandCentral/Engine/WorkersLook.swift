// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The monitor's look at all workers, at one tick.
///
/// A worker in a job has an odd pulse. If the monitor sees the same odd pulse at two ticks, and the worker has used hardly any
/// CPU time in between, the worker is off its processor.
struct WorkersLook {
  /// At so many workers that have been set aside the monitor looks again, at each tick: each look costs two system calls.
  private static let looksAgain = 4

  let now: UInt64
  let elapsed: UInt64
  /// The least urgent rank that is pending.
  let leastUrgent: UInt8
  /// The time between two looks at a worker that has been set aside: each of them has its turn.
  let distance: UInt64
  var looksLeft = World.isSimulated ? 0 : Self.looksAgain
  var findings = Compensation.Findings()
  /// The most processor time that a worker has had which was in its job all the time.
  var most: UInt64?

  /// - Parameters:
  ///   - pending: The bits of pending work.
  ///   - away: How many workers are set aside.
  init(now: UInt64, elapsed: UInt64, pending: UInt32, away: Int) {
    (self.now, self.elapsed) = (now, elapsed)
    leastUrgent = UInt8(truncatingIfNeeded: max(0, UInt32.bitWidth - 1 - pending.leadingZeroBitCount) / 2)
    distance = Monitor.tick * UInt64(max(4, away / Self.looksAgain))
  }
}

// relaxed, everywhere below: the monitor's own notes, and observations of others', which `setAside` verifies.
extension Worker {
  /// Notes what the monitor sees.
  ///
  /// - Returns: the pulse, if the worker is found off its processor in the middle of a job.
  @_optimize(size)
  func isSeenOff(by look: inout WorkersLook, in engine: borrowing Engine) -> UInt64? {
    // relaxed: see above.
    let (thread, pulse) = (thread.load(ordering: .relaxed), progress.load(ordering: .relaxed))
    let seen = seenProgress.exchange(pulse, ordering: .relaxed)
    if pulse != seen {
      look.findings.hasStarted = true
      seenSince.store(look.now, ordering: .relaxed)
    }
    // The pulse is odd in a job: half of it counts the ends.
    // relaxed: see above.
    if pulse > seen, runningRank.load(ordering: .relaxed) >= look.leastUrgent {
      look.findings.ended += Int(pulse / 2 - seen / 2)
    }
    // relaxed: see above.
    guard thread != 0, pulse & 1 == 1, waits.load(ordering: .relaxed) == 0 else { return nil }
    let status = status.load(ordering: .relaxed)
    if status != Status.running {
      if pulse == seen { lookAgain(&look, thread, status, in: engine) }
      return nil
    }
    look.findings.working += 1
    let used = Thread.processorTime(of: thread)
    // relaxed: see above.
    let before = seenCPU.exchange(used, ordering: .relaxed)
    seenAt.store(look.now, ordering: .relaxed)
    if seen != pulse || used != before { stillness.store(0, ordering: .relaxed) }
    if seen != pulse { return nil }
    // It has used hardly any CPU time: it waits for something, or for a processor. In the second case it is not replaced.
    if used &- before < look.elapsed / 4, isOff(thread, look.elapsed) { return pulse }
    look.most = max(look.most ?? 0, used &- before)
    look.findings.computing += 1
    return nil
  }

  /// The worker has been set aside in a job that goes on (Displacement.D3).
  @_optimize(size)
  private func lookAgain(_ look: inout WorkersLook, _ thread: UInt32, _ status: UInt32, in engine: borrowing Engine) {
    // relaxed: see above.
    let span = look.now &- seenAt.load(ordering: .relaxed)
    guard look.looksLeft > 0, span >= look.distance else { return }
    look.looksLeft -= 1
    let used = Thread.processorTime(of: thread)
    // relaxed: see above.
    let before = seenCPU.exchange(used, ordering: .relaxed)
    seenAt.store(look.now, ordering: .relaxed)
    let computes = used &- before >= span / 4
    switch (status, computes ? .runnable : Thread.activity(of: thread)) {
    case (Status.adrift, .waits): move(from: status, to: Status.stalled, in: engine)
    case (Status.stalled, .runnable):
      // A worker that loses its place this moment is one too many until its job ends.
      if place != nil { recover(engine) } else { move(from: status, to: Status.adrift, in: engine) }
    default: break
    }
  }

  /// Where the system does not say what a worker waits for, it is taken for blocked if it has not run at all for this long.
  private static var longStillness: UInt64 { 250_000_000 }

  /// Whether a worker that has hardly run waits for something else than a processor.
  ///
  /// A short wait in the kernel counts once the worker has not run at all for more than a tick. Where the system does not say,
  /// the worker is taken to wait for a processor, until it has not run at all for so many looks that it would have got one. A
  /// look counts for a tick at most, because on a loaded machine the monitor waits as well.
  @_optimize(size)
  private func isOff(_ thread: UInt32, _ elapsed: UInt64) -> Bool {
    let activity = Thread.activity(of: thread)
    if activity == .runnable || activity == .waits { return activity == .waits }
    // relaxed: see above.
    let still = stillness.load(ordering: .relaxed) + min(elapsed, Monitor.tick)
    stillness.store(still, ordering: .relaxed)
    return still > (activity == .waitsBriefly ? Monitor.tick : Self.longStillness)
  }
}
