// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

/// One thread that does whatever comes to its mind.
struct Submitter {
  let number: Int
  let life: Life
  var random: SeededRandom
  let group = DispatchGroup()
  let inGroup = Counter()

  init(number: Int, life: Life) {
    self.number = number
    self.life = life
    random = SeededRandom(seed: life.seed &* 31 &+ UInt64(number))
  }

  mutating func run() {
    if life.isConvoy {
      for _ in 0..<(2 + random.below(4)) { perform() }
      return
    }
    for _ in 0..<(1200 / life.threads) { operate() }
    awaitGroup()
  }

  // MARK: Items

  /// The checks around one item.
  private static func occupy(_ queue: FuzzQueue, _ life: Life, asBarrier: Bool, _ body: () -> Void) {
    let chain = life.trees[queue.tree].filter(\.isBelow)
    if !chain.contains(where: { $0 === queue }) { life.fail("an item of \(queue.state) runs elsewhere") }
    // Nothing else is on a serial queue; one place is enough to say so.
    for link in chain { link.enter(asBarrier: asBarrier && link === queue && link.isConcurrent, life) }
    body()
    for link in chain { link.leave(asBarrier: asBarrier && link === queue && link.isConcurrent) }
    life.settled.add()
  }

  /// An item without a place in the order.
  private func loose(
    _ queue: FuzzQueue, _ asBarrier: Bool, _ body: @escaping @Sendable () -> Void = {}
  ) -> @Sendable () -> Void {
    life.submitted.add()
    let (life, token) = (life, life.token())
    let runs = Counter()
    return {
      token.visit()
      if runs.add() != 1 { life.fail("an item of \(queue.state) ran twice") }
      Self.occupy(queue, life, asBarrier: asBarrier, body)
    }
  }

  /// An item whose place in the order is taken here.
  private func numbered(
    _ queue: FuzzQueue, _ asBarrier: Bool, _ body: @escaping @Sendable () -> Void = {}
  ) -> @Sendable () -> Void {
    let ledger = queue.ledgers[number]
    let (place, barriers) = (ledger.numbered.value, ledger.barriers.value)
    ledger.numbered.value += 1
    if asBarrier { ledger.barriers.value += 1 }
    let (life, submitter) = (life, number)
    return loose(queue, asBarrier) {
      let (finished, barriersFinished) = (ledger.finished.value, ledger.barriersFinished.value)
      if finished != place, queue.isOrdered || asBarrier && queue.isConcurrent {
        life.fail("item \(place) of thread \(submitter) ran after \(finished) others on \(queue.state)")
      }
      if queue.isConcurrent, barriersFinished != barriers {
        life.fail(
          "item \(place) of thread \(submitter) saw \(barriersFinished), not \(barriers) barriers on \(queue.state)")
      }
      body()
      ledger.finished.add()
      if asBarrier { ledger.barriersFinished.add() }
    }
  }

  // MARK: Operations

  private mutating func pick(above tree: Int = -1) -> FuzzQueue {
    let queues = life.trees[tree + 1 + random.below(life.trees.count - tree - 1)]
    return queues[random.below(queues.count)]
  }

  private mutating func operate() {
    let queue = pick()
    let asBarrier = random.oneIn(4)
    let flags: DispatchWorkItemFlags = asBarrier ? .barrier : []
    switch random.below(27) {
    case 0...6: queue.queue.async(flags: flags, execute: numbered(queue, asBarrier))
    case 7, 8: queue.queue.async(execute: numbered(queue, false, Self.pause(random.below(60))))
    case 9: submitToGroup(queue)
    case 10, 11, 12: queue.queue.sync(flags: flags, execute: numbered(queue, asBarrier))
    case 13: queue.queue.asyncAndWait(flags: flags, execute: numbered(queue, asBarrier))
    case 14: delay(queue, asBarrier)
    case 15: submitWorkItem(queue)
    case 16: suspend(queue)
    case 17, 18, 19: move(queue)
    case 20: reachOver(queue, asBarrier)
    case 21: exchangeSignals(queue)
    case 22: if random.oneIn(8) { perform() }
    case 23: performInside(queue)
    case 24: resubmit(queue)
    case 25: raceTimeouts(queue)
    default: if random.oneIn(4) { awaitGroup() }
    }
  }

  private static func pause(_ microseconds: Int) -> @Sendable () -> Void {
    { if microseconds > 0 { spin(microseconds) } }
  }

