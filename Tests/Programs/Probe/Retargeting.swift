// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Synchronization

extension Scenario {
  static let retargeting: [String: Body] = [
    "retarget-in-use": { moveEverything(withMain: true) },
    "retarget-in-use-without-main": { moveEverything(withMain: false) }, "retarget-to-main": retargetToMain,
    "retarget-above-sync": retargetAboveSync,
    "retarget-to-passing": retargetToPassing,
  ]

  /// Queues on two levels change their targets – serial, concurrent, a workloop, main, global – while threads submit to
  /// them in every way. Each item checks exclusion on every queue of the chain that it runs through.
  private static func moveEverything(withMain: Bool) {
    let world = MovingWorld(withMain: withMain)
    _ = PlainThread {
      let submitting = Counter(4)
      let movers = (0..<2).map { number in
        PlainThread {
          var random = SeededRandom(seed: UInt64(900 + number))
          while submitting.value > 0 { world.move(&random) }
        }
      }
      PlainThread.concurrently(4) { number in
        var random = SeededRandom(seed: UInt64(100 + number))
        for _ in 0..<600 { world.submit(&random) }
        submitting.add(-1)
      }
      for mover in movers { mover.join() }
      report("settled", eventually { world.settled.value == 4 * 600 })
      report("faults", world.faults.values.first ?? "none")
      exit(0)
    }
    dispatchMain()
  }

  /// Threads call sync through one queue whose target comes and goes; above it a concurrent queue counts its readers.
  @Sendable private static func retargetAboveSync() {
    let home = DispatchQueue(label: "home", attributes: .concurrent)
    let middle = DispatchQueue(label: "middle")
    let (submitting, sum) = (Counter(2), Unprotected(0))
    let mover = PlainThread {
      while submitting.value > 0 {
        middle.setTarget(queue: home)
        middle.asyncAndWait {}
        middle.setTarget(queue: .global())
        middle.asyncAndWait {}
      }
    }
    PlainThread.concurrently(2) { number in
      let leaf = DispatchQueue(label: "leaf-\(number)", target: middle)
      for _ in 0..<rounds { leaf.sync { sum.value += 1 } }
      submitting.add(-1)
    }
    mover.join()
    let settled = Latch()
    home.async(flags: .barrier) { settled.open() }
    report("settled", settled.wait())
    report("sum", middle.sync { sum.value } == 2 * rounds)
  }

  private static let rounds = 5_000

  /// A queue's target moves to the main queue, and away again.
  @Sendable private static func retargetToMain() {
    let (target, other) = (DispatchQueue(label: "target"), DispatchQueue(label: "other"))
    let queue = DispatchQueue(label: "queue", target: target)
    let readers = DispatchQueue(label: "readers", attributes: .concurrent, target: target)
    DispatchQueue.global().async {
      report("before", queue.sync { isMainThread })
      target.setTarget(queue: .main)
      target.asyncAndWait {}
      report("moved", queue.sync { isMainThread })
      report("movedReader", readers.sync { isMainThread })
      report("movedBarrier", readers.sync(flags: .barrier) { isMainThread })
      report("movedAndWait", queue.asyncAndWait { isMainThread })
      target.setTarget(queue: other)
      target.asyncAndWait {}
      DispatchQueue.main.async {
        // A queue that has nothing to do with the main thread any more.
        report("back", queue.sync { true })
        report("backReader", readers.sync { true })
        exit(0)
      }
    }
    dispatchMain()
  }

  /// The targets are queues that nobody keeps but the queue itself, so each one goes with the next change.
  @Sendable private static func retargetToPassing() {
    let queue = DispatchQueue(label: "moving", target: DispatchQueue(label: "first"))
    let (submitting, ran) = (Counter(3), Counter())
    let mover = PlainThread {
      while submitting.value > 0 {
        queue.setTarget(queue: DispatchQueue(label: "passing"))
        queue.setTarget(queue: DispatchQueue(label: "passing", target: DispatchQueue(label: "below")))
        queue.asyncAndWait {}
      }
    }
    PlainThread.concurrently(3) { number in
      for index in 0..<1_000 {
        if (index + number) % 4 == 0 { queue.sync { _ = ran.add() } } else { queue.async { ran.add() } }
      }
      submitting.add(-1)
    }
    mover.join()
    report("ran", eventually { ran.value == 3_000 })
  }
}

