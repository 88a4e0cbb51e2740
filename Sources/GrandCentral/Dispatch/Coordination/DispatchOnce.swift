// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Runs something exactly once: the first caller runs it, and all others wait until it has run.
///
/// ```swift
/// let setUp = DispatchOnce()
/// setUp.run { openDatabase() }
/// ```
///
/// After the first time a call costs one load.
///
/// | word    | meaning                                            |
/// |---------|----------------------------------------------------|
/// | 0       | not yet run                                        |
/// | tid     | runs on that thread, no other thread waits         |
/// | tid + W | runs on that thread, another sleeps on the word    |
/// | done    | has run                                            |
/// | ran     | has run in a simulation, which sees each call      |
public final class DispatchOnce: @unchecked Sendable {  // one atomic word
  private static let done: UInt32 = .max
  /// No thread has this number with `waited`. `hasRun` denies it, so that `begin` comes by.
  private static let ran: UInt32 = .max - 1
  private static let waited: UInt32 = 1 << 31

  private let word = Atomic<UInt32>(0)

  /// Not yet run.
  ///
  /// Complexity: O(1). Blocking: never.
  public init() {}

  /// Runs `body` unless it, or another call's body, has run before. Traps (GC0023) when called from inside the body.
  ///
  /// Complexity: O(1). Blocking: while another thread runs the body.
  @inlinable
  public func run(_ body: () -> Void) {
    if hasRun { return }
    if begin() {
      body()
      finish()
    }
  }

  @usableFromInline
  var hasRun: Bool {
    // pairs with: finish – publishes what the body wrote
    word.load(ordering: .acquiring) == Self.done
  }

  /// - Returns: whether the caller runs the body.
  @usableFromInline
  @inline(never)
  func begin() -> Bool {
    let me = Thread.id
    World.tell(World.looks, on: self)
    // pairs with: finish – publishes what the body wrote
    if word.load(ordering: .acquiring) == Self.ran { return false }
    World.tell(World.changes, on: self)
    while true {
      // relaxed: the first one finds what the initialiser has left.
      // pairs with: finish – publishes what the body wrote
      let (first, seen) = word.compareExchange(
        expected: 0, desired: me, successOrdering: .relaxed, failureOrdering: .acquiring)
      if first {
        Thread.enterBody()
        return true
      }
      if seen >= Self.ran { return false }
      if seen & ~Self.waited == me {
        Fault.misuse(
          .onceReentered,
          "DispatchOnce.run was called from inside its own body, and would wait for itself for ever. Move the nested call "
            + "out of the body.")
      }
      wait(seen)
    }
  }

  private func wait(_ seen: UInt32) {
    if seen & Self.waited == 0 {
      // relaxed: marks that a sleeper must be woken; the body's writes come with `done`.
      let (marked, _) = word.compareExchange(expected: seen, desired: seen | Self.waited, ordering: .relaxed)
      if !marked { return }
    }
    let note = WaitNote.begin(.once, 0, owner: seen & ~Self.waited)
    let blocking = Blocking.begin()
    _withUnprotectedUnsafePointer(to: word) {
      WaitGraph.waitForOnce(Self.awaited(.init(mutating: $0)), while: seen | Self.waited)
    }
    blocking.end()
    note.end()
  }

  /// The body of the once with the word at this address. The C interface's words begin with such a word.
  static func awaited(_ word: Job.Word) -> Awaited {
    Awaited(.once, word, nil) { wait in
      let seen = wait.word
      return seen == 0 || seen >= ran ? .unknown : .runs(on: seen & ~waited)
    }
  }

  @usableFromInline
  func finish() {
    Thread.leaveBody()
    World.tell(World.changes, on: self)
    // pairs with: hasRun, begin – publishes what the body wrote
    if word.exchange(World.isSimulated ? Self.ran : Self.done, ordering: .releasing) & Self.waited != 0 {
      _ = _withUnprotectedUnsafePointer(to: word) { Futex.wake($0, count: .max) }
    }
  }
}
