// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// How the main thread learns of work on the main queue, and runs it.
///
/// `dispatchMain()` turns the main thread into the queue's drainer. A program with a loop of its own (GLib, SDL, libuv,
/// epoll) watches `fileDescriptor` instead, and calls `drain()` when it polls readable:
///
/// ```swift
/// var entry = pollfd(fd: DispatchMainLoop.fileDescriptor, events: Int16(POLLIN), revents: 0)
/// while poll(&entry, 1, -1) > 0 { DispatchMainLoop.drain() }
/// ```
public enum DispatchMainLoop {
  /// Polls readable while work is pending on the main queue; −1 if the process has no descriptor left.
  ///
  /// Made at first use, and closed by nobody. Only `drain()` may read it.
  public static var fileDescriptor: Int32 { MainLoop.descriptor }

  /// Runs what is pending on the main queue. Call it on the main thread; elsewhere it traps (GC0020).
  ///
  /// What is submitted meanwhile, by the items that run or by other threads, waits for the next call, and the descriptor
  /// polls readable until then: a loop with other work to do comes back to it, whatever the items submit.
  ///
  /// Blocking: as the items do.
  public static func drain() {
    if !Thread.isMain {
      Fault.misuse(
        .mainQueueDrainOffMainThread,
        "DispatchMainLoop.drain was called off the main thread; the queue \"com.apple.main-thread\" runs its items on "
          + "the main thread only. Call it from the main thread's loop.")
    }
    MainLoop.drain()
  }
}

/// Turns the main thread into the main queue's drainer. Never returns.
///
/// The main actor's jobs run there as well, inside items of the main queue.
///
/// Off the main thread it traps (GC0014).
public func dispatchMain() -> Never {
  if !Thread.isMain {
    Fault.misuse(
      .dispatchMainOffMainThread,
      "dispatchMain was called off the main thread; the queue \"com.apple.main-thread\" runs its items on the main "
        + "thread only. Call it at the end of main.")
  }
  MainLoop.run()
}

enum MainLoop {
  /// What wakes the main thread.
  static let parker = Parker()
  /// An event descriptor for foreign loops, once somebody has asked for it: its number plus one.
  private static let eventWord = Atomic<Int32>(0)
  private static let making = Lock()

  /// Whether the main thread is in `run`.
  private static let isRunning = Atomic<Bool>(false)

  /// The idle main thread looks for a while before it sleeps.
  private static let spin = SpinBudget(nanoseconds: SpinBudget.answer)

  /// The main queue has become runnable.
  static func signal() {
    parker.unpark()
    // seq-cst: after the token, see `descriptor`.
    let word = eventWord.load(ordering: .sequentiallyConsistent)
    if word != 0 { return EventFD.signal(word - 1) }
    #if !hasFeature(Embedded)
      // relaxed: a wake-up too many finds nothing to do.
      if !isRunning.load(ordering: .relaxed) { ForeignMainQueue.wake() }
    #endif
  }

  /// Whether the calling thread is the one that runs the main queue's items. Under an `async` main that need not be the
  /// process's first thread: the toolchain gives that one up, and runs the main actor elsewhere.
  static var isHere: Bool {
    #if hasFeature(Embedded)
      Thread.isMain
    #else
      Thread.isMain || ForeignMainQueue.isCurrent
    #endif
  }

  /// Nobody may be making the descriptor while the process forks.
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
    // looks for a descriptor, sees this one; without a total order both could look too early, and nobody would signal.
    eventWord.store(number + 1, ordering: .sequentiallyConsistent)
    // What was signalled before there was a descriptor is signalled again. The list alone would not do: a push is no step of
    // the total order. It is looked at for a child of fork, where the parent's main thread may have taken the token along.
    if parker.hasToken || !GlobalQueues.main.items.tailIsNil { EventFD.signal(number) }
    return number
  }

  /// Runs what is there now, and tells of what has come meanwhile.
  static func drain() {
    resetDescriptor()
    let main = GlobalQueues.main
    // The node stays in the list until its item's turn, so no other item can have its address before.
    let last = main.items.newestNode
    while true {
      switch main.drainOnMain(upTo: last) {
      case .empty: return
      case .turnIsOver: continue
      // The lane counts as enqueued: whoever submits from now on leaves the signal to us.
      case .reached: return signal()
      }
    }
  }

  /// An item that is submitted from now on signals again.
  private static func resetDescriptor() {
    // relaxed: the number says it all; what is behind it is the kernel's.
    let word = eventWord.load(ordering: .relaxed)
    if word != 0 { EventFD.drain(word - 1) }
  }

  #if !hasFeature(Embedded)
    /// For a program that has no loop for the main queue, but one for the main actor: runs some items, in a job of the
    /// toolchain's main queue.
    ///
    /// - Returns: whether items are left.
    static func visit() -> Bool {
      // relaxed: `run` drains after it has said so.
      if isRunning.load(ordering: .relaxed) { return false }
      // relaxed: as in `resetDescriptor`.
      let word = eventWord.load(ordering: .relaxed)
      if word == 0 { return GlobalQueues.main.drainOnMain() != .empty }
      // The descriptor was asked for in the meantime: whoever watches it may have looked too early.
      EventFD.signal(word - 1)
      return false
    }
  #endif

  static func run() -> Never {
    // The parent may be asleep in here. What a token would have told is found by the first look.
    parker.reset()
    // relaxed: see `signal`.
    isRunning.store(true, ordering: .relaxed)
    #if !hasFeature(Embedded)
      ForeignMainQueue.adopt()
    #endif
    while true {
      resetDescriptor()
      while GlobalQueues.main.drainOnMain() != .empty {}
      if !parker.waitBriefly(spin) { _ = parker.park() }
    }
  }
}
