// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// The pusher's side of a lane: putting an item in, and making the lane runnable.
extension DispatchQueue {
  /// Puts `job` behind everything that was put in before.
  @inline(__always)
  final func enqueue(_ job: Job) {
    switch kind {
    case .serial, .main, .workloop: push(job)
    case .global:
      if job.qos != ownQoS.rawValue { nameQueue(of: job) }
      Engine.shared.pointee.submit(job)
    case .concurrent: enqueueConcurrent(job)
    case .pooled: enqueueCounted(job)
    }
  }

  /// A global queue's items have no context: their band tells which queue they belong to. An item of another quality of
  /// service than its queue's is in another band, and brings the queue along.
  @inline(never)
  private final func nameQueue(of job: Job) {
    if job.band == ownQoS.band { return }
    // The run queues hold jobs by pointer: the job's own link is free. Global queues live for ever.
    job.link = Unmanaged.passUnretained(self).toOpaque()
    job.inner = job.invoke
    job.invoke = DispatchQueue.inOtherBand
  }

  private static let inOtherBand: Job.Invoke = { raw in
    let job = Job(raw: raw)
    var context = QueueContext()
    _withUnprotectedUnsafeMutablePointer(to: &context) { context in
      // unsafe: see `nameQueue`.
      Unmanaged<DispatchQueue>.fromOpaque(job.link!)._withUnsafeGuaranteedRef {
        QueueContext.push(context, $0, .nothing)
      }
      job.inner(raw)
      QueueContext.pop(context)
    }
  }

  /// A reader that finds no item before it needs no drainer: it goes to the target directly.
  @inline(never)
  private final func enqueueConcurrent(_ job: Job) {
    if !job.flags.contains(.barrier), items.tailIsNil, enterRead() {
      redirect(job)
    } else {
      push(job)
    }
  }

  @inline(__always)
  final func push(_ job: Job) {
    let urgency = Urgency.of(job.band)
    if items.push(job.raw) {
      answer(state.update { $0.announce(urgency: urgency) })
      return
    }
    // relaxed: a hint; `overtake` decides.
    if state.load(ordering: .relaxed).urgency < urgency { overtake(urgency) }
  }

  /// The lane is on its way in a less urgent band than its newest item asks for.
  @inline(never)
  final func overtake(_ urgency: UInt8) {
    answer(state.update { $0.overtake(urgency: urgency) })
  }

  /// Contract.W4: somebody more urgent waits for one of the lane's items.
  final func boost(_ urgency: UInt8) {
    if kind != .global { answer(state.update { $0.boost(urgency: urgency) }) }
  }

  /// Lane.L3: does what the step that led to `call` has left to its caller, who keeps the lane alive meanwhile.
  @inline(__always)
  final func answer(_ call: LaneState.Call) {
    switch call {
    case .nothing: break
    case .push(let band): pushActivation(in: band)
    case .adopt: adoptActivation()
    }
  }

  /// Sends the lane through its target. The activation keeps the lane alive.
  @inline(__always)
  private final func pushActivation(in band: Band) {
    if kind == .main {
      MainLoop.signal()
    } else {
      submitActivation(Unmanaged.passRetained(self).toOpaque(), in: band, fair: false)
    }
  }

  /// Lane.L8: an activation in the lane's band is on its way, and serves the lane when it arrives.
  ///
  /// In a forked child it may be the parent's, and never arrive. The first thread of the child that adopts one forgets
  /// all that are on their way, and sends the lane anew. Others that adopt one meanwhile leave that to it: if their step
  /// comes before its own, it finds the lane enqueued; if it comes after, the bits are the child's.
  @inline(never)
  final func adoptActivation() {
    let generation = Thread.forkGeneration
    if generation == 0 { return }
    // relaxed: see above; the state word orders the steps.
    if readyExtras.sentIn.exchange(generation, ordering: .relaxed) == generation { return }
    if case .push(let band) = state.update({ $0.sendAnew() }) { pushActivation(in: band) }
  }