/// A queue that knows whether an item is inside it.
private final class WatchedQueue: Sendable {
  let queue: DispatchQueue
  let isExclusive: Bool
  let key = DispatchSpecificKey<Bool>()
  private let isTaken = Atomic<Bool>(false)

  init(_ queue: DispatchQueue, isExclusive: Bool) {
    self.queue = queue
    self.isExclusive = isExclusive
    queue.setSpecific(key: key, value: true)
  }

  /// Whether the calling item runs through this queue.
  var isOnChain: Bool { DispatchQueue.getSpecific(key: key) ?? false }

  /// False if an item is inside.
  func enter() -> Bool {
    // relaxed: only the exchange itself counts, so that it orders nothing that the queue should.
    !isTaken.exchange(true, ordering: .relaxed)
  }

  func leave() {
    // relaxed: see `enter`.
    isTaken.store(false, ordering: .relaxed)
  }
}

/// Homes stay where they are; middles move among the homes, leaves among middles and homes.
private final class MovingWorld: Sendable {
  let homes: [WatchedQueue]
  let middles: [WatchedQueue]
  let leaves: [WatchedQueue]
  let exclusives: [WatchedQueue]
  let settled = Counter()
  let faults = Recorder<String>()

  init(withMain: Bool) {
    func serial(_ name: String) -> WatchedQueue { WatchedQueue(DispatchQueue(label: name), isExclusive: true) }
    func concurrent(_ name: String) -> WatchedQueue {
      WatchedQueue(DispatchQueue(label: name, attributes: .concurrent), isExclusive: false)
    }
    homes =
      [
        serial("home-a"), serial("home-b"), concurrent("home-c"),
        WatchedQueue(DispatchWorkloop(label: "home-w"), isExclusive: true),
        WatchedQueue(.global(), isExclusive: false),
      ] + (withMain ? [WatchedQueue(.main, isExclusive: true)] : [])
    middles = [serial("middle-a"), serial("middle-b"), concurrent("middle-c")]
    leaves = [serial("leaf-a"), serial("leaf-b"), concurrent("leaf-c"), serial("leaf-d")]
    exclusives = (homes + middles + leaves).filter(\.isExclusive)
  }

  func move(_ random: inout SeededRandom) {
    let movesMiddle = random.oneIn(2)
    let (movable, places) = movesMiddle ? (middles, homes) : (leaves, middles + homes)
    let queue = movable[random.below(movable.count)].queue
    queue.setTarget(queue: places[random.below(places.count)].queue)
    // Changes that wait for their turn do not pile up.
    if random.oneIn(4) { queue.asyncAndWait {} }
  }

  func submit(_ random: inout SeededRandom) {
    let all = leaves + leaves + middles
    let queue = all[random.below(all.count)].queue
    let flags: DispatchWorkItemFlags = random.oneIn(4) ? .barrier : []
    switch random.below(5) {
    case 0, 1: queue.sync(flags: flags) { check() }
    case 2: queue.asyncAndWait(flags: flags) { check() }
    default: queue.async(flags: flags) { self.check() }
    }
  }

  private func check() {
    let chain = exclusives.filter(\.isOnChain)
    for queue in chain where !queue.enter() { faults.note("two items at once on \(queue.queue.label)") }
    let isForMain = chain.contains { $0.queue === DispatchQueue.main }
    if isForMain, !isMainThread { faults.note("an item for the main thread on another one") }
    for queue in chain { queue.leave() }
    settled.add()
  }
}
