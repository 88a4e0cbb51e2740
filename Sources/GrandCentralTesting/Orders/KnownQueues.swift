// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

/// What the queues of a run are, by their numbers.
struct KnownQueues {
  private struct Queue {
    let kind: SimulationSupport.QueueKind
    /// Itself and its targets, without global queues.
    let chain: [UInt]
    /// Those of them that are serial.
    let serial: [UInt]
  }

  private var known: [UInt32: Queue] = [:]
  /// Whether each one was a queue that the library could tell of.
  private(set) var areAllKnown = true
  /// Whether any of them, or a target of one, chooses by priority.
  private(set) var areSorted = false

  mutating func kind(_ number: UInt32) -> SimulationSupport.QueueKind { queue(number).kind }
  mutating func chain(_ number: UInt32) -> [UInt] { queue(number).chain }
  mutating func serial(_ number: UInt32) -> [UInt] { queue(number).serial }

  /// The number may be another queue's from now on.
  mutating func forget(_ number: UInt32) { known[number] = nil }

  private mutating func queue(_ number: UInt32) -> Queue {
    if let queue = known[number] { return queue }
    var (chain, serial): ([UInt], [UInt]) = ([], [])
    let own = SimulationSupport.queue(number)
    if own.kind == .other { areAllKnown = false }
    var (next, each) = (number, own)
    while each.kind != .global, !chain.contains(UInt(next)) {
      chain.append(UInt(next))
      if each.kind == .sorted { areSorted = true }
      if each.kind == .serial { serial.append(UInt(next)) }
      if each.target == 0 { break }
      next = each.target
      each = SimulationSupport.queue(next)
    }
    let queue = Queue(kind: own.kind, chain: chain, serial: serial)
    known[number] = queue
    return queue
  }
}
