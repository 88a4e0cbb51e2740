// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Where a sleeper waits: in the kernel's poll if nobody does and there is something to wait for, else on its own futex.
extension Engine {
  /// A worker not needed for this long ends, so that an idle process has one thread of ours and no wake-ups.
  private static var retirement: UInt64 { 2_000_000_000 }

  /// W4: the caller is in the idle list, and comes back as a searcher.
  ///
  /// - Returns: false when the worker has retired instead.
  @inline(never)
  func sleep(_ worker: Worker.Pointer) -> Bool {
    if isWatcher(worker) {
      nap(worker)
      return true
    }
    if poller.enter(timers) {
      sleepInPoll(worker)
      return true
    }
    let ends = Deadline.after(Self.retirement, on: .uptime)
    if worker.pointee.parker.park(until: ends) { return true }
    if tryRetire(worker) { return false }
    // What a burst has left behind goes back while nothing is to do.
    Region.trim()
    // The last worker stays, and sleeps without a deadline: an idle process does not wake up.
    if isLastWorker { return worker.pointee.parker.park() || poller.isMissed(timers) }
    leaveIdle(worker)
    return true
  }

  private var isLastWorker: Bool {
    // relaxed: workers are only added by submitters, who wake the sleeper that they find.
    let state = pool.load(ordering: .relaxed)
    return state.live - state.blocked <= 1
  }

  private func nap(_ worker: Worker.Pointer) {
    if !worker.pointee.parker.park(until: Deadline.after(SlotWatch.nap, on: .uptime)) { leaveIdle(worker) }
  }

  private func sleepInPoll(_ worker: Worker.Pointer) {
    // seq-cst: the flag is up before the look for a token; an unparker leaves its token before it looks at the flag.
    worker.pointee.inPoll.store(true, ordering: .sequentiallyConsistent)
    if worker.pointee.parker.tryConsume() {
      // relaxed: lowering it late costs an unparker one needless interruption.
      worker.pointee.inPoll.store(false, ordering: .relaxed)
      poller.leave()
      return
    }
    poller.wait(timers)
    // relaxed: see above.
    worker.pointee.inPoll.store(false, ordering: .relaxed)
    leaveIdle(worker)
    serve()
  }

  /// Fires what is due while the caller holds the poller's role, and gives the role up.
  private func serve() {
    poller.dispatchEvents(in: self)
    if timers.fireDue(in: self) { poller.noteFiring() }
    poller.leave()
    if poller.isBusy { monitor.wake(self) }
  }

  /// Looks at the timers and the kernel's events if nobody waits for them just now.
  func pollIfVacant() {
    guard poller.isMissed(timers), poller.enter(timers) else { return }
    poller.look(timers)
    serve()
  }
}
