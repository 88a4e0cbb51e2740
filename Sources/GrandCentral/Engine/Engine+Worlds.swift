// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Which engine a thread has: the process's, or that of the run which it takes part in.
//
//   | instance | isApart | aside         | state                                                         |
//   |----------|---------|---------------|---------------------------------------------------------------|
//   | nil      | false   | nil           | new: the process has no engine yet                             |
//   | engine   | false   | nil           | together: all threads have the process's                       |
//   | nil      | true    | engine or nil | apart: each thread is asked for its world                      |
//
//   new ──make──► together        new, together ──goApart──► apart ──comeTogether──► new, together
//
// Worlds.E1  The process's engine is made once, and is neither freed nor exchanged. A pointer to it stays right, whenever it was loaded:
//     a simulation that begins or ends makes no difference to a thread that takes no part.
// Worlds.E2  `instance` is nil or the process's engine. A run's is in the world of its threads (`World.Functions.engine`), and nowhere
//     else: no other thread finds it, and it may be freed when the run's threads have left.
// Worlds.E3  While a thread of a run may go on, `instance` is nil. A run that is given up has a thread that may go on at any time:
//     then the worlds stay apart for good (`stayApart`).
// Worlds.E4  The three words change with `boot` held.
// Worlds.E5  A stranger finds the process's engine at work. It may have been closed for the simulation: the first one to come by opens
//     it again, and from then on its threads and its timers go on beside the simulation.
//
// shared       1  `instance` is there: done          goApart        1  with `boot`: aside ← instance, isApart ← true
//              2  in a run: its world's engine                      2  instance ← nil
//              3  `aside` is there: done              comeTogether   1  with `boot`: instance ← aside
//              4  with `boot`: 1 and 3 again                        2  aside ← nil, isApart ← false
//              5  make one, as `aside` or `instance`
//
// Step 1 is all that there is on a hot path, and it is what it would be without simulations: the look for an engine that is not made
// yet leads to the others. A thread that finds `instance` nil because of `goApart` acquires that store, and finds `aside`. If it finds
// neither, the words have changed meanwhile, or there is no engine; the lock decides.
//
// Rejected: a run's engine in the place of the process's (a thread that takes no part puts its items there, and the engine is freed
// under it); a pointer in each queue (a load more in each submission, and global queues belong to both worlds).
extension Engine {
  private nonisolated(unsafe) static let instance = Atomic<Job.Word?>(nil)
  private nonisolated(unsafe) static let aside = Atomic<Job.Word?>(nil)
  private static let isApart = Atomic<Bool>(false)
  private static let staysApart = Atomic<Bool>(false)
  private static let boot = ProcessLock()

  @inline(__always)
  static var shared: Pointer {
    // pairs with: put – publishes the initialised engine
    if let engine = instance.load(ordering: .acquiring) {
      return engine.assumingMemoryBound(to: Engine.self)
    }
    return sharedSlow()
  }

  /// Workers wanted at once; 0 before work was ever submitted.
  static var activeParallelism: Int {
    // relaxed: a figure.
    existing.map { $0.pointee.parallelism.load(ordering: .relaxed) } ?? 0
  }

  /// The engine if work has ever been submitted.
  static var existing: Pointer? {
    // pairs with: put – publishes the initialised engine
    if let engine = at(instance.load(ordering: .acquiring)) { return engine }
    if let world = World.current { return at(world.engine) }
    if let engine = at(setAside) { return engine }
    // The worlds may have come together between the two looks.
    // pairs with: put – publishes the initialised engine
    return at(instance.load(ordering: .acquiring))
  }

  /// What objects keep of their engine. A stored property whose type names the engine would bring the descriptions of all its parts into
  /// each program, for reflection.
  typealias Address = Job.Word

  /// The address of the engine that work is submitted to.
  static var sharedAddress: Address { Address(shared) }

  static func at(_ address: Address) -> Pointer { address.assumingMemoryBound(to: Engine.self) }

