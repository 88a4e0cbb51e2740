// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// The owner's side of a lane: taking items off and running them.
extension Lane {
  /// Runs an activation: the lane's turn on its target has come.
  static let activation: Job.Invoke = { raw in
    let job = Job(raw: raw)
    let lane = Borrowed<Lane>(word: job.owner!)
    let target = Borrowed<Lane>(word: job.extra!)
    let band = job.band
    lane.use {
      // What the turn writes, asked for at once: one line after the other would come in twice the time.
      $0.state.prepareUpdate()
      $0.items.preparePop()
    }
    job.recycle()
    lane.use { $0.takeTurn(on: target, in: band) }
  }

  private enum Outcome {
    /// The lane is given up, or another thread has it.
    case done
    /// The lane is given up with items left: the caller must answer the call.
    case relay(LaneState.Call)
  }

  /// Drains the lane, if it is free; consumes the reference that the activation holds.
  ///
  /// Another activation may have overtaken this one, and so may a change of target. Items of the lane must not run as items of
  /// a target that it has left, so such an activation only goes on to the new target.
  @inline(__always)
  private final func takeTurn(on target: Borrowed<Lane>, in band: Band) {
    let me = Thread.id
    var outcome = Outcome.done
    let arrived = state.update { $0.arrive(me, in: band) } == .owns
    if arrived, targetWord.lane != target {
      outcome = giveUp()
    } else if arrived {
      var context = QueueContext()
      _withUnprotectedUnsafeMutablePointer(to: &context) { context in
        QueueContext.push(context, self, .nothing)
        let worker = Worker.current
        publishRunning(worker)
        outcome = drain(context, worker)
        withdrawRunning(worker, outer: context.pointee.outer)
        QueueContext.pop(context)
      }
    }
    // The reference that the activation held, and the next one takes over.
    let reference = Owned<Lane>(word: reference.word)
    switch outcome {
    case .relay(.push(let band)): submitActivation(reference, in: band, fair: true)
    case .relay(.adopt):
      adoptActivation()
      reference.release()
    case .relay(.nothing), .done: reference.release()
    }
  }

  enum MainOutcome {
    /// Nothing is left, or a call further out on this thread's stack drains the queue.
    case empty
    /// The share of items is used up.
    case turnIsOver
    /// The last item asked for has run, and later ones are there.
    case reached
  }

  /// Main thread: drains the main queue. No reference is held, because the queue lives for ever.
  final func drainOnMain() -> MainOutcome { drainOnMain(upTo: nil, reached: false) }

  /// As `drainOnMain()`, and ends behind the item that is the newest now.
  ///
  /// - Parameter last: that item's node, which is in the list. Nil if the list is empty: then no item runs.
  final func drainOnMain(upTo last: UnsafeMutableRawPointer?) -> MainOutcome {
    drainOnMain(upTo: last, reached: last == nil)
  }

  private final func drainOnMain(upTo last: UnsafeMutableRawPointer?, reached: Bool) -> MainOutcome {
    guard state.update({ $0.arriveOnMain(Thread.id) }) == .owns else { return .empty }
    var context = QueueContext()
    return _withUnprotectedUnsafeMutablePointer(to: &context) { context in
      QueueContext.push(context, self, .nothing)
      let outer = QoSWord.ofThread
      var reached = reached
      let outcome = drain(context, nil, onMain: true, upTo: last, &reached)
      QoSWord.ofThread = outer
      QueueContext.pop(context)
      if case .done = outcome { return .empty }
      return reached ? .reached : .turnIsOver
    }
  }

  @inline(__always)
  private final func drain(_ context: QueueContext.Pointer, _ worker: Worker.Pointer?) -> Outcome {
    var reached = false
    return drain(context, worker, onMain: false, upTo: nil, &reached)
  }

