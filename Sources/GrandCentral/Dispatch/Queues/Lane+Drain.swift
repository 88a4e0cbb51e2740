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
    job.recycle()
    lane._withUnsafeGuaranteedRef { $0.takeTurn(on: target) }
  }

  private enum Outcome {
    /// The lane is given up, or somebody else's.
    case done
    /// The lane is given up with items left: its activation is the caller's to push.
    case relay
  }

  /// Drains the lane, if it is free; consumes the reference that the activation holds.
  ///
  /// An activation may have been overtaken by another one, and by a change of target: items of the lane must not run
  /// as items of a target that it has left, so such an activation only goes on to the new target.
  @inline(__always)
  private final func takeTurn(on target: UnsafeMutableRawPointer?) {
    let me = Thread.id
    var outcome = Outcome.done
    let arrived = state.update { $0.arrive(me) }
    if arrived, targetPointer != target {
      outcome = giveUp()
    } else if arrived {
      var frame = Frame()
      _withUnprotectedUnsafeMutablePointer(to: &frame) { frame in
        Frame.push(frame, self, .nothing)
        let worker = Worker.current
        publishRunning(worker)
        outcome = drain(worker)
        withdrawRunning(worker, outer: frame.pointee.previous)
        Frame.pop(frame)
      }
    }
    let reference = Unmanaged.passUnretained(self)
    switch outcome {
    case .done: reference.release()
    case .relay: submitActivation(reference.toOpaque(), fair: true)
    }
  }

  /// Main thread: drains the main queue; its reference is nobody's, it lives for ever.
  ///
  /// - Returns: whether items are left.
  final func drainOnMain() -> Bool {
    guard state.update({ $0.arrive(Thread.id) }) else { return false }
    var frame = Frame()
    return _withUnprotectedUnsafeMutablePointer(to: &frame) { frame in
      Frame.push(frame, self, .nothing)
      let outer = gc_thread_self().pointee.qos
      let outcome = drain(nil)
      gc_thread_self().pointee.qos = outer
      Frame.pop(frame)
      if case .relay = outcome { return true }
      return false
    }
  }

  /// Runs items until the list is empty, the lane is halted or handed over, or the turn is over.
  @inline(__always)
  private final func drain(_ worker: Worker.Pointer?) -> Outcome {
    // relaxed: says when to look for more urgent work; it may rise later, and then another activation comes.
    var turn = Turn(worker, urgency: state.load(ordering: .relaxed).urgency)
    while true {
      // relaxed: suspension takes effect between items; `rest` decides.
      if state.load(ordering: .relaxed).isHalted {
        if state.update({ $0.rest() }) == .done { return .done }
        continue
      }
      guard let job = first() else {
        if turn.linger(for: self) { continue }
        if state.update({ $0.finish() }) == .done { return .done }
        continue
      }
      switch step(job) {
      case .ran: if turn.isOver() { return giveUp() }
      case .moved: continue
      case .gone: return .done
      case .retargeted: return giveUp()
      }
    }
  }

  private final func giveUp() -> Outcome {
    state.update { $0.relay() }
    return .relay
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
    // relaxed: only the owner, this thread, admits readers while it owns the lane.
    let seen = state.load(ordering: .relaxed)
    let full = isFull(seen) || seen.readers >= Int(LaneState.ownerMask) - 1
    if flags.contains(.barrier) || full {
      if !state.update({ $0.beginBarrier() }) { return .gone }
      if flags.contains(.barrier) {
        take(job)
        if flags.contains(.waiter) {
          handOver(to: job)
          return .gone
        }
        job.run()
        return flags.contains(.retarget) ? .retargeted : .ran
      }
    }
    take(job)
    state.update { $0.admit() }
    if flags.contains(.waiter) { WaiterNode.wake(job) } else { redirect(job) }
    return .moved
  }

  /// The item whose turn it is, left in its place. Owner only.
  @inline(__always)
  final func first() -> Job? {
    if let shelves { return shelves.pointee.first(from: items) }
    return items.head().map { Job(raw: $0) }
  }

  /// Takes off the item that `first` has shown. Owner only.
  @inline(__always)
  final func take(_ job: Job) {
    if let shelves {
      shelves.pointee.take()
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
      guard flags.contains(.waiter) else { return relayToWorker() }
      if kind != .concurrent || flags.contains(.barrier) {
        if kind == .concurrent, !state.update({ $0.beginBarrier() }) { return }
        take(job)
        return handOver(to: job)
      }
      // relaxed: only the owner admits readers.
      let seen = state.load(ordering: .relaxed)
      if isFull(seen) || seen.readers >= Int(LaneState.ownerMask) - 1 { return relayToWorker() }
      take(job)
      state.update { $0.admit() }
      WaiterNode.wake(job)
    }
  }

  private final func relayToWorker() {
    // Retained first: once the lane is given up, it may drain and die.
    let reference = Unmanaged.passRetained(self)
    state.update { $0.relay() }
    if kind == .main {
      reference.release()
      MainLoop.signal()
    } else {
      submitActivation(reference.toOpaque(), fair: false)
    }
  }

  // MARK: For reports

  @inline(__always)
  final func publishRunning(_ worker: Worker.Pointer?) {
    // relaxed: the inspector's barrier orders it, see Inspection.swift.
    worker?.pointee.runningLane.store(Unmanaged.passUnretained(self).toOpaque(), ordering: .relaxed)
  }

  @inline(__always)
  final func withdrawRunning(_ worker: Worker.Pointer?, outer: UnsafeMutableRawPointer?) {
    guard let worker else { return }
    // relaxed: see above. The enclosing frame's lane, if any, is still held by whoever runs it.
    worker.pointee.runningLane.store(
      outer?.assumingMemoryBound(to: Frame.self).pointee.queue, ordering: .relaxed)
    Engine.shared.pointee.inspection.passWhileInspected()
  }
}
