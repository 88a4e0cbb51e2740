// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

#if !hasFeature(Embedded) && !GRANDCENTRAL_DROPIN
  /// The main queue of the toolchain's library, to which the Swift runtime sends the main actor's jobs.
  ///
  /// Some thread runs them, and our main queue's items should run there as well:
  ///
  /// - Once the main thread is in our `dispatchMain()` no other code does. So we do what a run loop does: watch that queue's
  ///   descriptor, and have the main thread run what is there, as an item of our main queue.
  /// - Under an `async` main, or in Foundation's run loop, the toolchain does. So we put an item of ours into its queue when
  ///   our main queue has become runnable: it runs a share of our items, and comes again if there are more. One item is under
  ///   way at a time; in a program that never runs that queue it just lies there.
  ///
  /// The drop-in is that library itself: there is one main queue, and it is ours.
  enum ForeignMainQueue {
    /// Our item is in that queue, and has not begun.
    private static let isPosted = Atomic<Bool>(false)

    /// Our main queue is runnable, and has no loop of its own.
    @inline(never)
    static func wake() {
      // relaxed: the lane's state publishes the items. A visit that comes behind this exchange looks at the lane behind the
      // submitter: if its update of the state came before the submitter's, this exchange would come behind the visit's.
      if isPosted.exchange(true, ordering: .relaxed) { return }
      if ToolchainMain.post({ _ in ForeignMainQueue.visit() }) { return }
      // A child of fork has no thread that would run it.
      if ToolchainMain.isForked { return }
      #if Tasks || !HAS_TRAITS
        // The library is in another shared object, which hides its names. A task reaches the same place by a longer way.
        Task.detached { @MainActor in ForeignMainQueue.visit() }
      #endif
    }

    private static func visit() {
      // relaxed: see `wake`. Later items post again.
      _ = isPosted.exchange(false, ordering: .relaxed)
      if MainLoop.visit() { wake() }
    }
  }
#endif
