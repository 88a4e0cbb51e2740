// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral

/// A queue of a life, and how many items are on it.
final class FuzzQueue: Sendable {
  enum Kind: String { case serial, concurrent, limited, workloop, main }

  /// What one submitter knows of its numbered items here.
  final class Ledger: Sendable {
    let (finished, barriersFinished) = (Counter(), Counter())
    /// Written by the submitter only.
    let (numbered, barriers) = (Unprotected(0), Unprotected(0))
  }

  let tree: Int
  let number: Int
  let kind: Kind
  let limit: Int
  let isInactive: Bool
  let ledgers: [Ledger]
  private let held: Guarded<DispatchQueue?>
  /// Set on this queue alone. Items find it that run on this queue or above it.
  private let key = DispatchSpecificKey<Token>()
  private let inside = Counter()
  /// Whether it may have been activated, if it was made inactive.
  private let activations = Counter()
  private static let alone = 1 << 32

  var queue: DispatchQueue { held.with { $0! } }
  var isConcurrent: Bool { kind == .concurrent || kind == .limited }
  /// Whether items run in the order of their submission, one by one.
  var isOrdered: Bool { kind == .serial || kind == .main }
  var mayMove: Bool { kind != .main && kind != .workloop }

  init(tree: Int, number: Int, target: FuzzQueue?, threads: Int, _ tokens: Counter, _ random: inout SeededRandom) {
    let classes: [DispatchQoS] = [.unspecified, .unspecified, .background, .utility, .default, .userInitiated]
    let qos = classes[random.below(classes.count)]
    let choice = random.below(10)
    kind = choice < 5 ? .serial : choice < 7 ? .concurrent : choice < 9 || target != nil ? .limited : .workloop
    limit = kind == .limited ? 1 + random.below(4) : kind == .concurrent ? Int.max : 1
    isInactive = kind != .limited && kind != .workloop && random.oneIn(6)
    let label = "\(kind)-\(tree)-\(number)"
    var attributes: DispatchQueue.Attributes = isInactive ? .initiallyInactive : []
    let made: DispatchQueue
    switch kind {
    case .workloop: made = DispatchWorkloop(label: label)
    case .limited: made = DispatchQueue(label: label, qos: qos, maximumConcurrency: limit, target: target?.queue)
    default:
      if kind == .concurrent { attributes.insert(.concurrent) }
      made = DispatchQueue(label: label, qos: qos, attributes: attributes, target: target?.queue)
    }
    held = Guarded(made)
    (self.tree, self.number) = (tree, number)
    ledgers = (0..<threads).map { _ in Ledger() }
    made.setSpecific(key: key, value: Token(tokens))
  }

  init(main tree: Int, threads: Int, _ tokens: Counter) {
    (self.tree, number, kind, limit, isInactive) = (tree + 1, 0, .main, 1, false)
    held = Guarded(.main)
    ledgers = (0..<threads).map { _ in Ledger() }
    DispatchQueue.main.setSpecific(key: key, value: Token(tokens))
  }

  /// Whether the current item runs on this queue or above it.
  var isBelow: Bool { DispatchQueue.getSpecific(key: key) != nil }

  func activate() {
    activations.add()
    queue.activate()
  }

  func enter(asBarrier: Bool, _ life: Life) {
    if isInactive, activations.value == 0 { life.fail("an item runs before the activation of \(state)") }
    let now = inside.add(asBarrier ? Self.alone : 1)
    if asBarrier ? now != Self.alone : now > limit {
      life.fail("\(now / Self.alone) alone and \(now % Self.alone) others at once on \(state)")
    }
  }

  func leave(asBarrier: Bool) { inside.add(asBarrier ? -Self.alone : -1) }

  func letGo() {
    if kind == .main { queue.setSpecific(key: key, value: nil) }
    held.with { $0 = nil }
  }

  var state: String {
    let waiting = ledgers.reduce(0) { $0 + $1.numbered.value - $1.finished.value }
    let queue = held.with { $0 }
    return
      "\(queue?.description ?? "a queue that was let go"), inside \(inside.value), numbered items to come \(waiting)"
  }
}
