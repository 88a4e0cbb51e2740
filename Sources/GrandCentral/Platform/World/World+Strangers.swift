// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Threads that use the library beside a simulation. The first one is noted, with its name, for it may have ended when it is asked
// for, and with the queue that it has used if that is known.
//
//   free ──noteStranger──► named ──noteStranger──► noted ──takeStranger──► free
//
// Strangers.S1  The thread that makes the word `named` writes the name, and makes it `noted`. The name stands until the word is free.
// Strangers.S2  One thread takes strangers at a time: that of the run which has the turn.
extension World {
  /// Whether simulations go on: a thread that is in none is a stranger.
  private static let hasBegun = Atomic<Bool>(false)

  /// `free`, `named`, or the kernel's id of the stranger, and above it the number of a queue or 0.
  private static let stranger = Atomic<UInt64>(free)
  private static let free: UInt64 = 0
  private static let named: UInt64 = .max
  /// The bytes of its name, up to a zero.
  private static let firstOfName = Atomic<UInt64>(0)
  private static let restOfName = Atomic<UInt64>(0)

  /// Simulations begin, or are over.
  static func setBegun(_ begun: Bool) {
    // relaxed: a stranger that sees it late is noted the next time.
    hasBegun.store(begun, ordering: .relaxed)
    if begun { _ = takeStranger() }
  }

  /// Tells the simulation what the recorder would write down; or notes that the calling thread is not in it.
  @inline(never)
  static func note(_ kind: UInt8, _ queue: UInt32) {
    if let world = current { return world.note(kind, queue) }
    noteStranger(queue)
  }

  /// The calling thread, which is in no simulation, uses the library.
  static func noteStranger(_ queue: UInt32 = 0) {
    // relaxed: a setting.
    if !hasBegun.load(ordering: .relaxed) { return }
    // pairs with: takeStranger – publishes that the former name has been read
    // relaxed: on failure, another thread is noted.
    let (isFirst, _) = stranger.compareExchange(
      expected: free, desired: named, successOrdering: .acquiring, failureOrdering: .relaxed)
    if !isFirst { return }
    var name: (UInt64, UInt64) = (0, 0)
    // unsafe: the kernel writes 16 bytes at most.
    withUnsafeMutableBytes(of: &name) { gc_thread_get_name($0.baseAddress!.assumingMemoryBound(to: CChar.self)) }
    // relaxed: published with the word.
    firstOfName.store(name.0, ordering: .relaxed)
    restOfName.store(name.1, ordering: .relaxed)
    // pairs with: takeStranger – publishes the name
    stranger.store(UInt64(queue) << 32 | UInt64(Thread.id), ordering: .releasing)
  }

  /// The first stranger since this was asked before.
  static func takeStranger() -> (thread: UInt32, name: String, queue: UInt32)? {
    // pairs with: noteStranger – publishes the name
    let noted = stranger.load(ordering: .acquiring)
    if noted == free || noted == named { return nil }
    // relaxed: acquired with the word.
    var name = (firstOfName.load(ordering: .relaxed), restOfName.load(ordering: .relaxed))
    // pairs with: noteStranger – publishes that the name has been read
    stranger.store(free, ordering: .releasing)
    let text = withUnsafeBytes(of: &name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    return (UInt32(truncatingIfNeeded: noted), text, UInt32(noted >> 32))
  }

  /// In the child of a fork, whose only thread is in the real world.
  static func leaveInChild() {
    // relaxed: there is one thread.
    hasBegun.store(false, ordering: .relaxed)
    if isSimulated { leave() }
  }
}