  private static func spin(_ microseconds: Int) {
    let end = monotonicNanoseconds() + UInt64(microseconds) * 1000
    while monotonicNanoseconds() < end {}
  }

  private mutating func submitToGroup(_ queue: FuzzQueue) {
    inGroup.add()
    let inGroup = inGroup
    let item = numbered(queue, false) { inGroup.add(-1) }
    if random.oneIn(2) { return queue.queue.async(group: group, execute: item) }
    group.enter()
    let group = group
    queue.queue.async {
      item()
      group.leave()
    }
  }

  private mutating func awaitGroup() {
    if random.oneIn(3) {
      let queue = pick()
      let item = loose(queue, false)
      group.notify(queue: queue.queue, execute: item)
    }
    if random.oneIn(2) || group.wait(timeout: soon()) == .timedOut { group.wait() }
    if inGroup.value != 0 { life.fail("a group let a waiter go with \(inGroup.value) items inside") }
  }

  private mutating func delay(_ queue: FuzzQueue, _ asBarrier: Bool) {
    let due = DispatchTime.now() + .microseconds(random.below(3_000))
    let life = life
    let item = loose(queue, asBarrier) { if DispatchTime.now() < due { life.fail("a delayed item came early") } }
    queue.queue.asyncAfter(deadline: due, flags: asBarrier ? .barrier : [], execute: item)
  }

  /// A work item that is cancelled or not: it runs once, or was cancelled.
  private mutating func submitWorkItem(_ queue: FuzzQueue) {
    let choices: [DispatchWorkItemFlags] = [
      [], .barrier, .enforceQoS, .inheritQoS, .noQoS, .detached, .assignCurrentContext,
    ]
    let flags = choices[random.below(choices.count)]
    let (life, runs, ends, token) = (life, Counter(), Counter(), life.token())
    life.submitted.add()
    let item = DispatchWorkItem(qos: random.oneIn(2) ? .utility : .unspecified, flags: flags) {
      token.visit()
      if runs.add() != 1 { life.fail("a work item ran twice") }
      // `occupy` counts what settles; this item settles with its notification.
      Self.occupy(queue, life, asBarrier: flags == .barrier) { life.submitted.add() }
      ends.add()
    }
    let (isEarly, isLate) = (random.oneIn(4), random.oneIn(3))
    if isEarly { item.cancel() }
    item.notify(qos: random.oneIn(2) ? .userInteractive : .unspecified, queue: .global(qos: .utility)) {
      if runs.value == 0, !isEarly, !isLate { life.fail("a work item that nobody cancelled did not run") }
      life.settled.add()
    }
    switch random.below(5) {
    case 0: queue.queue.sync(execute: item)
    case 1: queue.queue.asyncAfter(deadline: .now() + .microseconds(random.below(2000)), execute: item)
    case 2: queue.queue.async(group: group, execute: item)
    default: queue.queue.async(execute: item)
    }
    if isLate {
      item.cancel()
    } else if random.oneIn(3) {
      if random.oneIn(2) || item.wait(timeout: soon()) == .timedOut { item.wait() }
      if !isEarly, ends.value == 0 { life.fail("an item let a waiter go before its end") }
    }
  }

  /// While it is suspended this thread waits for nothing, so that no two threads can wait for each other.
  private mutating func suspend(_ queue: FuzzQueue) {
    if queue.kind == .main || queue.kind == .workloop { return }
    let depth = 1 + random.below(3)
    for _ in 0..<depth { queue.queue.suspend() }
    let (life, resumes) = (life, Counter())
    for _ in 0..<random.below(6) {
      let (other, asBarrier) = (random.oneIn(2) ? queue : pick(), random.oneIn(4))
      let item = numbered(other, asBarrier) {
        if other === queue, resumes.value < depth { life.fail("an item runs while \(queue.state) is suspended") }
      }
      other.queue.async(flags: asBarrier ? .barrier : [], execute: item)
    }
    for _ in 0..<depth {
      resumes.add()
      queue.queue.resume()
    }
  }

  /// A new target in the same tree, always one of a lower number: no circle can come of it.
  private mutating func move(_ queue: FuzzQueue) {
    if !queue.mayMove { return }
    let lower = life.trees[queue.tree].prefix(queue.number).filter { $0.kind != .workloop }
    if lower.isEmpty || random.oneIn(6) {
      return queue.queue.setTarget(queue: random.oneIn(2) ? nil : .global(qos: .utility))
    }
    queue.queue.setTarget(queue: lower[random.below(lower.count)].queue)
  }

