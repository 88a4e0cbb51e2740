// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Every worker record that ever existed, by index.
///
/// Records are handed out, given back and handed out again but never freed: a thief or the monitor may look at any
/// of them at any time. `count` only grows, so a scan of `0..<count` sees every live worker.
///
/// An index comes with its record: by `count`, by a place's `holder`, or from the thread that has started the caller. So the
/// entries themselves publish nothing.
///
/// The table is a short array of chunks, each made when its first record is: the first submission of a process touches
/// few pages.
struct WorkerTable: ~Copyable, @unchecked Sendable {  // entries are atomic, the free list is guarded by `lock`
  private typealias Entry = Atomic<UnsafeMutableRawPointer?>

  private static let chunkSize = 64
  private static let chunkCount = 64
  /// The most threads the engine can be told to use.
  static let capacity = chunkSize * chunkCount

  /// Each chunk is written once.
  private let chunks: UnsafeMutablePointer<Entry>
  private let used = Atomic<Int>(0)
  private let lock = Lock()
  /// Guarded by `lock`: records without a thread, linked through `Worker.nextFree`.
  private let free = Atomic<UnsafeMutableRawPointer?>(nil)

  init() {
    // unsafe: lives as long as the engine.
    chunks = .allocate(capacity: Self.chunkCount)
    for index in 0..<Self.chunkCount { (chunks + index).initialize(to: Entry(nil)) }
  }

  @inline(__always)
  var count: Int {
    // pairs with: take – publishes the entries below the count, and their records
    used.load(ordering: .acquiring)
  }

  @inline(__always)
  subscript(index: Int) -> Worker.Pointer {
    // relaxed: the index has come with the chunk, the entry and the record's fields.
    let chunk = chunks[index / Self.chunkSize].load(ordering: .relaxed)!.assumingMemoryBound(to: Entry.self)
    return chunk[index % Self.chunkSize].load(ordering: .relaxed)!.assumingMemoryBound(to: Worker.self)
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
    // relaxed: published with the count.
    chunk(of: index)[index % Self.chunkSize].store(UnsafeMutableRawPointer(worker), ordering: .relaxed)
    // pairs with: count – publishes the record, and its entry
    used.store(index + 1, ordering: .releasing)
    return worker
  }

  /// The chunk that holds `index`, made if need be. The caller holds the lock.
  private func chunk(of index: Int) -> UnsafeMutablePointer<Entry> {
    // relaxed: written under the lock only.
    if let raw = chunks[index / Self.chunkSize].load(ordering: .relaxed) {
      return raw.assumingMemoryBound(to: Entry.self)
    }
    let chunk = UnsafeMutablePointer<Entry>.allocate(capacity: Self.chunkSize)
    for entry in 0..<Self.chunkSize { (chunk + entry).initialize(to: Entry(nil)) }
    // relaxed: published with the count.
    chunks[index / Self.chunkSize].store(UnsafeMutableRawPointer(chunk), ordering: .relaxed)
    return chunk
  }

  /// Frees all records. Nobody sees them any more.
  func discard() {
    for index in 0..<count {
      let worker = self[index]
      worker.deinitialize(count: 1)
      worker.deallocate()
    }
    for index in 0..<Self.chunkCount {
      // relaxed: one thread is left.
      chunks[index].load(ordering: .relaxed)?.assumingMemoryBound(to: Entry.self).deallocate()
    }
    chunks.deallocate()
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
