// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Every worker record that ever existed, by index.
///
/// Records are handed out, given back and handed out again but never freed: a thief or the monitor may look at any
/// of them at any time. `count` only grows, so a scan of `0..<count` sees every live worker.
struct WorkerTable: ~Copyable, @unchecked Sendable {  // entries are atomic, the free list is guarded by `lock`
  /// The most threads the engine can be told to use.
  static let capacity = 4096

  /// I; A: each entry is written once.
  private let entries: UnsafeMutablePointer<Atomic<UnsafeMutableRawPointer?>>
  /// A
  private let used = Atomic<Int>(0)
  private let lock = Lock()
  /// M(lock): records without a thread, linked through `Worker.nextFree`.
  private let free = Atomic<UnsafeMutableRawPointer?>(nil)

  init() {
    // unsafe: lives as long as the engine.
    entries = .allocate(capacity: Self.capacity)
    for index in 0..<Self.capacity { (entries + index).initialize(to: Atomic(nil)) }
  }

  @inline(__always)
  var count: Int {
    // pairs with: take – publishes the entries below the count
    used.load(ordering: .acquiring)
  }

  @inline(__always)
  subscript(index: Int) -> Worker.Pointer {
    // pairs with: take – publishes the record's fields
    entries[index].load(ordering: .acquiring)!.assumingMemoryBound(to: Worker.self)
  }

  /// A record for a thread about to start.
  func take() -> Worker.Pointer {
    lock.lock()
    defer { lock.unlock() }
    // relaxed: guarded by the lock.
    if let raw = free.load(ordering: .relaxed) {
      let worker = raw.assumingMemoryBound(to: Worker.self)
      // relaxed: guarded by the lock.
      free.store(worker.pointee.nextFree.load(ordering: .relaxed), ordering: .relaxed)
      return worker
    }
    // relaxed: only the holder of the lock changes it.
    let index = used.load(ordering: .relaxed)
    let worker = Worker.Pointer.allocate(capacity: 1)
    worker.initialize(to: Worker(index: index))
    // pairs with: subscript, count – publishes the record, then that the index exists
    entries[index].store(UnsafeMutableRawPointer(worker), ordering: .releasing)
    used.store(index + 1, ordering: .releasing)
    return worker
  }

  /// Takes back the record of a thread that ends.
  func give(_ worker: Worker.Pointer) {
    lock.lock()
    // relaxed: guarded by the lock.
    worker.pointee.nextFree.store(free.load(ordering: .relaxed), ordering: .relaxed)
    free.store(UnsafeMutableRawPointer(worker), ordering: .relaxed)
    lock.unlock()
  }
}
