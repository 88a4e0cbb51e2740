// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Where a sleeper waits: in the kernel's poll if no thread waits there and there is something to wait for, otherwise on its
// own futex.
extension Engine {
  /// A worker not needed for this long ends, so that an idle process has one thread of ours and no wake-ups.
  private static var retirement: UInt64 { 2_000_000_000 }

  /// Sleep.W4: the caller is in the idle list, and comes back as a searcher.
  ///
  /// - Returns: false when the worker has retired instead.
  @inline(never)
  func sleep(_ worker: Worker.Pointer) -> Bool {
    InsightRegion.makeOnce()
    let begun = Cycles.now
    InsightThread.ready?.fallAsleep(at: begun)
    InsightRegion.noteWorkerIsListed(worker.pointee.index)
    let stays = sleepUnseen(worker)
    Probes.look()
    InsightThread.current?.become(InsightLayout.State.active, at: Cycles.now)
    if Recorder.isOn { Recorder.note(.sleep, since: begun) }
    return stays
  }

  @inline(__always)
  private func sleepUnseen(_ worker: Worker.Pointer) -> Bool {
    // In an engine that is being closed the watcher ends once it has switched the watch off. Its role would stay with a record without a thread.
    if isWatcher(worker) {
      if !nap(worker, SlotWatch.nap) { leaveIdle(worker) }
      return true
    }
    if isClosing, tryRetire(worker, evenLast: true) { return false }
    if !leavesPollToOthers(worker), poller.enter(timers) {
      sleepInPoll(worker)
      return true
    }
    // A simulation ends its workers by itself, and has no time pass for that.
    let ends = World.isSimulated ? Deadline.never : Deadline.after(Self.retirement, on: .uptime)
    worker.pointee.isHelper = false
    if worker.pointee.parker.park(until: ends) { return true }
    if tryRetire(worker) { return false }
    // What a burst has left behind goes back while there is nothing to do.
    Region.trim()
    // The last worker stays, and sleeps without a deadline: an idle process does not wake up.
    if isLastWorker { return worker.pointee.parker.park() || poller.isMissed(timers) }
    leaveIdle(worker)
    return true
  }

  /// Whether another worker runs something, and this one would only take its events away: its last wait has brought it nothing
  /// to run.
  ///
  /// An event of a source whose handler runs just now belongs to the worker that runs the handler. If two workers wait for
  /// such events, each event costs twice the calls, and is served no sooner. The other worker takes the role when it has
  /// nothing to run; if that takes it long, the monitor stands in. Timers that are due soon need a worker that waits for them.
  private func leavesPollToOthers(_ worker: Worker.Pointer) -> Bool {
    // relaxed: the worker's own note.
    guard worker.pointee.polledInVain.load(ordering: .relaxed) else { return false }
    worker.pointee.polledInVain.store(false, ordering: .relaxed)
    // relaxed: hints; the monitor makes up for a wrong guess.
    guard monitor.isAwake, pool.load(ordering: .relaxed).active > 0 else { return false }
    return timers.uptimeOfEarliest(on: .uptime).nanoseconds(from: Clock.uptime.now()) > Self.soon
      && timers.earliest(on: .wall) == .max && timers.earliest(on: .continuous) == .max
  }

  private static var soon: UInt64 { 20_000_000 }

  private var isLastWorker: Bool {
    // relaxed: only submitters add workers, and they wake the sleeper that they find.
    return pool.load(ordering: .relaxed).able <= 1
  }

  /// The caller is in the idle list.
  ///
  /// - Returns: whether it has been woken.
  func nap(_ worker: Worker.Pointer, _ nanoseconds: UInt64) -> Bool {
    worker.pointee.parker.park(until: Deadline.after(nanoseconds, on: .uptime))
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
    worker.pointee.isHelper = leaveIdle(worker)
    let brought = serve(by: worker)
    // relaxed: the worker's own note; a hint about work.
    let inVain = brought && worker.pointee.slotIsEmpty && pending.load(ordering: .relaxed) == 0
    worker.pointee.polledInVain.store(inVain, ordering: .relaxed)
  }

  /// Fires what is due while the caller holds the poller's role, and gives the role up.
  ///
  /// - Parameter searcher: The calling worker, if it is counted as searching.
  /// - Returns: whether there were events of descriptors.
  @discardableResult
  private func serve(by searcher: Worker.Pointer?) -> Bool {
    let brought = poller.dispatchEvents(in: self)
    if timers.fireDue(by: searcher, in: self) { poller.noteFiring() }
    poller.leave()
    if poller.isBusy { monitor.wake(self) }
    return brought
  }

  /// Looks at the timers and the kernel's events if no thread waits for them just now.
  ///
  /// - Parameters:
  ///   - searcher: The calling worker, if it is counted as searching.
  ///   - asksKernel: false for a worker that will wait for events in a moment, if there is nothing else to do.
  func pollIfVacant(by searcher: Worker.Pointer? = nil, asksKernel: Bool = true) {
    guard poller.isMissed(timers), poller.enter(timers) else { return }
    poller.look(timers, asksKernel: asksKernel)
    serve(by: searcher)
  }
}
