// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

@Suite("A queue pool")
struct QueuePoolTests {
  @Test(
    "P1: clamps its queue count to 1…32",
    arguments: [(-1, 1), (0, 1), (1, 1), (5, 5), (32, 32), (33, 32), (.max, 32)])
  func count(asked: Int, made: Int) {
    let pool = DispatchQueuePool(name: "clamped", queueCount: asked, qos: .utility)
    #expect(pool.queueCount == made)
    #expect(pool.queues.count == made)
    #expect(Set(pool.queues.map(ObjectIdentifier.init)).count == made)
  }

  @Test("P1: makes serial queues that have its name and quality of service")
  func queues() {
    let pool = DispatchQueuePool(name: "file.read", queueCount: 5, qos: .background)
    #expect(pool.name == "file.read")
    #expect(pool.qos == .background)
    for queue in pool.queues {
      #expect(queue.label == "file.read")
      #expect(queue.qos == .background)
      let (log, occupancy) = (Unprotected<[Int]>([]), Occupancy())
      for index in 0..<200 {
        queue.async {
          occupancy.enter()
          log.value.append(index)
          occupancy.leave()
        }
      }
      #expect(queue.sync { log.value } == Array(0..<200))
      #expect(occupancy.peak == 1)
    }
  }

  @Test("P1: hands out each queue in turn", arguments: [1, 2, 3, 7, 32])
  func inTurn(count: Int) {
    let pool = DispatchQueuePool(name: "in turn", queueCount: count)
    let first = (0..<count).map { _ in ObjectIdentifier(pool.queue) }
    #expect(Set(first).count == count)
    for _ in 0..<3 { #expect((0..<count).map { _ in ObjectIdentifier(pool.queue) } == first) }
  }

  @Test("P1: a thread that goes back and forth between pools goes round each of them")
  func severalPools() {
    let pools = (0..<3).map { DispatchQueuePool(name: "pool \($0)", queueCount: 4) }
    var seen = [[ObjectIdentifier: Int]](repeating: [:], count: 3)
    for _ in 0..<40 {
      for (index, pool) in pools.enumerated() { seen[index][ObjectIdentifier(pool.queue), default: 0] += 1 }
    }
    // A pool may lie at the address of an earlier one, and go on at that one's place: one more or less.
    for counts in seen { #expect(counts.count == 4 && counts.values.allSatisfy { (9...11).contains($0) }) }
  }

  @Test("P1: threads together get each queue equally often")
  func threads() {
    let pool = DispatchQueuePool(name: "threads", queueCount: 8)
    let counts = Guarded<[ObjectIdentifier: Int]>([:])
    PlainThread.concurrently(4) { _ in
      var own: [ObjectIdentifier: Int] = [:]
      for _ in 0..<8_000 { own[ObjectIdentifier(pool.queue), default: 0] += 1 }
      counts.with { counts in for (queue, count) in own { counts[queue, default: 0] += count } }
    }
    #expect(counts.with { $0.count } == 8)
    #expect(counts.with { $0.values.allSatisfy { $0 == 4_000 } })
  }

  @Test("P1: threads that come once each are spread as well")
  func manyThreads() {
    let pool = DispatchQueuePool(name: "many threads", queueCount: 6)
    let seen = Recorder<ObjectIdentifier>()
    for _ in 0..<6 { PlainThread { seen.note(ObjectIdentifier(pool.queue)) }.join() }
    #expect(Set(seen.values).count == 6)
  }

  @Test("P1: a queue outlives its pool, and serves the next one of its name if nothing is left of its former life")
  func reuse() {
    var pool: DispatchQueuePool? = DispatchQueuePool(name: "reuse", queueCount: 2)
    let queues = pool!.queues
    let key = DispatchSpecificKey<Int>()
    queues[1].setSpecific(key: key, value: 1)
    pool = nil
    #expect(queues[0].sync { 1 } == 1)
    let next = DispatchQueuePool(name: "reuse", queueCount: 2)
    #expect(next.queues.contains { $0 === queues[0] })
    #expect(!next.queues.contains { $0 === queues[1] })
    #expect(DispatchQueuePool(name: "reuse", queueCount: 1, qos: .utility).queues[0].qos.qosClass == .utility)
  }

  @Test("P1: a queue on which all has been taken back that was set serves the next pool of its name")
  func takenBack() {
    var pool: DispatchQueuePool? = DispatchQueuePool(name: "taken back", queueCount: 1)
    let queue = pool!.queues[0]
    let key = DispatchSpecificKey<Int>()
    queue.setSpecific(key: key, value: 1)
    queue.setSpecific(key: key, value: nil)
    queue.context = Unmanaged.passUnretained(key).toOpaque()
    queue.context = nil
    queue.suspend()
    queue.resume()
    queue.setTarget(queue: DispatchQueue(label: "for a while"))
    queue.setTarget(queue: .global())
    pool = nil
    #expect(DispatchQueuePool(name: "taken back", queueCount: 1).queues[0] === queue)
  }

  @Test("P1: a queue on which something is left is looked at by one pool, and not by all that follow")
  func setAside() {
    let (name, key) = ("set aside", DispatchSpecificKey<Int>())
    for round in 0..<12 {
      let queue = DispatchQueuePool(name: name, queueCount: 1).queues[0]
      switch round % 3 {
      case 0: queue.setSpecific(key: key, value: 1)
      case 1: queue.suspend()
      default: queue.setTarget(queue: .global(qos: .utility))
      }
    }
    var waiting = 0
    PooledQueue.holdRetired(true)
    var link = PooledQueue.retired![PooledQueue.bucket(name)]
    while let queue = link {
      if queue.label == name { waiting += 1 }
      link = queue.next
    }
    PooledQueue.holdRetired(false)
    #expect(waiting == 1)
  }

  @Test("O2: a pool's finalizer runs after its last reference has gone, on its target, with its context")
  func finalizer() {
    let finalized = DispatchSemaphore(value: 0)
    let target = DispatchQueue(label: "target")
    var pool: DispatchQueuePool? = DispatchQueuePool(name: "finalized", queueCount: 2)
    pool!.context = Unmanaged.passRetained(finalized).toOpaque()
    pool!.setFinalizer { Unmanaged<DispatchSemaphore>.fromOpaque($0!).takeRetainedValue().signal() }
    pool!.setTarget(queue: target)
    target.suspend()
    pool = nil
    #expect(finalized.wait(timeout: .now()) == .timedOut)
    target.resume()
    #expect(finalized.wait(timeout: .now() + .seconds(30)) == .success)
  }

  @Test("P2: there is one default pool for each class, with a queue for each processor")
  func defaults() {
    let classes: [DispatchQoS.QoSClass] = [.userInteractive, .userInitiated, .default, .utility, .background]
    let pools = classes.map { DispatchQueuePool.default(for: $0) }
    #expect(Set(pools.map(ObjectIdentifier.init)).count == 5)
    for (qos, pool) in zip(classes, pools) {
      #expect(DispatchQueuePool.default(for: qos) === pool)
      #expect(pool.qos == qos)
      #expect(pool.queueCount == min(32, Topology.activeProcessors()))
      #expect(pool.queues.allSatisfy { $0.qos.qosClass == qos })
    }
    #expect(DispatchQueuePool.default(for: .unspecified) === DispatchQueuePool.default(for: .default))
  }

  @Test("P2: a function returns queues of the default pool of a class in turn")
  func function() {
    let pool = DispatchQueuePool.default(for: .utility)
    let seen = Set((0..<pool.queueCount).map { _ in ObjectIdentifier(dispatchQueue(for: .utility)) })
    #expect(seen == Set(pool.queues.map(ObjectIdentifier.init)))
  }

  @Test("P2: the first callers of a default pool get the same one")
  func race() {
    let seen = Recorder<ObjectIdentifier>()
    PlainThread.concurrently(8) { _ in seen.note(ObjectIdentifier(DispatchQueuePool.default(for: .background))) }
    #expect(Set(seen.values).count == 1)
  }
}

@Suite("Picking a queue of a pool")
struct QueuePickingTests {
  @Test("P3: by load: the one with the fewest items, the blocked ones last")
  func leastLoaded() {
    let pool = DispatchQueuePool(name: "by load", queueCount: 4)
    let gates = Latch()
    for (index, queue) in pool.queues.enumerated() where index != 2 {
      for _ in 0...index { queue.async { gates.wait() } }
    }
    for _ in 0..<5 { #expect(pool.leastLoaded === pool.queues[2]) }
    for _ in 0..<2 { pool.queues[2].async { gates.wait() } }
    // Depths are 1, 2, 2, 4.
    for _ in 0..<5 { #expect(pool.leastLoaded === pool.queues[0]) }
    gates.open()
    for queue in pool.queues { queue.sync {} }
  }

  @Test("P3: by load: a queue that a thread holds counts as busy")
  func heldQueue() {
    let pool = DispatchQueuePool(name: "held", queueCount: 2)
    let (inside, leave) = (Latch(), Latch())
    let thread = PlainThread {
      pool.queues[0].sync {
        inside.open()
        leave.wait()
      }
    }
    #expect(inside.wait())
    for _ in 0..<4 { #expect(pool.leastLoaded === pool.queues[1]) }
    leave.open()
    thread.join()
  }

  @Test("P3: by load: idle queues are taken in turn")
  func idleQueues() {
    let pool = DispatchQueuePool(name: "idle", queueCount: 5)
    #expect(Set((0..<5).map { _ in ObjectIdentifier(pool.leastLoaded) }).count == 5)
  }

  @Test("P3: by key: equal keys share a queue, and so stay in order")
  func byKey() {
    let pool = DispatchQueuePool(name: "by key", queueCount: 7)
    let logs = (0..<50).map { _ in Unprotected<[Int]>([]) }
    for index in 0..<100 {
      for (key, log) in logs.enumerated() { pool.queue(forKey: "key \(key)").async { log.value.append(index) } }
    }
    for (key, log) in logs.enumerated() {
      #expect(pool.queue(forKey: "key \(key)").sync { log.value } == Array(0..<100))
    }
  }

  @Test("P3: by key: keys spread evenly over the queues", arguments: [2, 5, 16, 32])
  func spread(count: Int) {
    let pool = DispatchQueuePool(name: "spread", queueCount: count)
    var counts: [ObjectIdentifier: Int] = [:]
    let each = 1_000
    for key in 0..<count * each { counts[ObjectIdentifier(pool.queue(forKey: key)), default: 0] += 1 }
    #expect(counts.count == count)
    // Eight standard deviations: chance fails here less than once in 10^13 runs.
    for hits in counts.values { #expect(abs(hits - each) < 8 * 32) }
  }

  @Test("P3: depth and completed items can be read, per queue")
  func statistics() {
    let pool = DispatchQueuePool(name: "statistics", queueCount: 3)
    let (started, gate) = (Latch(), Latch())
    pool.queues[1].async {
      started.open()
      gate.wait()
    }
    #expect(started.wait())
    for _ in 0..<9 { pool.queues[1].async {} }
    let item = DispatchWorkItem {}
    pool.queues[2].async(execute: item)
    item.wait()
    let before = pool.statistics
    #expect(before.map(\.depth)[..<2] == [0, 10])
    #expect(before.map(\.completed)[..<2] == [0, 0])
    gate.open()
    pool.queues[1].sync {}
    pool.queues[2].sync {}
    let after = pool.statistics
    #expect(after.map(\.depth) == [0, 0, 0])
    #expect(after.map(\.completed) == [0, 10, 1])
    #expect(after[0].throughput(since: before[0]) == 0)
    #expect(after[1].throughput(since: before[1]) > 0)
    #expect(before[1].throughput(since: after[1]) == 0)
  }

  @Test("P3: items that many threads submit are all counted")
  func countedItems() {
    let pool = DispatchQueuePool(name: "counted", queueCount: 3)
    PlainThread.concurrently(3) { _ in
      for _ in 0..<3_000 { pool.queue.async {} }
    }
    for queue in pool.queues { queue.sync {} }
    #expect(pool.statistics.map(\.completed) == [3_000, 3_000, 3_000])
    #expect(pool.statistics.allSatisfy { $0.depth == 0 })
  }

  @Test("P3: a queue that targets one of a pool, and a pool's queue with a target, keep order and figures")
  func targets() {
    let pool = DispatchQueuePool(name: "targets", queueCount: 1)
    let log = Unprotected<[Int]>([])
    let above = DispatchQueue(label: "above", target: pool.queue)
    for index in 0..<100 { above.async { log.value.append(index) } }
    #expect(above.sync { log.value } == Array(0..<100))
    let lower = DispatchQueue(label: "lower")
    pool.queue.setTarget(queue: lower)
    for index in 100..<200 { pool.queue.async { log.value.append(index) } }
    #expect(pool.queue.sync { log.value } == Array(0..<200))
    #expect(pool.queue.sync { pool.queue.isCurrent && lower.isCurrent })
  }
}
