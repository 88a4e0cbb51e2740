// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// A thread's entry in the insight region: what it does, and what it waits for.
///
/// The thread alone writes it, field by field: a change in place, as by `+=`, counts as one of the whole entry. What says for what
/// it waits lies between two changes of its sequence. Only `noteBlocker` is called by another thread, while this one
/// waits.
struct InsightThread {
  typealias Entry = UnsafeMutablePointer<InsightLayout.ThreadEntry>

  let entry: Entry

  /// The calling thread's entry, if it has one.
  @inline(__always)
  static var current: InsightThread? {
    gc_thread_self().pointee.insight.map {
      InsightThread(entry: $0.assumingMemoryBound(to: InsightLayout.ThreadEntry.self))
    }
  }

  /// The calling thread's entry; nil where there is no region, or no entry is free.
  @inline(__always)
  static var ready: InsightThread? { current ?? attach() }

  @inline(never)
  private static func attach() -> InsightThread? {
    guard let memory = InsightRegion.memory else { return nil }
    let thread = gc_thread_self()
    InsightRegion.lock.lock()
    defer { InsightRegion.lock.unlock() }
    guard let index = InsightLayout.takeEntry(below: InsightRegion.layout.threads) else { return nil }
    let entry = InsightRegion.threads(memory) + index
    let role: InsightLayout.Role = thread.pointee.worker != nil ? .worker : Thread.isMain ? .main : .program
    InsightSequence(entry.sequence).change {
      entry.clear()
      entry.pointee.role = role.rawValue
      entry.pointee.since = Cycles.now
    }
    if InsightRegion.head.pointee.threads_used <= UInt32(index) {
      InsightRegion.head.pointee.threads_used = UInt32(index) + 1
    }
    // pairs with: readers in other processes – publishes the entry
    entry.tid.pointee.store(Thread.id, ordering: .releasing)
    thread.pointee.insight = UnsafeMutableRawPointer(entry)
    Magazine.seeToEnd(of: thread)
    return InsightThread(entry: entry)
  }

  /// The calling thread ends: its entry is free, and its records stand.
  static func leave() {
    let thread = gc_thread_self()
    Recorder.giveUpChunk()
    guard let current else { return }
    thread.pointee.insight = nil
    current.giveBack()
  }

  /// The entry is free. Its thread does not use it any more.
  func giveBack() {
    InsightRegion.lock.lock()
    // relaxed: the next one to use the entry finds it under the lock.
    entry.tid.pointee.store(0, ordering: .relaxed)
    if let memory = InsightRegion.memory { InsightLayout.giveBackEntry(entry - InsightRegion.threads(memory)) }
    InsightRegion.lock.unlock()
  }

  // MARK: Changes

  /// Changes what belongs together.
  @inline(__always)
  private func change(_ body: (Entry) -> Void) { InsightSequence(entry.sequence).change { body(entry) } }

  /// The thread's state from now on, and nothing that it waits for.
  @inline(__always)
  func become(_ state: UInt32, at time: UInt64) {
    change {
      $0.pointee.state = state
      $0.pointee.since = time
      $0.pointee.wait = 0
    }
  }

  /// The thread is something else from now on.
  func become(_ role: InsightLayout.Role) { entry.pointee.role = role.rawValue }

  /// The thread, a worker or the main thread in its loop, has nothing to do.
  func fallAsleep(at time: UInt64) {
    become(InsightLayout.State.asleep, at: time)
    entry.pointee.sleeps = entry.pointee.sleeps &+ 1
  }

  /// What a thread says of its wait.
  struct Wait {
    /// GC_WAIT_…
    let kind: UInt32
    let object: UInt
    let number: UInt32
    let owner: UInt32
    let isTimed: Bool
    let count: UInt32
    let label: String
    /// The queue whose item the thread is inside, innermost, or 0.
    let inside: UInt
    let insideLabel: String
  }

  /// The thread is about to wait in one of the library's calls.
  @inline(__always)
  func wait(_ wait: Wait, since time: UInt64) {
    change { entry in
      entry.pointee.state = InsightLayout.State.waits
      entry.pointee.since = time
      entry.pointee.wait = wait.kind
      entry.pointee.object = UInt64(wait.object)
      entry.pointee.number = wait.number
      entry.pointee.owner = wait.owner
      entry.pointee.timed = wait.isTimed ? 1 : 0
      entry.pointee.count = wait.count
      entry.pointee.caller = 0
      InsightText.copy(wait.label, to: entry.waitsFor)
      entry.pointee.inside_object = UInt64(wait.inside)
      InsightText.copy(wait.insideLabel, to: entry.inside)
    }
    entry.pointee.waits = entry.pointee.waits &+ 1
  }

  /// Where the program called, known some time after the wait has begun.
  func noteCaller(_ address: UInt64) { change { $0.pointee.caller = address } }

  /// A thread waits in a circle, for that one. Called by the thread that has found the circle, with the lock of the waits:
  /// it changes one word, which the thread that waits changes only after it has taken the lock. `address` is that thread's
  /// `currentAddress`.
  static func noteBlocker(_ thread: UInt32, at address: UInt) {
    Entry(bitPattern: address)?.pointee.owner = thread
  }

  /// Where the calling thread's entry is; 0 if it has none.
  static var currentAddress: UInt { UInt(bitPattern: current?.entry) }

  /// A record had no room.
  func countLoss() { entry.pointee.lost = entry.pointee.lost &+ 1 }

  /// What the thread ran before an item, which it goes on with afterwards.
  struct OuterItem {
    fileprivate let begun: UInt64
    fileprivate let function: UInt64
    fileprivate let queue: UInt32
  }

  /// An item begins. Only while recording is on.
  func beginItem(of queue: UInt32, _ function: UInt64, at time: UInt64) -> OuterItem {
    let outer = OuterItem(
      begun: entry.pointee.item_begun, function: entry.pointee.item_function, queue: entry.pointee.item_queue)
    entry.pointee.item_queue = queue
    entry.pointee.item_function = function
    entry.pointee.item_begun = time
    return outer
  }

  func endItem(_ outer: OuterItem?) {
    entry.pointee.items = entry.pointee.items &+ 1
    entry.pointee.item_begun = outer?.begun ?? 0
    entry.pointee.item_queue = outer?.queue ?? 0
    entry.pointee.item_function = outer?.function ?? 0
  }
}

/// Text in a field of fixed size.
enum InsightText {
  /// The text in a field, up to its zero.
  static func read<Field>(_ field: Field) -> String {
    withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  /// How many bytes of `text` are kept where there is room for so many: whole characters only.
  static func length(of text: UnsafeBufferPointer<UInt8>, room: Int) -> Int {
    var length = min(text.count, room)
    if length < text.count { while length > 0, text[length] & 0xC0 == 0x80 { length -= 1 } }
    return length
  }

  /// Copies as much of `text` as there is room for, in whole characters, and a zero.
  static func copy(_ text: String, to field: UnsafeMutableRawBufferPointer) {
    var length = 0
    if !text.isEmpty {
      // The bytes of each Swift string lie together.
      length =
        text.utf8.withContiguousStorageIfAvailable { bytes in
          let length = self.length(of: bytes, room: field.count - 1)
          field.copyMemory(from: UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[..<length])))
          return length
        } ?? 0
    }
    field[length] = 0
  }
}