  /// Runs items until the list is empty, the lane is halted or handed over, the turn is over, or the item `last` has run.
  ///
  /// - Parameter onMain: Constant: the main queue's copy of this code knows that it has one item at a time, and no buckets.
  @inline(__always)
  private final func drain(
    _ context: QueueContext.Pointer, _ worker: Worker.Pointer?, onMain: Bool, upTo last: UnsafeMutableRawPointer?,
    _ reached: inout Bool
  ) -> Outcome {
    // relaxed: says when to look for more urgent work; it may rise later, and then another activation comes.
    let seen = state.load(ordering: .relaxed)
    var budget = DrainBudget(worker, urgency: seen.urgency, isNested: seen.has(LaneState.nested))
    var admitted = WaiterBatch()
    defer { admitted.wake() }
    while true {
      let job = first(context, onMain)
      if seesHalt() {
        settle(context)
        if state.update({ $0.rest() }) == .done { return .done }
        continue
      }
      guard let job else {
        if admitted.isEmpty, budget.linger(for: self) { continue }
        if state.update({ $0.finish() }) == .done { return .done }
        continue
      }
      if reached { return giveUp(context) }
      switch step(job, context, onMain, &admitted) {
      case .ran:
        // Compared as addresses: the node may serve another item by now.
        if job.raw == last { reached = true } else if budget.isOver() { return giveUp(context) }
      case .moved: if budget.isOver() { return giveUp(context) }
      case .gone: return .done
      case .retargeted: return giveUp(context)
      }
    }
  }

  /// Whether the lane is halted: that takes effect between items. Asked after the next item was looked for: a thread may have suspended
  /// the lane before it submitted that item, and then the answer is yes. If it is no, what came before the `resume` that ended a halt comes before
  /// the next item, for the item before it may have begun that halt. Owner only.
  @inline(__always)
  private final func seesHalt() -> Bool {
    if state.load().isHalted { return true }
    Sanitizer.comesAfter(reference.word)
    return false
  }

  private final func giveUp() -> Outcome { .relay(state.update { $0.relay() }) }

  private final func giveUp(_ context: QueueContext.Pointer) -> Outcome {
    settle(context)
    return giveUp()
  }

  /// Shows in the list what the drainer has kept to itself: another thread may own the lane soon.
  @inline(__always)
  private final func settle(_ context: QueueContext.Pointer) {
    if let oldest = context.pointee.takeOldest() { items.settle(oldest) }
  }

  private enum Step {
    case ran
    /// The item was passed on; it runs elsewhere.
    case moved
    /// The lane is no longer ours.
    case gone
    case retargeted
  }

  @inline(__always)
  private final func step(
    _ job: Job, _ context: QueueContext.Pointer, _ onMain: Bool, _ admitted: inout WaiterBatch
  ) -> Step {
    let flags = job.flags
    if !onMain, kind.hasReaders { return stepConcurrent(job, flags, &admitted) }
    take(job, context, onMain)
    if flags.contains(.waiter) {
      settle(context)
      handOver(to: job)
      return .gone
    }
    run(job)
    return flags.contains(.retarget) ? .retargeted : .ran
  }

  @inline(__always)
  private final func run(_ job: Job) {
    if Recorder.isOn { runRecorded(job) } else { job.run() }
  }

  private final func stepConcurrent(_ job: Job, _ flags: Job.Flags, _ admitted: inout WaiterBatch) -> Step {
    if flags.contains(.barrier) {
      if state.update({ $0.beginBarrier() }) == .givenUp { return .gone }
      take(job)
      if flags.contains(.waiter) {
        handOver(to: job)
        return .gone
      }
      run(job)
      return flags.contains(.retarget) ? .retargeted : .ran
    }
    return admit(job, flags, &admitted) ? .moved : .gone
  }

  /// Sends the first item, a reader, on its way. Owner only.
  ///
  /// - Parameter admitted: Receives a thread that waits. The caller wakes it once the lane is given up: while the lane has an owner, each
  ///   further call of the threads that are awake would have to wait in the list again, and be woken.
  /// - Returns: false if the lane is full. Then the lane is given up, and the next reader that leaves takes it over.
  private final func admit(_ job: Job, _ flags: Job.Flags, _ admitted: inout WaiterBatch) -> Bool {
    let limit = readerLimit
    if state.update({ $0.admit(limit: limit) }) == .givenUp { return false }
    take(job)
    if flags.contains(.waiter) {
      admitted.append(job)
    } else {
      // There may be any number of such items.
      admitted.wake()
      redirect(job)
    }
    return true
  }