  /// Whether one more item may hold a thread while it waits.
  private func mayWait() -> Bool {
    if life.waiting.add() <= 12 { return true }
    life.waiting.add(-1)
    return false
  }

  /// An item that waits, inside, for an item of a higher tree.
  private mutating func reachOver(_ queue: FuzzQueue, _ asBarrier: Bool) {
    guard queue.tree + 1 < life.trees.count, mayWait() else { return }
    let (other, life) = (pick(above: queue.tree), life)
    let inner = loose(other, false)
    let outer = numbered(queue, asBarrier) {
      other.queue.sync(execute: inner)
      life.waiting.add(-1)
    }
    queue.queue.async(flags: asBarrier ? .barrier : [], execute: outer)
  }

  /// An item that waits for a signal of an item of a higher tree.
  private mutating func exchangeSignals(_ queue: FuzzQueue) {
    guard queue.tree + 1 < life.trees.count, mayWait() else { return }
    let (other, life, signal) = (pick(above: queue.tree), life, DispatchSemaphore(value: 0))
    let signalled = Counter()
    queue.queue.async(
      execute: numbered(queue, false) {
        signal.wait()
        if signalled.value != 1 { life.fail("a semaphore let through what nobody signalled") }
        life.waiting.add(-1)
      })
    other.queue.async(
      execute: numbered(other, false) {
        signalled.add()
        signal.signal()
      })
  }

  private mutating func soon() -> DispatchTime { .now() + .microseconds(random.below(400)) }

  /// Waits that give up while signals come: each signal is taken once, or is still there.
  private mutating func raceTimeouts(_ queue: FuzzQueue) {
    let (signal, count, all) = (DispatchSemaphore(value: 0), 1 + random.below(4), DispatchGroup())
    for _ in 0..<count {
      all.enter()
      queue.queue.async(
        execute: numbered(queue, false) {
          signal.signal()
          all.leave()
        })
    }
    var taken = 0
    for _ in 0..<count where signal.wait(timeout: soon()) == .success { taken += 1 }
    all.wait()
    while signal.wait(timeout: .now()) == .success { taken += 1 }
    if taken != count { life.fail("\(taken) signals were taken, \(count) given") }
  }

  /// An item that submits items.
  private mutating func resubmit(_ queue: FuzzQueue) {
    let other = pick()
    let followers = (0..<(1 + random.below(3))).map { _ in loose(other, false) }
    queue.queue.async(
      execute: numbered(queue, false) { for follower in followers { other.queue.async(execute: follower) } })
  }

  // MARK: Loops

  private mutating func performInside(_ queue: FuzzQueue) {
    let (life, seed) = (life, random.next())
    if !random.oneIn(4) { return }
    queue.queue.async(
      execute: numbered(queue, false) {
        Self.perform(life, seed, iterations: 1 + Int(seed % 12), upTo: 200, nested: true)
      })
  }

  private mutating func perform() {
    let isLong = life.isConvoy || random.oneIn(6)
    Self.perform(
      life, random.next(), iterations: 1 + random.below(isLong ? 12 : 200), upTo: isLong ? 1900 : 3,
      nested: random.oneIn(3))
  }

  private static func perform(_ life: Life, _ seed: UInt64, iterations: Int, upTo longest: Int, nested: Bool) {
    var random = SeededRandom(seed: seed)
    let (seeds, done, inside) = (random.next(), (0..<iterations).map { _ in Counter() }, Counter())
    let isAsleep = random.oneIn(2)
    let token = life.token()
    DispatchQueue.concurrentPerform(iterations: iterations) { index in
      token.visit()
      inside.add()
      var random = SeededRandom(seed: seeds &+ UInt64(index))
      let length = random.below(longest + 1)
      if isAsleep, length > 50 { usleep(UInt32(length)) } else { spin(length) }
      if nested, random.oneIn(4) {
        perform(life, random.next(), iterations: 1 + random.below(4), upTo: longest / 2, nested: false)
      }
      done[index].add()
      inside.add(-1)
    }
    let missed = done.count { $0.value != 1 }
    if missed != 0 || inside.value != 0 {
      life.fail(
        "concurrentPerform returned with \(missed) of \(iterations) indices not done once, \(inside.value) inside")
    }
  }
}
