// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// What the loop over a chunk of `concurrentPerform`, which is compiled in the client, shares with the library.
///
/// The loop notes each index before it looks at the end, and looks at the end before it begins the index. So another thread can put
/// the end back and see how far the loop has come (ApplyTurn.swift).
@usableFromInline
struct ApplyLoop: ~Copyable {
  @usableFromInline typealias Pointer = UnsafeMutablePointer<ApplyLoop>

  /// The index that the loop is in, or about to begin. Written by the owner only.
  @usableFromInline let index = Atomic<Int>(0)
  /// Where the loop stops; 0 while no chunk is open.
  @usableFromInline let end = Atomic<Int>(0)

  @inline(__always)
  init() {}

  /// The client's loop.
  @inlinable
  @inline(__always)
  static func run(_ loop: Pointer, _ work: (Int) -> Void) {
    // relaxed: the owner's own word.
    var index = loop[0].index.load(ordering: .relaxed)
    while loop[0].mayBegin(index) {
      work(index)
      index &+= 1
    }
  }

  @inlinable
  @inline(__always)
  borrowing func mayBegin(_ next: Int) -> Bool {
    // relaxed: ApplyTurn.P3 orders the note before the look, for the processor. The compiler keeps the atomic accesses of a thread in
    // order, though the language does not promise it.
    index.store(next, ordering: .relaxed)
    return next < end.load(ordering: .relaxed)
  }
}
