// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// Suspension. The count is kept beside the state, under a lock; the state word carries one bit: "count > 0".
extension Lane {
  /// Holds back new items until `resume()`; the one that runs now finishes. Calls nest.
  ///
  /// A global queue and the main queue take no notice of it.
  final func suspendLane() {
    if kind.isBuiltIn { return }
    let extras = readyExtras
    // Not with the lock: it takes system calls.
    InsightRegion.makeAndAwait()
    extras.lock.lock()
    extras.suspensions += 1
    if extras.suspensions == 1 { state.update { $0.suspend() } }
    noteSuspensions(extras.suspensions, .suspend)
    extras.lock.unlock()
  }

  /// Takes back one `suspend()`. Traps (GC0001) if there was none.
  ///
  /// A queue created inactive is activated by its first surplus `resume()`, as by `activate()`.
  final func resumeLane() {
    if kind.isBuiltIn { return }
    Sanitizer.comesBefore(reference.word)
    // Lane.L10
    reference.keep()
    defer { reference.giveBack() }
    let extras = readyExtras
    extras.lock.lock()
    var call = LaneState.Call.nothing
    if extras.suspensions > 0 {
      extras.suspensions -= 1
      if extras.suspensions == 0 { call = state.update { $0.resume() } }
      noteSuspensions(extras.suspensions, .resume)
      extras.lock.unlock()
    } else {
      extras.lock.unlock()
      // relaxed: `activate` decides.
      if !state.load(ordering: .relaxed).has(LaneState.inactive) { faultResumeWithoutSuspend() }
      activateLane()
    }
    answerSlow(call)
  }

  /// Lets a queue that was created inactive begin its work. Does nothing the second time.
  final func activateLane() {
    // relaxed: set at creation, and cleared once.
    guard state.load(ordering: .relaxed).has(LaneState.inactive) else { return }
    Sanitizer.comesBefore(reference.word)
    // Lane.L10
    reference.keep()
    defer { reference.giveBack() }
    // A thread that changes the target of an inactive lane relies on the lane's being inactive meanwhile.
    Lane.holdHierarchy(true)
    // Another thread may have been faster, and the target may be a later one by now, which is not kept.
    // relaxed: cleared with the lock held.
    guard state.load(ordering: .relaxed).has(LaneState.inactive) else { return Lane.holdHierarchy(false) }
    // relaxed: the target of an inactive lane stands still meanwhile.
    if Recorder.isOn, state.load(ordering: .relaxed).has(LaneState.nested) { World.goBeyondOrders(.activation) }
    keepTarget()
    let call = state.update { $0.activate() }
    Lane.holdHierarchy(false)
    noteActivation()
    answerSlow(call)
  }

  @inline(never)
  private final func faultResumeWithoutSuspend() -> Never {
    Fault.misuse(
      .resumeWithoutSuspend,
      "DispatchQueue.resume on \"" + name
        + "\" has no suspend to take back. Call resume exactly once for each suspend.")
  }
}
