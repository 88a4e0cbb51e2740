// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// The owner's side of a lane: taking items off and running them.
extension DispatchQueue {
  /// Runs an activation: the lane's turn on its target has come.
  static let activation: Job.Invoke = { raw in
    let job = Job(raw: raw)
    let lane = Unmanaged<DispatchQueue>.fromOpaque(job.owner!)
    let target = job.extra
    let band = job.band
    job.recycle()
    lane._withUnsafeGuaranteedRef { $0.takeTurn(on: target, in: band) }
  }

  private enum Outcome {
    /// The lane is given up, or somebody else's.
    case done
    /// The lane is given up with items left: the call is the caller's to answer.
    case relay(LaneState.Call)
  }

  /// Drains the lane, if it is free; consumes the reference that the activation holds.
  ///
  /// An activation may have been overtaken by another one, and by a change of target: items of the lane must not run
  /// as items of a target that it has left, so such an activation only goes on to the new target.
  @inline(__always)
  private final func takeTurn(on target: UnsafeMutableRawPointer?, in band: Band) {
    let me = Thread.id
    var outcome = Outcome.done
    let arrived = state.update { $0.arrive(me, in: band) }
    if arrived, targetPointer != target {
      outcome = giveUp()
    } else if arrived {
      // What came before `resume` or `activate` comes before the items that it lets begin.
      Sanitizer.comesAfter(Unmanaged.passUnretained(self).toOpaque())
      var context = QueueContext()
      _withUnprotectedUnsafeMutablePointer(to: &context) { context in
        QueueContext.push(context, self, .nothing)
        let worker = Worker.current
        publishRunning(worker)
        outcome = drain(worker)
        withdrawRunning(worker, outer: context.pointee.previous)
        QueueContext.pop(context)
      }
    }
    let reference = Unmanaged.passUnretained(self)
    switch outcome {
    case .relay(.push(let band)): submitActivation(reference.toOpaque(), in: band, fair: true)
    case .relay(.adopt):
      adoptActivation()
      reference.release()
    case .relay(.nothing), .done: reference.release()
    }
  }

  enum MainOutcome {
    /// Nothing is left, or somebody further out on this thread's stack drains the queue.
    case empty
    /// The share of items is used up.
    case turnIsOver
    /// The last item asked for has run, and later ones are there.
    case reached
  }

  /// Main thread: drains the main queue; its reference is nobody's, it lives for ever.
  final func drainOnMain() -> MainOutcome { drainOnMain(upTo: nil, reached: false) }

  /// As `drainOnMain()`, and ends behind the item that is the newest now.
  ///
  /// - Parameter last: that item's node, which is in the list; nil where none is there: then none runs.
  final func drainOnMain(upTo last: UnsafeMutableRawPointer?) -> MainOutcome {
    drainOnMain(upTo: last, reached: last == nil)
  }

  private final func drainOnMain(upTo last: UnsafeMutableRawPointer?, reached: Bool) -> MainOutcome {
    guard state.update({ $0.arriveOnMain(Thread.id) }) else { return .empty }
    var context = QueueContext()
    return _withUnprotectedUnsafeMutablePointer(to: &context) { context in
      QueueContext.push(context, self, .nothing)
      let outer = gc_thread_self().pointee.qos
      var reached = reached
      let outcome = drain(nil, upTo: last, &reached)
      gc_thread_self().pointee.qos = outer
      QueueContext.pop(context)
      if case .done = outcome { return .empty }
      return reached ? .reached : .turnIsOver
    }
  }

  @inline(__always)
  private final func drain(_ worker: Worker.Pointer?) -> Outcome {
    var reached = false
    return drain(worker, upTo: nil, &reached)
  }

  /// Runs items until the list is empty, the lane is halted or handed over, the turn is over, or the item `last` has run.
  @inline(__always)
  private final func drain(
    _ worker: Worker.Pointer?, upTo last: UnsafeMutableRawPointer?, _ reached: inout Bool
  ) -> Outcome {
    // relaxed: says when to look for more urgent work; it may rise later, and then another activation comes.
    var budget = DrainBudget(worker, urgency: state.load(ordering: .relaxed).urgency)
    while true {
      // relaxed: suspension takes effect between items; `rest` decides.
      if state.load(ordering: .relaxed).isHalted {
        if state.update({ $0.rest() }) == .done { return .done }
        continue
      }
      guard let job = first() else {
        if budget.linger(for: self) { continue }
        if state.update({ $0.finish() }) == .done { return .done }
        continue
      }
      if reached { return giveUp() }
      switch step(job) {
      case .ran:
        // Compared as addresses: the node is somebody else's by now.
        if job.raw == last { reached = true } else if budget.isOver() { return giveUp() }
      case .moved: continue
      case .gone: return .done
      case .retargeted: return giveUp()
      }
    }
  }

