// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// How the main thread learns of work on the main queue's lane, and drains it: from `dispatchMain()`, from a loop of the
// program's that watches a descriptor, or from the toolchain's main queue.
/// The main queue: its lane calls the main thread in place of a worker.
final class MainQueue: DispatchQueue, @unchecked Sendable {  // adds no state
  init() { super.init(kind: .main, name: QueueName("com.apple.main-thread"), qos: .unspecified, target: nil) }

  override func callMainThread() { MainLoop.signal() }

  override var isOnMainThread: Bool { MainLoop.isHere }
}

enum MainLoop {
  /// What wakes the main thread.
  static let parker = Parker()
  /// An event descriptor for foreign loops, once it has been asked for: its number plus one.
  private static let eventWord = Atomic<Int32>(0)
  private static let making = ProcessLock()

  /// Whether the main thread is in `loop`.
  private static let isRunning = Atomic<Bool>(false)

  /// The idle main thread looks for a while before it sleeps.
  private static let spin = SpinBudget(nanoseconds: SpinBudget.answer)

  /// The main queue has become runnable.
  static func signal() {
    parker.unpark()
    // seq-cst: after the token, see `descriptor`.
    let word = eventWord.load(ordering: .sequentiallyConsistent)
    if word != 0 { return EventFD.signal(word - 1) }
    #if !hasFeature(Embedded) && !GRANDCENTRAL_DROPIN
      // relaxed: a wake-up too many finds nothing to do.
      if !isRunning.load(ordering: .relaxed) { ForeignMainQueue.wake() }
    #endif
  }

  /// Whether the calling thread is the one that runs the main queue's items.
  static var isHere: Bool { Thread.runsMainQueue }

  /// No thread may be making the descriptor while the process forks.
  static func holdDescriptor(_ hold: Bool) { hold ? making.lock() : making.unlock() }

  static var descriptor: Int32 {
    making.lock()
    defer { making.unlock() }
    // relaxed: written under the lock only.
    let known = eventWord.load(ordering: .relaxed)
    if known != 0 { return known - 1 }
    guard let event = EventFD() else { return -1 }
    let number = event.release()
    // seq-cst: either the look for a token sees that an item was signalled, or its signaller, which leaves a token and then
    // looks for a descriptor, sees this one; without a total order both could look too early, and neither would signal.
    eventWord.store(number + 1, ordering: .sequentiallyConsistent)
    // Items that were signalled before there was a descriptor are signalled again. Looking at the list alone is not enough: a
    // push is no step of the total order. The list is looked at because a main thread in `loop` may have taken the token.
    if parker.hasToken || !GlobalQueues.main.items.tailIsNil { EventFD.signal(number) }
    return number
  }

  /// In a forked child: the main queue's items stay with the parent, and so does the thread that is in one of them. Only if the child's
  /// thread is that thread's copy, the child has the item that is under way. A program that goes on in its child before it has begun to work,
  /// as a daemon does, goes on with the items as well.
  @_optimize(size)
  static func beginInChild() {
    let main = GlobalQueues.main
    let isInItem = QueueContext.contains { $0.lane == main.reference }
    // A child whose parent had an engine has one by now.
    // relaxed: there is no other thread.
    let hasBegun = Engine.existing != nil || isInItem || main.state.load(ordering: .relaxed).isOwned
    if hasBegun {
      main.leaveItems()
      main.state.update { $0.leaveToParent(owner: isInItem ? Thread.id : 0) }
    }
    // What the child reads from the parent's descriptor the parent would miss. The number stays: the child's loops know it.
    // relaxed: there is no other thread.
    let word = eventWord.load(ordering: .relaxed)
    // relaxed: as above. A loop that asks again is given another number, or none.
    if word != 0, !EventFD.renew(word - 1) { eventWord.store(0, ordering: .relaxed) }
    if !main.items.tailIsNil { signal() }
  }

  /// Runs the items that are there now, and signals if more have come meanwhile.
  static func drain() {
    resetDescriptor()
    // The node stays in the list until its item's turn, so no other item can have its address before.
    let last = GlobalQueues.main.items.newestNode
    while true {
      switch GlobalQueues.main.drainOnMain(upTo: last) {
      case .empty: return
      case .turnIsOver: continue
      // The lane counts as enqueued: a thread that submits from now on leaves the signal to us.
      case .reached: return signal()
      }
    }
  }

  /// An item that is submitted from now on signals again.
  private static func resetDescriptor() {
    // relaxed: only the number is used; what it names belongs to the kernel.
    let word = eventWord.load(ordering: .relaxed)
    if word != 0 { EventFD.drain(word - 1) }
  }

  #if !hasFeature(Embedded) && !GRANDCENTRAL_DROPIN
    /// For a program that has no loop for the main queue, but one for the main actor: runs some items, in a job of the
    /// toolchain's main queue.
    ///
    /// - Returns: whether items are left.
    static func visit() -> Bool {
      // relaxed: `run` drains after `begin` has said so.
      if isRunning.load(ordering: .relaxed) { return false }
      // relaxed: as in `resetDescriptor`.
      let word = eventWord.load(ordering: .relaxed)
      if word == 0 { return GlobalQueues.main.drainOnMain() != .empty }
      // The descriptor was asked for in the meantime: the loop that watches it may have looked too early.
      EventFD.signal(word - 1)
      return false
    }
  #endif

  /// The main thread drains the queue from now on.
  static func begin() {
    // The parent may be asleep in `loop`. A token would only have said that there are items, and the first look finds them.
    parker.reset()
    // relaxed: see `signal`.
    isRunning.store(true, ordering: .relaxed)
  }

  /// From now on the main thread is in an item whenever it is active: so a tool that looks in finds one that blocks, also the first.
  static func beginInsight() {
    if World.isSimulated { return }
    InsightRegion.makeOnce()
    InsightThread.ready?.become(.mainLoop)
  }

  /// Behind `begin`.
  static func loop() -> Never {
    while true {
      resetDescriptor()
      while GlobalQueues.main.drainOnMain() != .empty {}
      if !parker.waitBriefly(spin) { sleep() }
    }
  }

  /// The main thread has nothing to do: it sleeps, and waits for no particular thread. Workers may wait for each other meanwhile, and need a
  /// thread more that the kernel refuses.
  @inline(never)
  private static func sleep() {
    InsightThread.ready?.fallAsleep(at: Cycles.now)
    _ = Blocking.sleep { parker.park(until: $0) }
    InsightThread.current?.become(InsightLayout.State.active, at: Cycles.now)
  }
}
