// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import Testing

@testable import GrandCentral
@testable import GrandCentralTesting

/// A mutex of the C library's, and a condition.
private final class SystemLock: Sendable {
  // unsafe: both stay where they are.
  private nonisolated(unsafe) let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private nonisolated(unsafe) let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init() {
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  func lock() { pthread_mutex_lock(mutex) }
  func unlock() { pthread_mutex_unlock(mutex) }
  func wait() { pthread_cond_wait(condition, mutex) }
  func signal() { pthread_cond_signal(condition) }
}

/// Calls a queue while it holds its lock, as many caches do.
private final class Cache: Sendable {
  private let lock: SystemLock
  private let queue = DispatchQueue(label: "cache")
  private let values = Box<[Int: Int]>([:])
  let made = Box(0)

  init(_ lock: SystemLock) { self.lock = lock }

  func value(_ key: Int) -> Int {
    lock.lock()
    defer { lock.unlock() }
    if let value = values.value[key] { return value }
    made.value += 1
    queue.async {}
    values.value[key] = key * 2
    return key * 2
  }
}

private final class Held: Sendable {
  let mutex = Mutex(0)
}

@Suite("What threads wait for outside of the simulation", .serialized, .timeLimit(.minutes(30)))
struct OutsideTests {
  @Test("A mutex of the system is waited for as a lock of the library's is: others go on, and its holder among them")
  func mutex() async {
    await #expect(processExitsWith: .success) {
      let report = try Simulation.check(runs: 200, seed: 1) { sim in
        let cache = Cache(SystemLock())
        for _ in 0..<4 { DispatchQueue.global().async { _ = cache.value(7) } }
        sim.run()
        sim.expect(cache.made.value == 1)
      }
      try require(report.runs == 200)
      // Swift's own, which has another word, held while time passes.
      try Simulation.check(runs: 100, seed: 1) { sim in
        let (held, never) = (Held(), DispatchSemaphore(value: 0))
        DispatchQueue.concurrentPerform(iterations: 3) { _ in
          held.mutex.withLock { _ in _ = never.wait(timeout: .now() + .seconds(60)) }
        }
        sim.expect(sim.elapsed == .seconds(180), "\(sim.elapsed)")
      }
    }
  }

