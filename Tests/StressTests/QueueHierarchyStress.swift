// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("Random queues under stress", .serialized)
struct QueueHierarchyStress {
  @Test("Q1, Q2, Q3, Q8, Q10, O4: random operations on random hierarchies keep every promise")
  func randomHierarchies() {
    let seed = Stress.seed("random hierarchies")
    var random = SeededRandom(seed: seed)
    let deadline = Stress.deadline()
    var rounds = 0
    repeat {
      let world = StressWorld(seed: random.next())
      let seeds = (0..<StressWorld.submitters).map { _ in random.next() }
      PlainThread.concurrently(StressWorld.submitters) { number in
        var submitter = Submitter(number: number, world: world, seed: seeds[number])
        submitter.run(operations: 150)
      }
      let settled = eventually { world.settled.value == world.submitted.value }
      #expect(settled, "seed \(seed): \(world.settled.value) of \(world.submitted.value) items ended")
      #expect(world.faults.values == [], "seed \(seed), round \(rounds)")
      rounds += 1
      if !settled { return }
    } while Stress.runs(until: deadline)
  }
}

/// One thread that does whatever comes to its mind.
private struct Submitter {
  let number: Int
  let world: StressWorld
  var random: SeededRandom
  let group = DispatchGroup()
  let notified = Counter()
  var notifications = 0

  init(number: Int, world: StressWorld, seed: UInt64) {
    self.number = number
    self.world = world
    random = SeededRandom(seed: seed)
  }

  mutating func run(operations: Int) {
    for _ in 0..<operations { operate() }
    group.wait()
    let (all, seen) = (notifications, notified)
    if !eventually({ seen.value == all }) { world.faults.note("\(seen.value) of \(all) notifications came") }
  }

  private mutating func pick() -> (queue: StressQueue, tree: Int) {
    if random.oneIn(6) { return world.wanderers[random.below(world.wanderers.count)] }
    let tree = random.below(world.trees.count)
    return (world.trees[tree][random.below(world.trees[tree].count)], tree)
  }

  private mutating func operate() {
    let (target, tree) = pick()
    let asBarrier = random.oneIn(4)
    let flags: DispatchWorkItemFlags = asBarrier ? .barrier : []
    switch random.below(20) {
    case 0...6:
      target.queue.async(flags: flags, execute: item(target, asBarrier))
    case 7:
      target.queue.async(group: group, qos: .utility, flags: flags, execute: item(target, asBarrier))
    case 8, 9:
      target.queue.sync(flags: flags, execute: item(target, asBarrier))
    case 10:
      target.queue.asyncAndWait(flags: flags, execute: item(target, asBarrier))
    case 11:
      delay(target, asBarrier)
    case 12:
      cancel(target)
    case 13, 14:
      suspend(target)
    case 15:
      let wanderer = world.wanderers[random.below(world.wanderers.count)]
      let homes = world.trees[wanderer.tree]
      wanderer.queue.queue.setTarget(queue: homes[random.below(homes.count)].queue)
    case 16, 17:
      reachOver(target, tree, asBarrier)
    case 18:
      notifications += 1
      group.notify(queue: target.queue) { [notified] in notified.add() }
    default:
      if random.oneIn(4) { group.wait() }
    }
  }

  private func item(_ target: StressQueue, _ asBarrier: Bool) -> @Sendable () -> Void {
    world.numberedItem(on: target, submitter: number, asBarrier: asBarrier)
  }

  private mutating func delay(_ target: StressQueue, _ asBarrier: Bool) {
    let due = DispatchTime.now() + .microseconds(random.below(3_000))
    let (item, faults) = (world.looseItem(on: target, asBarrier: asBarrier), world.faults)
    target.queue.asyncAfter(deadline: due, flags: asBarrier ? .barrier : []) {
      if DispatchTime.now() < due { faults.note("a delayed item came early") }
      item()
    }
  }

  /// A work item that is cancelled sooner or later: it runs, or it has been cancelled, or both.
  private mutating func cancel(_ target: StressQueue) {
    let (body, runs) = (world.looseItem(on: target, asBarrier: false), Counter())
    let item = DispatchWorkItem {
      runs.add()
      body()
    }
    if random.oneIn(2) { item.cancel() }
    target.queue.async(execute: item)
    if random.oneIn(2) { item.cancel() }
    item.notify(queue: .global()) { [world] in
      if runs.value == 0 {
        if !item.isCancelled { world.faults.note("a work item that nobody cancelled did not run") }
        world.settled.add()
      } else if runs.value > 1 {
        world.faults.note("a work item ran \(runs.value) times")
      }
    }
  }

  /// While it is suspended this thread waits for nothing, so that no two threads can wait for each other.
  private mutating func suspend(_ target: StressQueue) {
    let depth = 1 + random.below(3)
    for _ in 0..<depth { target.queue.suspend() }
    for _ in 0..<random.below(6) {
      let (other, _) = pick()
      let asBarrier = random.oneIn(4)
      other.queue.async(flags: asBarrier ? .barrier : [], execute: item(other, asBarrier))
    }
    for _ in 0..<depth { target.queue.resume() }
  }

  /// An item that waits, inside, for an item of a higher tree.
  private mutating func reachOver(_ target: StressQueue, _ tree: Int, _ asBarrier: Bool) {
    guard tree + 1 < world.trees.count else { return }
    let higher = world.trees[tree + 1 + random.below(world.trees.count - tree - 1)]
    let other = higher[random.below(higher.count)]
    let inner = world.looseItem(on: other, asBarrier: false)
    let outer = world.numberedItem(on: target, submitter: number, asBarrier: asBarrier) {
      other.queue.sync(execute: inner)
    }
    target.queue.async(flags: asBarrier ? .barrier : [], execute: outer)
  }
}
