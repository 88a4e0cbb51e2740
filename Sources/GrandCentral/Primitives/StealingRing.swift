// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// A bounded FIFO ring: its owner pushes and pops, any thread steals. Everybody takes from the old end.
//
//   | word  | means                          | letter          |
//   |-------|--------------------------------|-----------------|
//   | head  | index of the oldest value      | A, by exchange  |
//   | tail  | index of the next free slot    | A, written by W |
//   | slots | 256, index modulo 256          | A, written by W |
//
// R1  head ≤ tail ≤ head + 256. Indices are 64 bits and never come back.
// R2  Only the owner moves tail and writes slots, and only slots outside of head..<tail.
// R3  A value belongs to whoever moved head past it. It is read before that: whoever fails to move head has read
//     something that may be old, and throws it away.
// R4  The owner writes a slot again after it has seen head past it, hence after the thief's read.
//
// push     1  tail − head = 256: full       2  slot := value        3  tail +1
// take     1  head = tail: empty            2  value := slot        3  head: +1, or start over
//
// FIFO for the owner too: the ring holds what is older than the owner's slot, and order of arrival is fair.
//
// Rejected: the classic deque with a LIFO end (a full barrier on each pop, and the oldest item starves).
struct StealingRing: ~Copyable, @unchecked Sendable {  // both indices and all slots are atomic
  typealias Value = UnsafeMutableRawPointer
  private typealias Slot = Atomic<UnsafeMutableRawPointer?>

  static let capacity = 256

  private let head = Atomic<UInt64>(0)
  private let gapBehindHead = CacheLine.Gap()
  private let tail = Atomic<UInt64>(0)
  /// I
  private let slots: UnsafeMutablePointer<Slot>
  private let gapBehindTail = CacheLine.Gap()

  init() {
    let size = Self.capacity * MemoryLayout<Slot>.stride
    slots = Memory.allocate(size, alignment: CacheLine.size).bindMemory(to: Slot.self, capacity: Self.capacity)
    for index in 0..<Self.capacity { (slots + index).initialize(to: Slot(nil)) }
  }

  deinit { Memory.free(UnsafeMutableRawPointer(slots)) }

  /// unsafe: within the ring by construction; the array lives as long as the ring.
  @inline(__always)
  private borrowing func slot(_ index: UInt64) -> UnsafeMutablePointer<Slot> {
    slots + Int(truncatingIfNeeded: index & UInt64(Self.capacity - 1))
  }

  // MARK: Owner

  /// Appends `value`. Owner only.
  ///
  /// - Returns: false if the ring is full.
  @inline(__always)
  borrowing func push(_ value: Value) -> Bool {
    // relaxed: the owner's own index.
    let end = tail.load(ordering: .relaxed)
    // pairs with: take – publishes that the slots before head have been read (R4)
    if end &- head.load(ordering: .acquiring) >= UInt64(Self.capacity) { return false }
    // relaxed: published by tail.
    slot(end).pointee.store(value, ordering: .relaxed)
    // pairs with: steal – publishes the slot and what the value points to
    tail.store(end &+ 1, ordering: .releasing)
    return true
  }

  /// Removes and returns the oldest value. Owner only.
  @inline(__always)
  borrowing func pop() -> Value? {
    while true {
      // relaxed: the owner's own index, and one that the exchange verifies.
      let begin = head.load(ordering: .relaxed)
      if begin == tail.load(ordering: .relaxed) { return nil }
      if let value = take(begin) { return value }
    }
  }

  // MARK: Any thread

  /// Removes and returns the oldest value. Any thread; starts over while others take at the same time.
  borrowing func steal() -> Value? {
    while true {
      // relaxed: verified by the exchange. A tail that is older than this head is at most as large: then there is nothing that
      // the thief must know of, for it would know the tail that a push before this call has left.
      let begin = head.load(ordering: .relaxed)
      // pairs with: push – publishes the slots before tail, and what their values point to
      let end = tail.load(ordering: .acquiring)
      if begin >= end { return nil }
      if let value = take(begin) { return value }
    }
  }

  /// How many values there are: exact for the owner if nobody steals, an estimate for others.
  @inline(__always)
  var count: Int {
    // relaxed: an estimate.
    let begin = head.load(ordering: .relaxed)
    let end = tail.load(ordering: .relaxed)
    return end > begin ? min(Int(end &- begin), Self.capacity) : 0
  }

  @inline(__always)
  private borrowing func take(_ index: UInt64) -> Value? {
    // relaxed: ordered by tail before, verified by head after (R3).
    let value = slot(index).pointee.load(ordering: .relaxed)
    // relaxed: a failed exchange is followed by another look.
    // pairs with: push – publishes that the slot has been read. It acquires nothing: a thief has acquired the value with the
    // tail, and the owner has written it.
    let (taken, _) = head.compareExchange(
      expected: index, desired: index &+ 1, successOrdering: .releasing, failureOrdering: .relaxed)
    return taken ? value : nil
  }
}