  /// For a forked child, if its only thread is inside an item of this lane. If that owns the lane, so does the thread, by its new id.
  @_optimize(size)
  final func leaveItems() {
    items.leaveAll()
    buckets?.pointee = PriorityBuckets()
    let me = Thread.id
    // Lane.L4: beside readers an owner runs no item, so then the thread is one of them.
    state.update { if $0.isOwned, $0.readers == 0 { $0.setOwner(me) } }
  }

  /// The next item, left in its place. Owner only.
  @inline(__always)
  final func first() -> Job? {
    if kind.sortsItems, let buckets { return buckets.pointee.first(from: items) }
    return items.head().map { Job(raw: $0) }
  }

  /// Takes off the item that `first` has shown. Owner only.
  @inline(__always)
  final func take(_ job: Job) {
    if kind.sortsItems, let buckets {
      buckets.pointee.take()
    } else {
      // In a large backlog items are cold: the next one's line is fetched while this one runs, to be written too (Magazine.G6).
      gc_prefetch_write(items.pop(job.raw))
    }
  }

  /// As `take`, which is long as well, for a thread that hands the lane on.
  @inline(never)
  final func takeSlow(_ job: Job) { take(job) }

  /// As `first()`, for a drainer.
  @inline(__always)
  private final func first(_ context: QueueContext.Pointer, _ onMain: Bool) -> Job? {
    if let oldest = context.pointee.oldest { return Job(raw: oldest) }
    return onMain ? items.head().map { Job(raw: $0) } : first()
  }

  /// As `take(_:)`, for the drainer of a lane without readers: it keeps the next item to itself until it settles.
  @inline(__always)
  private final func take(_ job: Job, _ context: QueueContext.Pointer, _ onMain: Bool) {
    if !onMain, kind.sortsItems, let buckets {
      buckets.pointee.take()
    } else {
      let next = items.popKept(job.raw)
      context.pointee.oldest = next
      gc_prefetch_write(next)
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
    var admitted = WaiterBatch()
    defer { admitted.wake() }
    while true {
      let job = first()
      if seesHalt() {
        if state.update({ $0.rest() }) == .done { return }
        continue
      }
      guard let job else {
        if state.update({ $0.finish() }) == .done { return }
        continue
      }
      let flags = job.flags
      let isWaiter = flags.contains(.waiter)
      if kind.hasReaders, !flags.contains(.barrier), isWaiter || isLimited && moved < Self.movedAtMost {
        if !admit(job, flags, &admitted) { return }
        moved += 1
        continue
      }
      guard isWaiter else { return relayToWorker() }
      if kind.hasReaders, state.update({ $0.beginBarrier() }) == .givenUp { return }
      takeSlow(job)
      return handOver(to: job)
    }
  }

  /// How many items a thread that only passes by sends on their way. In a lane with a limit, each reader that leaves fills its
  /// place.
  private static let movedAtMost = 16

  private final func relayToWorker() {
    // Retained first: once the lane is given up, it may be drained and freed.
    let reference = Owned(self as Lane)
    let call = state.update { $0.relay() }
    if case .push(let band) = call, !kind.isMain {
      submitActivation(reference, in: band, fair: false)
    } else {
      answer(call)
      reference.release()
    }
  }

  // MARK: For reports

  @inline(__always)
  final func publishRunning(_ worker: Worker.Pointer?) {
    // pairs with: Engine.nameOfWork – publishes the lane to an inspector whose barrier came before
    worker?.pointee.runningLane.store(reference.word, ordering: .releasing)
  }

  @inline(__always)
  final func withdrawRunning(_ worker: Worker.Pointer?, outer: QueueContext.Pointer?) {
    guard let worker else { return }
    // pairs with: Engine.nameOfWork – publishes the enclosing context's lane, if any, which is held while its item runs.
    // The inspector's barrier comes between this step and the look that follows, see Inspection.swift.
    worker.pointee.runningLane.store(
      outer?.pointee.lane?.word, ordering: .releasing)
    Engine.current.inspection.passWhileInspected()
  }
}