  private final func giveUp() -> Outcome { .relay(state.update { $0.relay() }) }

  private enum Step {
    case ran
    /// The item was passed on; it runs elsewhere.
    case moved
    /// The lane is no longer ours.
    case gone
    case retargeted
  }

  @inline(__always)
  private final func step(_ job: Job) -> Step {
    let flags = job.flags
    if kind == .concurrent { return stepConcurrent(job, flags) }
    take(job)
    if flags.contains(.waiter) {
      handOver(to: job)
      return .gone
    }
    job.run()
    return flags.contains(.retarget) ? .retargeted : .ran
  }

  private final func stepConcurrent(_ job: Job, _ flags: Job.Flags) -> Step {
    if flags.contains(.barrier) {
      if !state.update({ $0.beginBarrier() }) { return .gone }
      take(job)
      if flags.contains(.waiter) {
        handOver(to: job)
        return .gone
      }
      job.run()
      return flags.contains(.retarget) ? .retargeted : .ran
    }
    return admit(job, flags) ? .moved : .gone
  }

  /// Sends the first item, a reader, on its way. Owner only.
  ///
  /// - Returns: false if as many run as may: then the lane is given up, and who leaves it sees to it.
  private final func admit(_ job: Job, _ flags: Job.Flags) -> Bool {
    let limit = readerLimit
    if !state.update({ $0.admit(limit: limit) }) { return false }
    take(job)
    if flags.contains(.waiter) { WaiterNode.wake(job) } else { redirect(job) }
    return true
  }

  /// The item whose turn it is, left in its place. Owner only.
  @inline(__always)
  final func first() -> Job? {
    if let buckets { return buckets.pointee.first(from: items) }
    return items.head().map { Job(raw: $0) }
  }

  /// Takes off the item that `first` has shown. Owner only.
  @inline(__always)
  final func take(_ job: Job) {
    if let buckets {
      buckets.pointee.take()
    } else {
      // In a large backlog items are cold: the next one's line is fetched while this one runs.
      gc_prefetch(items.pop(job.raw))
    }
  }

  /// Passes the lane to a waiter that has been taken off the list.
  @inline(__always)
  final func handOver(to job: Job) {
    let waiter = WaiterNode.owner(of: job)
    state.update { $0.handOver(to: waiter) }
    WaiterNode.wake(job)
  }

  /// Gives the lane up on a thread that runs no items of others: passes it to waiters, or sends it to a worker.
  ///
  /// The caller keeps the lane alive.
  @inline(never)
  final func releaseOwnership() {
    var moved = 0
    while true {
      // relaxed: `rest` decides.
      if state.load(ordering: .relaxed).isHalted {
        if state.update({ $0.rest() }) == .done { return }
        continue
      }
      guard let job = first() else {
        if state.update({ $0.finish() }) == .done { return }
        continue
      }
      let flags = job.flags
      let isWaiter = flags.contains(.waiter)
      if kind == .concurrent, !flags.contains(.barrier), isWaiter || isLimited && moved < Self.movedAtMost {
        if !admit(job, flags) { return }
        moved += 1
        continue
      }
      guard isWaiter else { return relayToWorker() }
      if kind == .concurrent, !state.update({ $0.beginBarrier() }) { return }
      take(job)
      return handOver(to: job)
    }
  }

  /// As many items does a thread send on their way that only passes by: a limit has a place filled by who leaves it.
  private static let movedAtMost = 16

  private final func relayToWorker() {
    // Retained first: once the lane is given up, it may drain and die.
    let reference = Unmanaged.passRetained(self)
    let call = state.update { $0.relay() }
    if case .push(let band) = call, kind != .main {
      submitActivation(reference.toOpaque(), in: band, fair: false)
    } else {
      answer(call)
      reference.release()
    }
  }

  // MARK: For reports

  @inline(__always)
  final func publishRunning(_ worker: Worker.Pointer?) {
    // pairs with: Engine.nameOfWork – publishes the lane to an inspector whose barrier came before
    worker?.pointee.runningLane.store(Unmanaged.passUnretained(self).toOpaque(), ordering: .releasing)
  }

  @inline(__always)
  final func withdrawRunning(_ worker: Worker.Pointer?, outer: UnsafeMutableRawPointer?) {
    guard let worker else { return }
    // pairs with: Engine.nameOfWork – publishes the enclosing context's lane, if any, which is still held by whoever runs it.
    // The inspector's barrier comes between this step and the look that follows, see Inspection.swift.
    worker.pointee.runningLane.store(
      outer?.assumingMemoryBound(to: QueueContext.self).pointee.queue, ordering: .releasing)
    Engine.shared.pointee.inspection.passWhileInspected()
  }
}
