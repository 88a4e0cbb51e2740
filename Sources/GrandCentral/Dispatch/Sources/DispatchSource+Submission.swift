// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// How a source's job comes to its target.
extension DispatchSource {
  /// SourceState.V1: sends the job through the target.
  final func submit() {
    // relaxed: the submitter has set it; if it changes meanwhile, `begin` takes care of the barrier.
    let role = state.load(ordering: .relaxed).dueRole
    lock.lock()
    let target = target
    // SourceState.V11: without a registration handler the event comes in its place.
    let (wanted, flags) =
      handlers.wishes(of: role) ?? (role == .registration ? handlers.wishes(of: .event) : nil) ?? (.unspecified, [])
    lock.unlock()
    let base = target.base
    // relaxed: a hint for where to queue.
    let least = QoSWord(rawValue: floor.load(ordering: .relaxed))
    let qos = (wanted.isUnspecified ? base : target.effectiveQoS(wanted, flags)).merged(with: least)
    let job = Job(
      invoke: DispatchSource.step, flags: flags.contains(.barrier) ? .barrier : [], qos: qos.rawValue, band: qos.band,
      owner: Borrowed(self).word)
    target.enqueueSlow(job)
  }

  @inline(__always)
  final func pay(_ debt: SourceState.Debt) {
    if debt == .nothing { return }
    // The last touch: the source may end with it.
    if debt == .release { Borrowed(self).giveBack() } else { submit() }
  }

  /// SourceState.V12: a step that may need the source's own reference, by a thread that has another one.
  @inline(never)
  @_optimize(size)
  final func wakeUp(_ step: (inout SourceState) -> SourceState.Debt = { $0.wakeUp() }) {
    // Before the step, as `activate` does.
    let own = Owned(self).give()
    let (debt, keeps) = state.update { state in
      let kept = state.keepsItself
      let debt = step(&state)
      return (debt, state.keepsItself && !kept)
    }
    pay(debt)
    if !keeps { own.giveBack() }
  }

  /// Submits the cancel handler that the source has got after its end, unless the source is suspended: then `resume` does it.
  @_optimize(size)
  final func submitLate() {
    lock.lock()
    // relaxed: written under the lock.
    let isOver = barriers.load(ordering: .relaxed) & SourceHandlers.Roles.taken != 0
    // A `resume` that comes after this look finds the handler.
    let handler = isOver && !state.load().isSuspended ? handlers.cancel : nil
    if handler != nil { handlers[.cancel] = nil }
    let target = target
    lock.unlock()
    guard let handler else { return }
    // It may ask for the source's context, and the program may give up its last reference meanwhile.
    target.enqueueSlow(
      target.makeJob(handler.qos, handler.flags) { withExtendedLifetime(self) { handler.body() } })
  }
}
