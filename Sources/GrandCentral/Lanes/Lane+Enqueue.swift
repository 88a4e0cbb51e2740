// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// The pusher's side of a lane: putting an item in, and making the lane runnable.
extension Lane {
  /// Submits a closure.
  @inline(__always)
  final func submit(_ work: consuming @escaping @Sendable () -> Void) {
    let qos = submissionQoS
    let job = Job(invoke: Items.plain, qos: qos.rawValue, band: qos.band)
    job.setBody(Job.Body(run: work))
    enqueue(job, isKept: true)
  }

  /// The QoS of an item that is given none: the queue's, otherwise the submitter's.
  @usableFromInline
  @inline(__always)
  final var submissionQoS: QoSWord {
    let base = base
    if !base.isUnspecified { return base }
    return QoSWord.ofThread
  }

  /// Items of a global queue have no context: their band tells which queue they belong to. An item that has another quality of
  /// service than its queue is in another band, and brings the queue along.
  @inline(never)
  final func nameQueue(of job: Job) {
    // An item that is recorded brings its queue already.
    if job.band == ownQoS.band || Self.isRecordedOnGlobal(job) { return }
    // The run queues hold jobs by pointer: the job's own link is free. Global queues live for ever.
    job.link = reference.word
    job.inner = job.invoke
    job.invoke = Lane.inOtherBand
  }

  private static let inOtherBand: Job.Invoke = { raw in
    let job = Job(raw: raw)
    var context = QueueContext()
    _withUnprotectedUnsafeMutablePointer(to: &context) { context in
      // unsafe: see `nameQueue`.
      Borrowed<Lane>(word: job.link!).use {
        QueueContext.push(context, $0, .nothing)
      }
      job.inner(raw)
      QueueContext.pop(context)
    }
  }

  /// A reader that finds no item before it needs no drainer: it goes to the target directly.
  @inline(never)
  final func enqueueConcurrent(_ job: Job) {
    if !job.flags.contains(.barrier), items.tailIsNil, enterRead() {
      redirect(job)
    } else {
      pushSlow(job)
    }
  }

  /// As `push`, which is long, and is copied to where it is called.
  @inline(never)
  final func pushSlow(_ job: Job) { pushUnkept(job) }

  /// - Parameter isKept: Whether the caller has a reference until this returns.
  @inline(__always)
  final func push(_ job: Job, isKept: Bool) {
    if !isKept { return pushUnkept(job) }
    let urgency = Urgency.of(job.band)
    if items.push(job.raw) {
      answer(state.update { $0.announce(urgency: urgency) })
      return
    }
    // relaxed: a hint; `overtake` decides.
    if state.load(ordering: .relaxed).urgency < urgency { overtake(urgency) }
  }

  /// Lane.L10: a caller of the C interface need not have a reference, and the item may give back the last one.
  @inline(__always)
  private final func pushUnkept(_ job: Job) {
    let urgency = Urgency.of(job.band)
    if let previous = items.beginPush(job.raw) {
      // relaxed: a hint; `overtake` decides. The item cannot be reached yet, so the lane keeps its urgency (Lane.L6).
      if state.load(ordering: .relaxed).urgency < urgency { return pushMoreUrgent(job, behind: previous, urgency) }
      items.endPush(job.raw, behind: previous)
    } else {
      // relaxed: this thread's own step, or another one's. An owner keeps the lane, and nobody else takes its items.
      if state.load(ordering: .relaxed).owner == Thread.id { return pushAsOwner(job, urgency) }
      // The activation's.
      let own = Owned(self as Lane)
      items.endPush(first: job.raw)
      let call = state.update { $0.announce(urgency: urgency) }
      if case .push(let band) = call, !kind.isMain {
        submitActivation(own, in: band, fair: false)
      } else {
        if call != .nothing { answerSlow(call) }
        own.release()
      }
    }
  }

  @inline(never)
  private final func pushAsOwner(_ job: Job, _ urgency: UInt8) {
    items.endPush(first: job.raw)
    state.update { $0.announceAsOwner(urgency: urgency) }
  }

  @inline(never)
  private final func pushMoreUrgent(_ job: Job, behind previous: MPSCList.Node, _ urgency: UInt8) {
    let own = Owned(self as Lane)
    items.endPush(job.raw, behind: previous)
    overtake(urgency)
    own.release()
  }

  /// The lane is on its way in a less urgent band than its newest item asks for.
  @inline(never)
  final func overtake(_ urgency: UInt8) {
    answerSlow(state.update { $0.overtake(urgency: urgency) })
  }

  /// Contract.W4: a more urgent thread waits for one of the lane's items.
  final func boost(_ urgency: UInt8) {
    if !kind.isRunQueue { answerSlow(state.update { $0.boost(urgency: urgency) }) }
  }

  /// Contract.W4: a thread, or a task, waits for the lane, or for one of its items. What has left the lane is not reached by `boost`.
  ///
  /// - Parameters:
  ///   - lender: The band of the thread or the task that waits; the calling thread's by default.
  ///   - wanted: The item's own QoS.
  @inline(never)
  final func lend(from lender: Band = QoSWord.ofThread.band, for wanted: QoSWord = .unspecified) -> Loan {
    if kind.isMain { return .none }
    let base = base
    // The default global queue is for items of any quality.
    let qos = base.isUnspecified || base == .default && kind.isRunQueue && !wanted.isUnspecified ? wanted : base
    // Items of a serial queue stay in it, unless its target is another queue.
    // relaxed: a hint.
    let isNested = state.load(ordering: .relaxed).has(LaneState.nested)
    let isLeft = qos.isUnspecified ? kind.hasReaders : !kind.isPlainSerial || isNested
    return isLeft ? Loan.make(from: lender, to: qos.isUnspecified ? nil : qos.band) : .none
  }

