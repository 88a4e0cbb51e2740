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
    let (wanted, flags) = handlers[role].map { ($0.qos, $0.flags) } ?? (.unspecified, [])
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
}
