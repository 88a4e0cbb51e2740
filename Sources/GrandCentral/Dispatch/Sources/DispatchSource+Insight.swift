// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// What other processes may know of a source. All of it runs only where objects are listed, or while recording is on.
extension DispatchSource {
  /// The number that a record gets: one is given now if a tool records. In a simulation sources have none.
  final var insightNumber: UInt32 {
    let known = insight.known
    return known != 0 || InsightLayout.switches & InsightLayout.Switch.record == 0 ? known : enterInsight()
  }

  /// Gives the source a number, unless it has one; and its target, so that a tool can name it.
  @inline(never)
  @discardableResult
  @_optimize(size)
  final func enterInsight() -> UInt32 {
    lock.lock()
    let target = target
    lock.unlock()
    var facts = InsightObjects.Facts(kind: insightKind, address: Borrowed(self).word, label: kindName)
    facts.target = target.insightNumber
    facts.begin = state.load().shown
    facts.state.handle = UInt64(handle)
    // A timer's schedule comes with its next change.
    facts.state.due = .max
    return insight.give(facts)
  }

  /// The source is suspended, resumed, activated or cancelled.
  @inline(never)
  final func noteState() {
    InsightObjects.setState(insight.known) { state.load().shown }
  }

  @inline(never)
  final func noteDelivery(of data: UInt) {
    Recorder.note(.source, queue: insightNumber, word: UInt64(data))
    // relaxed: only the thread itself compares it.
    deliverer.store(Thread.id, ordering: .relaxed)
  }

  @inline(never)
  final func noteDeliveryEnd() {
    // relaxed: see `noteDelivery`.
    deliverer.store(0, ordering: .relaxed)
  }

  @inline(never)
  @_optimize(size)
  final func tellChangeSlow(_ timer: UInt8) {
    World.tell(World.changes, on: self, timer: self is TimedSource ? timer : World.done)
  }

  /// In a simulation: the step that follows reads what another thread may deliver.
  @inline(never)
  final func tellLookAtData() {
    // relaxed: see `noteDelivery`.
    if deliverer.load(ordering: .relaxed) != Thread.id { World.tell(World.looks, on: self) }
  }

  @inline(never)
  @_optimize(size)
  final func noteTarget(_ target: DispatchQueue) {
    let number = target.insightNumber
    InsightObjects.retarget(insight.known, number)
  }
}

extension SourceState {
  fileprivate var shown: InsightObjects.State {
    InsightObjects.State(
      suspensions: UInt32(truncatingIfNeeded: rawValue / Self.suspension), isInactive: has(Self.inactive),
      isCancelled: has(Self.cancelled))
  }
}
