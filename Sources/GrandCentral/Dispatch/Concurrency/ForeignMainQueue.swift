// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// The main queue of the toolchain's library, to which the Swift runtime sends the main actor's jobs.
///
/// Somebody runs them, and our main queue's items should run there as well:
///
/// - Once the main thread is in our `dispatchMain()` nobody else does. So we do what a run loop does: watch that queue's
///   descriptor, and have the main thread run what is there, as an item of our main queue.
/// - Under an `async` main, or in Foundation's run loop, the toolchain does. So we put an item of ours into its queue when
///   our main queue has become runnable: it runs a share of our items, and comes again if there are more. One item is
///   under way at a time; in a program where nobody ever runs that queue it just lies there.
enum ForeignMainQueue {
  static func adopt() {
    let handle = gc_foreign_main_handle()
    if handle < 0 { return }
    let source = DispatchSource.makeReadSource(fileDescriptor: handle, queue: GlobalQueues.main)
    source.setEventHandler { gc_foreign_main_drain(handle) }
    source.activate()
    // What was there before.
    GlobalQueues.main.async { gc_foreign_main_drain(handle) }
  }

  /// Our item is in that queue, and has not begun.
  private static let isPosted = Atomic<Bool>(false)

  /// Our main queue is runnable, and has no loop of its own.
  @inline(never)
  static func wake() {
    // relaxed: the lane's state publishes the items. A visit that comes behind this exchange looks at the lane behind the
    // submitter: were its update of the state the earlier one, this exchange would come behind the visit's.
    if isPosted.exchange(true, ordering: .relaxed) { return }
    if gc_foreign_main_post({ _ in ForeignMainQueue.visit() }) { return }
    // A child of fork has nobody who would run it.
    if gc_is_forked() { return }
    // The library has no names, as in a program that is linked statically. A task is the longer way to the same place.
    Task.detached { @MainActor in ForeignMainQueue.visit() }
  }

  private static func visit() {
    // relaxed: see `wake`. Later items post again.
    _ = isPosted.exchange(false, ordering: .relaxed)
    if MainLoop.visit() { wake() }
  }

  /// Whether the calling thread runs that queue.
  static var isCurrent: Bool { gc_foreign_main_is_current() }
}
