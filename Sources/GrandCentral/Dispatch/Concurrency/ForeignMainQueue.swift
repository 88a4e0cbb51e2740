// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// The main queue of the toolchain's library, to which the Swift runtime sends the main actor's jobs.
///
/// Once the main thread is in our `dispatchMain()` nobody else runs them. So we do what a run loop does: watch that queue's
/// descriptor, and have the main thread run what is there, as an item of our main queue.
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
}