  /// As `pushActivation`, with a reference that the caller hands on.
  ///
  /// - Parameter fair: whether the lane has had its share and queues up behind the others.
  @inline(__always)
  final func submitActivation(_ retained: UnsafeMutableRawPointer, in band: Band, fair: Bool) {
    let job = Job(invoke: DispatchQueue.activation, band: band, owner: retained)
    submitToTarget(job, fair: fair)
  }

  /// `extra` of an activation notes the target that it goes through, see `takeTurn`.
  @inline(__always)
  final func submitToTarget(_ job: Job, fair: Bool) {
    withTarget { target in
      job.extra = Unmanaged.passUnretained(target).toOpaque()
      if target.kind != .global {
        target.enqueue(job)
      } else if fair {
        Engine.shared.pointee.submit(job)
      } else {
        Engine.shared.pointee.submitUnordered(job)
      }
    }
  }

  /// Takes the width for one more reader, if the lane is free of owners and barriers. The list has been found empty.
  @inline(__always)
  final func enterRead() -> Bool {
    state.attempt { isFull($0) || !$0.enterRead() ? nil : true } != nil
  }

  /// Whether as many items run as may. A reader that finds it so waits in the list until one of them has finished.
  @inline(__always)
  final func isFull(_ state: LaneState) -> Bool {
    // relaxed: a limit that changes only while nothing runs.
    let width = width.load(ordering: .relaxed)
    return width != .max && state.readers >= Int(width)
  }

  /// Sends an admitted reader through the target, to run beside the others. It keeps the lane alive.
  final func redirect(_ job: Job) {
    let lane = Unmanaged.passRetained(self).toOpaque()
    // unsafe: Targets.I1: the lane is read.
    Unmanaged<DispatchQueue>.fromOpaque(targetPointer.unsafelyUnwrapped)._withUnsafeGuaranteedRef { target in
      // Readers start in order, so they go through the shared run queue, never through a worker's own slot.
      if target.kind == .global {
        // The run queues hold jobs by pointer: the job's own link is free to name the lane.
        job.link = lane
        job.inner = job.invoke
        job.invoke = DispatchQueue.redirected
        Engine.shared.pointee.submit(job)
      } else {
        let wrapper = Job(invoke: DispatchQueue.redirectedInWrapper, band: job.band, owner: lane)
        wrapper.extra = job.raw
        target.enqueue(wrapper)
      }
    }
  }

  /// Runs a reader that was redirected to a global queue.
  static let redirected: Job.Invoke = { raw in
    let job = Job(raw: raw)
    DispatchQueue.runReader(of: Unmanaged.fromOpaque(job.link!)) { job.inner(job.raw) }
  }

  /// Runs a reader that was redirected to another lane.
  static let redirectedInWrapper: Job.Invoke = { raw in
    let wrapper = Job(raw: raw)
    let lane = Unmanaged<DispatchQueue>.fromOpaque(wrapper.owner!)
    let job = Job(raw: wrapper.extra!)
    wrapper.recycle()
    DispatchQueue.runReader(of: lane) { job.run() }
  }

  /// Runs an item as a reader of `lane`, and consumes the reference to it.
  @inline(__always)
  private static func runReader(of lane: Unmanaged<DispatchQueue>, _ item: () -> Void) {
    lane._withUnsafeGuaranteedRef { lane in
      var context = QueueContext()
      _withUnprotectedUnsafeMutablePointer(to: &context) { context in
        QueueContext.push(context, lane, .nothing)
        let worker = Worker.current
        lane.publishRunning(worker)
        item()
        lane.withdrawRunning(worker, outer: context.pointee.previous)
        QueueContext.pop(context)
      }
      lane.leaveRead()
    }
    lane.release()
  }

  /// A reader has finished; the last one sees to a barrier that waits for it.
  @inline(__always)
  final func leaveRead() {
    state.prepareUpdate()
    if state.update({ $0.leaveRead(Thread.id) }) { releaseOwnership() }
  }
}