  static func at(_ address: Address?) -> Pointer? { address?.assumingMemoryBound(to: Engine.self) }

  /// The process's engine while the worlds are apart.
  private static var setAside: Job.Word? {
    // pairs with: put – publishes the initialised engine
    aside.load(ordering: .acquiring)
  }

  @inline(never)
  private static func sharedSlow() -> Pointer {
    if let world = World.current {
      guard let engine = at(world.engine) else { Fault.bug("a thread of a simulation has no engine") }
      return engine
    }
    World.noteStranger()
    let engine = at(setAside) ?? makeOnce()
    engine.pointee.reopenIfClosed()
    return engine
  }

  private static func makeOnce() -> Pointer {
    boot.lock()
    defer { boot.unlock() }
    if let engine = existing { return engine }
    // Its first thread is about to be started. Later a call of `concurrentPerform` would wait for it, when it waits already.
    Barrier.registerEarly()
    let engine = makeApart()
    put(engine)
    return engine
  }

  /// One that nobody sees yet.
  static func makeApart() -> Pointer {
    let engine = Pointer.allocate(capacity: 1)
    engine.initialize(to: Engine())
    return engine
  }

  /// The process has this engine from now on. `boot` is held.
  private static func put(_ engine: Pointer) {
    // relaxed: guarded by the lock.
    if isApart.load(ordering: .relaxed) {
      // pairs with: setAside – publishes the initialised engine
      aside.store(.init(engine), ordering: .releasing)
    } else {
      // pairs with: shared – publishes the initialised engine
      instance.store(.init(engine), ordering: .releasing)
    }
  }

  // MARK: Simulations

  /// Simulations begin: from now on each thread has the engine of its world.
  static func goApart() {
    boot.lock()
    defer { boot.unlock() }
    // relaxed: guarded by the lock. So for the next ones.
    if isApart.load(ordering: .relaxed) { return }
    isApart.store(true, ordering: .relaxed)
    let engine = instance.load(ordering: .relaxed)
    // pairs with: setAside – publishes the engine, which this thread may have from `shared` alone
    aside.store(engine, ordering: .releasing)
    // pairs with: shared, existing – publishes `aside`: a thread that finds nil looks there next
    instance.store(nil, ordering: .releasing)
  }

  /// Simulations are about to be over: the process's engine is told of signals again.
  static func takeBackSignals() { at(setAside)?.pointee.signals.takeBack() }

  /// A thread that is in a simulation may go on at any time, for ever (Worlds.E3).
  static func stayApart() {
    // relaxed: the thread that calls `comeTogether` has called this one, or has waited for the thread that has.
    staysApart.store(true, ordering: .relaxed)
  }

  /// Simulations are over, and no thread is in one.
  static func comeTogether() {
    boot.lock()
    defer { boot.unlock() }
    // relaxed: guarded by the lock, or see `stayApart`.
    if staysApart.load(ordering: .relaxed) { return }
    let engine = aside.load(ordering: .relaxed)
    // pairs with: shared – publishes the initialised engine
    instance.store(engine, ordering: .releasing)
    // relaxed: guarded by the lock. A thread that finds neither comes to the lock.
    aside.store(nil, ordering: .relaxed)
    isApart.store(false, ordering: .relaxed)
  }

  // MARK: Fork

  /// In a forked child: the old engine's threads do not exist, so its memory is abandoned, and so are simulations.
  @_optimize(size)
  static func replaceInChild() {
    let hadOne = existing != nil
    World.leaveInChild()
    // relaxed: there is one thread.
    isApart.store(false, ordering: .relaxed)
    staysApart.store(false, ordering: .relaxed)
    aside.store(nil, ordering: .relaxed)
    if hadOne { put(makeApart()) }
    boot.unlock()
  }

  static func lockForFork() { boot.lock() }
  static func unlockAfterFork() { boot.unlock() }
}
