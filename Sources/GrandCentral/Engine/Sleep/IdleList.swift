// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The sleepers, newest last: the newest is woken first, its caches are the warmest.
///
/// A worker that waits in the kernel's poll is passed over while another sleeper is there: a futex wakes more cheaply,
/// and the poll stays watched.
struct IdleList: ~Copyable, @unchecked Sendable {  // links are guarded by `lock`
  let lock = Lock()
  /// Guarded by `lock`.
  private let newest = Atomic<UnsafeMutableRawPointer?>(nil)

  /// The caller holds the lock.
  func push(_ worker: Worker.Pointer) {
    // relaxed: all links are guarded by the lock.
    let top = newest.load(ordering: .relaxed)
    worker.pointee.idlePrevious.store(top, ordering: .relaxed)
    worker.pointee.idleNext.store(nil, ordering: .relaxed)
    worker.pointee.isIdle.store(true, ordering: .relaxed)
    if let top { at(top).pointee.idleNext.store(UnsafeMutableRawPointer(worker), ordering: .relaxed) }
    // pairs with: placeOfNewest – publishes the sleeper and its place
    newest.store(UnsafeMutableRawPointer(worker), ordering: .releasing)
  }

  /// The newest sleeper, one outside the poll by preference. The caller holds the lock.
  func pop() -> Worker.Pointer? {
    // relaxed: all links are guarded by the lock; `inPoll` only steers a preference.
    guard let top = newest.load(ordering: .relaxed) else { return nil }
    var chosen = at(top)
    if chosen.pointee.inPoll.load(ordering: .relaxed), let next = chosen.pointee.idlePrevious.load(ordering: .relaxed) {
      chosen = at(next)
    }
    remove(chosen)
    return chosen
  }

  /// The place that the newest sleeper had last: a hint, to any thread.
  @inline(__always)
  var placeOfNewest: Place.Pointer? {
    // pairs with: push, remove – publishes the sleeper and its place
    newest.load(ordering: .acquiring).flatMap { at($0).pointee.lastPlace }
  }

  /// The caller holds the lock and knows that `worker` is in the list.
  func remove(_ worker: Worker.Pointer) {
    // relaxed: all links are guarded by the lock.
    let previous = worker.pointee.idlePrevious.load(ordering: .relaxed)
    let next = worker.pointee.idleNext.load(ordering: .relaxed)
    if let previous { at(previous).pointee.idleNext.store(next, ordering: .relaxed) }
    if let next {
      at(next).pointee.idlePrevious.store(previous, ordering: .relaxed)
    } else {
      // pairs with: placeOfNewest – publishes an older sleeper and its place
      newest.store(previous, ordering: .releasing)
    }
    // relaxed: guarded by the lock; a hint for a worker that looks for a place.
    worker.pointee.isIdle.store(false, ordering: .relaxed)
  }

  /// Whether `worker` is in the list. The caller holds the lock.
  func contains(_ worker: Worker.Pointer) -> Bool {
    // relaxed: guarded by the lock.
    worker.pointee.isIdle.load(ordering: .relaxed)
  }

  @inline(__always)
  private func at(_ raw: UnsafeMutableRawPointer) -> Worker.Pointer {
    // unsafe: only worker records are ever linked, and they are never freed.
    raw.assumingMemoryBound(to: Worker.self)
  }
}