  @Test("A mutex and a queue, taken in both orders: a deadlock with both threads' names, which its token shows again")
  func deadlock() async {
    await #expect(processExitsWith: .success) {
      let body: @Sendable (Simulation) -> Void = { sim in
        let (lock, queue) = (SystemLock(), DispatchQueue(label: "queue"))
        queue.async {
          lock.lock()
          lock.unlock()
        }
        DispatchQueue.global().async {
          lock.lock()
          queue.sync {}
          lock.unlock()
        }
        sim.run()
      }
      for strategy in [Simulation.Strategy.random, .pct(depth: 2), .exhaustive(preemptions: 1)] {
        let failure = try unwrap(Simulation.explore(strategy: strategy, body).failure)
        guard case .deadlock(let waits) = failure.reason, waits.count == 2 else { throw failure }
        try require(
          waits.contains {
            $0.contains(", inside an item of \"queue\", waits for a mutex of the system, which gc-default-")
          },
          "\(waits)")
        try require(
          waits.contains { $0.contains("waits for its turn on the queue \"queue\", which gc-default-") }, "\(waits)")
        try require(waits[1].hasSuffix("holds: the circle is closed"))
        try require(failure.timeline.contains("waits for a mutex of the system"), failure.timeline)
        for _ in 0..<20 {
          let again = try unwrap(Simulation.explore(strategy: .replay(failure.token), body).failure)
          try require(again.timeline == failure.timeline, again.timeline + failure.timeline)
        }
      }
    }
  }

  @Test("A thread that locks twice, and one whose mutex nobody unlocks, wait for ever")
  func forever() async {
    await #expect(processExitsWith: .success) {
      let twice = try unwrap(
        Simulation.explore(runs: 1) { _ in
          let lock = SystemLock()
          lock.lock()
          lock.lock()
        }.failure)
      guard case .deadlock(let waits) = twice.reason else { throw twice }
      try require(waits == ["test waits for a mutex of the system, which test holds: the circle is closed"], "\(waits)")
      let forgotten = try unwrap(
        Simulation.explore(runs: 1) { sim in
          let lock = SystemLock()
          DispatchQueue(label: "forgets").async { lock.lock() }
          sim.run()
          lock.lock()
        }.failure)
      guard case .deadlock(let waits) = forgotten.reason else { throw forgotten }
      try require(waits.count == 1 && waits[0].hasPrefix("test waits for a mutex of the system, which gc-"), "\(waits)")
    }
  }

  @Test("A condition of the system: others go on, and one of them signals it")
  func condition() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check(runs: 30) { sim in
        let (lock, isFull) = (SystemLock(), Box(false))
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) {
          lock.lock()
          while !isFull.value { lock.wait() }
          lock.unlock()
        }
        DispatchQueue.global().async(group: group) {
          lock.lock()
          isFull.value = true
          lock.signal()
          lock.unlock()
        }
        group.wait()
        sim.expect(isFull.value)
      }
    }
  }

  @Test("A condition that nobody signals is an escape, for a thread outside might")
  func unknown() async {
    await #expect(processExitsWith: .success) {
      let report = Simulation.explore(patience: 300_000_000, runs: 1) { sim in
        let lock = SystemLock()
        DispatchQueue.global().async {
          lock.lock()
          lock.wait()
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + 1) {}
        sim.run()
      }
      guard case .stalled? = report.failure?.reason else { throw report.failure ?? Unexpected() as any Error }
    }
  }

  @Test("A search for all orders says that it does not know those of a mutex of the system")
  func orders() async {
    await #expect(processExitsWith: .success) {
      let report = Simulation.explore(strategy: .everyOrder()) { sim in
        let (lock, queue) = (SystemLock(), DispatchQueue(label: "queue"))
        for _ in 0..<2 {
          DispatchQueue.global().async {
            lock.lock()
            queue.sync {}
            lock.unlock()
          }
        }
        sim.run()
      }
      if let failure = report.failure { throw failure }
      try require(report.gaps.contains("a thread waits for a mutex of the system"), "\(report.gaps)")
    }
  }

  @Test(
    "V1: a thread whose mutex has been given back sleeps no longer, be it long until the kernel has a processor for it")
  func woken() {
    // unsafe: freed when both threads are done with it.
    let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    pthread_mutex_init(mutex, nil)
    pthread_mutex_lock(mutex)
    let (kernelID, isKnown, over) = (Box<UInt32>(0), Flag(), Flag())
    startThread {
      kernelID.value = SimulatedTurn.kernelID
      isKnown.raise()
      pthread_mutex_lock(mutex)
      pthread_mutex_unlock(mutex)
      over.raise()
    }
    while !isKnown.isUp || FutexWait(ofThread: kernelID.value) == nil { sleepInReality() }
    #expect(FutexWait(ofThread: kernelID.value)?.owner == SimulatedTurn.kernelID)
    // The first word of the C library's mutex is what is slept on. Its owner writes it before it wakes the sleeper.
    let word = UnsafeMutableRawPointer(mutex).assumingMemoryBound(to: UInt32.self)
    let contended = word.pointee
    word.pointee = 0
    #expect(FutexWait(ofThread: kernelID.value) == nil)
    word.pointee = contended
    #expect(FutexWait(ofThread: kernelID.value) != nil)
    pthread_mutex_unlock(mutex)
    while !over.isUp { sleepInReality() }
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  @Test("A thread that takes no part holds a mutex: it is waited for, and the run goes on")
  func stranger() async {
    await #expect(processExitsWith: .success) {
      let (lock, isHeld, mayUnlock) = (SystemLock(), Flag(), Flag())
      startThread {
        lock.lock()
        isHeld.raise()
        while !mayUnlock.isUp { sleepInReality() }
        lock.unlock()
      }
      while !isHeld.isUp { sleepInReality() }
      try Simulation.check(runs: 1) { sim in
        DispatchQueue.global().async {
          lock.lock()
          lock.unlock()
        }
        DispatchQueue.global().async { mayUnlock.raise() }
        sim.run()
      }
    }
  }
}