  /// Lane.L3: does what the step that led to `call` has left to its caller. The caller keeps the lane alive meanwhile.
  @inline(__always)
  final func answer(_ call: LaneState.Call) {
    switch call {
    case .nothing: break
    case .push(let band): pushActivation(in: band)
    case .adopt: adoptActivation()
    }
  }

  /// As `answer`, which is long as well, for the steps that are seldom taken.
  @inline(never)
  final func answerSlow(_ call: LaneState.Call) { answer(call) }

  /// Sends the lane through its target. The activation keeps the lane alive.
  @inline(__always)
  private final func pushActivation(in band: Band) {
    if kind.isMain {
      callMainThread()
    } else {
      submitActivation(Owned(self as Lane), in: band, fair: false)
    }
  }

  /// Lane.L8: an activation in the lane's band is on its way, and serves the lane when it arrives.
  ///
  /// In a forked child that activation may be the parent's, and never arrive. The first thread of the child that adopts one
  /// forgets all activations that are on their way, and sends the lane anew. Other threads that adopt one meanwhile leave that
  /// to it: if their step comes before its own, it finds the lane enqueued; if it comes after, the bits are the child's.
  @inline(never)
  final func adoptActivation() {
    let generation = Thread.forkGeneration
    if generation == 0 { return }
    // relaxed: see above; the state word orders the steps.
    if readyExtras.sentIn.exchange(generation, ordering: .relaxed) == generation { return }
    if case .push(let band) = state.update({ $0.sendAnew() }) { answerSlow(.push(band)) }
  }

  /// As `pushActivation`, with a reference that the caller hands on.
  ///
  /// - Parameter fair: whether the lane has had its share and queues up behind the others.
  @inline(__always)
  final func submitActivation(_ reference: consuming Owned<Lane>, in band: Band, fair: Bool) {
    let job = Job(invoke: Lane.activation, band: band, owner: reference.intoWord())
    submitToTarget(job, fair: fair)
  }

  /// `extra` of an activation notes the target that it goes through, see `takeTurn`.
  @inline(__always)
  final func submitToTarget(_ job: Job, fair: Bool) {
    withTarget { target in
      job.extra = target.reference.word
      if !target.kind.isRunQueue {
        target.enqueueSlow(job)
      } else if fair {
        Engine.current.submitBehind(job)
      } else {
        Engine.current.submitUnordered(job)
      }
    }
  }

  /// Counts one more reader, if the lane is free of owners and barriers. The list has been found empty.
  @inline(__always)
  final func enterRead() -> Bool {
    state.attempt { isFull($0) || !$0.enterRead() ? nil : true } != nil
  }

  /// Whether the lane is full: as many readers run as its limit allows. A reader that finds it full waits in the list until
  /// one of them has finished.
  @inline(__always)
  final func isFull(_ state: LaneState) -> Bool {
    // relaxed: a limit that changes only while nothing runs.
    let width = width.load(ordering: .relaxed)
    return width != .max && state.readers >= Int(width)
  }

  /// Sends an admitted reader through the target, to run beside the others. It keeps the lane alive.
  final func redirect(_ job: Job) {
    let lane = Owned(self as Lane).intoWord()
    // unsafe: Targets.I1: the lane is read.
    targetWord.lane.unsafelyUnwrapped.use { target in
      // Readers start in order, so they go through the shared run queue, never through a worker's own slot.
      if target.kind.isRunQueue {
        // The run queues hold jobs by pointer: the job's own link is free to name the lane.
        job.link = lane
        job.inner = job.invoke
        job.invoke = Lane.redirected
        Engine.current.submit(job)
      } else {
        let wrapper = Job(invoke: Lane.redirectedInWrapper, qos: job.qos, band: job.band, owner: lane)
        wrapper.extra = job.raw
        target.enqueueSlow(wrapper)
      }
    }
  }

  /// Runs a reader that was redirected to a global queue.
  static let redirected: Job.Invoke = { raw in
    let job = Job(raw: raw)
    Lane.runReader(of: Owned(word: job.link!), job) { job.inner(job.raw) }
  }

  /// Runs a reader that was redirected to another lane.
  static let redirectedInWrapper: Job.Invoke = { raw in
    let wrapper = Job(raw: raw)
    let lane = Owned<Lane>(word: wrapper.owner!)
    let job = Job(raw: wrapper.extra!)
    wrapper.recycle()
    Lane.runReader(of: lane, job) { job.run() }
  }

  /// Runs an item as a reader of `lane`, and consumes the reference to it.
  @inline(__always)
  private static func runReader(of lane: consuming Owned<Lane>, _ job: Job, _ item: () -> Void) {
    lane.use { lane in
      var context = QueueContext()
      _withUnprotectedUnsafeMutablePointer(to: &context) { context in
        QueueContext.push(context, lane, .nothing)
        let worker = Worker.current
        lane.publishRunning(worker)
        if Recorder.isOn { lane.record(job, item) } else { item() }
        lane.withdrawRunning(worker, outer: context.pointee.outer)
        QueueContext.pop(context)
      }
      lane.leaveRead()
    }
    lane.release()
  }

  /// A reader has finished. If an item waits for readers to leave, this reader may take the lane over, and then passes it on.
  @inline(__always)
  final func leaveRead() {
    state.prepareUpdate()
    if state.update({ $0.leaveRead(Thread.id) }) == .owns { releaseOwnership() }
  }
}
