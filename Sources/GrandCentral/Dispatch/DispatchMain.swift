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
  /// Made at first use, and never closed. Only `drain()` may read it. A child of `fork` has another descriptor under the same number. A set
  /// of epoll that it has inherited knows the parent's: the child makes a set of its own, and adds the number there.
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
/// ```swift
/// DispatchQueue.main.async { show() }
/// dispatchMain()
/// ```
///
/// The main actor's jobs run there as well, inside items of the main queue.
///
/// Off the main thread it traps (GC0014), and so it does in an item of the main queue (GC0036). An `async` main calls it before
/// it waits for anything, if at all: afterwards it may be on another thread, or in such an item.
///
/// Complexity: that of the items of the main queue. Blocking: for ever.
public func dispatchMain() -> Never {
  if !Thread.isMain {
    Fault.misuse(
      .dispatchMainOffMainThread,
      "dispatchMain was called off the main thread; the queue \"com.apple.main-thread\" runs its items on the main "
        + "thread only. Call it at the end of main; in an async main before the first await, which may leave the "
        + "main thread.")
  }
  // relaxed: a thread sees its own ownership.
  if GlobalQueues.main.state.load(ordering: .relaxed).owner == Thread.id {
    Fault.misuse(
      .dispatchMainInItem,
      "dispatchMain was called in an item of the queue \"com.apple.main-thread\", which is under way for as long as the call "
        + "lasts: no other item could run. Return from the item; in an async main wait for something instead.")
  }
  MainLoop.run()
}
