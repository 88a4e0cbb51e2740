// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A record of the insight region that one thread changes while others look: odd while it changes, and another even number
/// afterwards. The writer never waits; a reader that looks at the wrong moment looks again.
//
//   writer   1  word → odd                        reader   1  word, acquiring; odd: again
//            2  fence                                      2  copy
//            3  changes                                    3  fence
//            4  word → even, releasing                     4  word, once more; another number: again
//
// A copy counts if its reader found the same even number twice. It has all that was changed before that number, for step 1 has acquired what
// the writer's step 4 released. And it has nothing that was changed later. Suppose the reader's step 2 read something that a later step 3 of
// the writer has stored. The writer's fence comes before that store, and the reader's fence behind that load, so the two synchronize
// (C11, 7.17.4: the words of a record are loaded and stored whole, as relaxed atomics are). Then the odd number happens before the reader's
// step 4, which finds it, or a later one, and not the even number that was there before.
//
// No ordering of the store of the odd number does that: one that releases orders what is before the store, and one that acquires orders the load
// of an exchange, not its store. On AArch64 a change may be seen before such a number. An addition of nothing by the reader would help; but
// the tool maps the region to read it only.
//
// Rejected: changes that are releasing stores, each of them (no fence, but labels and clearing go by words then).
struct InsightSequence {
  /// How often a reader looks again before it gives up.
  private static let attempts = 1_000

  private let word: UnsafeMutablePointer<Atomic<UInt32>>

  @inline(__always)
  init(_ word: UnsafeMutablePointer<Atomic<UInt32>>) { self.word = word }

  /// Changes what belongs together. One thread at a time does.
  @inline(__always)
  func change(_ body: () -> Void) {
    // relaxed: the writer's own.
    let seen = word.pointee.load(ordering: .relaxed)
    // relaxed: the fence keeps it before the changes.
    word.pointee.store(seen &+ 1, ordering: .relaxed)
    // seq-cst: as a fence that releases; a reader's copy would have a part of the change, and its second look the old number.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    body()
    // pairs with: whole, readers in other processes – publishes the change
    word.pointee.store(seen &+ 2, ordering: .releasing)
  }

  /// What `read` returns, if nothing has changed meanwhile; nil if something does each time.
  func whole<T>(_ read: () -> T) -> T? {
    for _ in 0..<Self.attempts {
      // pairs with: change – publishes what was changed before
      let before = word.pointee.load(ordering: .acquiring)
      if before & 1 == 0 {
        let value = read()
        // seq-cst: as a fence that acquires; the second look would come before the copy, and find the old number.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        // relaxed: the fence keeps it behind the copy.
        if word.pointee.load(ordering: .relaxed) == before { return value }
      }
      Thread.pause()
    }
    return nil
  }
}
