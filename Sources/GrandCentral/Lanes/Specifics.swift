// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// One value that a queue carries.
@usableFromInline
class SpecificBox {
  /// The address that names the value: of the key object, or, in C, of anything.
  fileprivate let key: UnsafeRawPointer
  /// Guarded by `busy`.
  fileprivate var next: Borrowed<SpecificBox>?

  init(key: UnsafeRawPointer) { self.key = key }
}

/// A value found, which stays as it is until `leave`. The queue must be alive.
@usableFromInline
struct SpecificLookup {
  @usableFromInline let box: Borrowed<SpecificBox>
  private let busy: UnsafePointer<Atomic<UInt32>>

  fileprivate init(box: Borrowed<SpecificBox>, busy: UnsafePointer<Atomic<UInt32>>) {
    self.box = box
    self.busy = busy
  }

  /// Not inlined, and not without a call of C: the compiler takes a store for nothing that could release the copy of the value, and moves the
  /// copy's retain behind it, where another thread may have released the value already.
  @usableFromInline @inline(never)
  func leave() {
    gc_prefetch(busy)
    // pairs with: enter – publishes the list
    busy.pointee.store(0, ordering: .releasing)
  }
}

/// The values that one queue carries, by key: a short list behind a word that spins.
///
/// Reading is on hot paths, so the section is as short as can be: find the key, copy the value. No code of the program
/// runs inside: a copy of a value runs none, and what is replaced is released outside.
///
/// A fork may find a reader inside, and the child does not have that thread. The word notes the generation of the process, so
/// the child takes the section over. The list is whole, because a reader changes nothing. Writers also hold a lock that is
/// held across the fork.
struct Specifics: ~Copyable, @unchecked Sendable {  // the list is guarded by `busy`
  private let busy = Atomic<UInt32>(0)
  /// Guarded by `busy`: retained boxes, linked.
  private let first = Atomic<UnsafeMutableRawPointer?>(nil)

  private static let writing = ProcessLock()

  /// No thread may be changing values while the process forks.
  static func holdWriting(_ hold: Bool) { hold ? writing.lock() : writing.unlock() }

  deinit {
    // relaxed: no other thread is left.
    var link = first.load(ordering: .relaxed).map { Borrowed<SpecificBox>(word: $0) }
    while let box = link {
      link = box.use { $0.next }
      box.giveBack()
    }
  }

  /// Whether there are none now.
  var isEmpty: Bool {
    // relaxed: no value is read.
    first.load(ordering: .relaxed) == nil
  }

  @inline(__always)
  private func enter() {
    let mine = Thread.forkGeneration &+ 1
    // pairs with: exit – publishes the list
    let found = busy.exchange(mine, ordering: .acquiring)
    if found == mine { enterSlow(mine) }
  }

  /// The word was taken, by a thread of this process. What an earlier generation left there counts as free.
  @inline(never)
  private func enterSlow(_ mine: UInt32) {
    var backoff = Backoff()
    // pairs with: exit – publishes the list
    while busy.exchange(mine, ordering: .acquiring) == mine { backoff.wait() }
  }

  @inline(__always)
  private func exit() {
    // pairs with: enter – publishes the list
    busy.store(0, ordering: .releasing)
  }

  /// Enters the section and stays in it if there is a box for the key: its finder leaves.
  @inline(__always)
  func lookUp(_ key: UnsafeRawPointer) -> SpecificLookup? {
    enter()
    // relaxed: guarded by the word.
    var link = first.load(ordering: .relaxed).map { Borrowed<SpecificBox>(word: $0) }
    while let box = link {
      // unsafe: a box in the list is retained by it; the word lies in an object, the queue's extras.
      if box.use({ $0.key == key }) {
        return _withUnprotectedUnsafePointer(to: busy) { SpecificLookup(box: box, busy: $0) }
      }
      link = box.use { $0.next }
    }
    exit()
    return nil
  }

  /// Puts `new` in the place of the box with the same key, which is returned.
  func replace(_ key: UnsafeRawPointer, with new: SpecificBox?) -> SpecificBox? {
    Self.writing.lock()
    enter()
    defer {
      exit()
      Self.writing.unlock()
    }
    let old = remove(key)
    if let new {
      // relaxed: guarded by the word.
      new.next = first.load(ordering: .relaxed).map { Borrowed<SpecificBox>(word: $0) }
      first.store(Owned(new).intoWord(), ordering: .relaxed)
    }
    return old
  }

  private func remove(_ key: UnsafeRawPointer) -> SpecificBox? {
    var previous: Borrowed<SpecificBox>?
    // relaxed: guarded by the word.
    var link = first.load(ordering: .relaxed).map { Borrowed<SpecificBox>(word: $0) }
    while let box = link {
      let next = box.use { $0.next }
      if box.use({ $0.key == key }) {
        if let previous {
          previous.use { $0.next = next }
        } else {
          first.store(next?.word, ordering: .relaxed)
        }
        return Owned<SpecificBox>(word: box.word).take()
      }
      previous = box
      link = next
    }
    return nil
  }
}

extension Lane {
  // The search knows nothing of types, so that it is compiled once, here; only the value's own copy is the client's.
  @usableFromInline
  final func lookUp(_ key: UnsafeRawPointer) -> SpecificLookup? {
    // unsafe: the extras live as long as the queue.
    extrasReference?.use { $0.specifics.lookUp(key) }
  }

  /// Puts `box` in the place of the one with the same key.
  final func replaceSpecific(_ key: UnsafeRawPointer, with box: SpecificBox?) {
    // Released outside of the list's section: its deinit may come back here.
    let old = readyExtras.specifics.replace(key, with: box)
    withExtendedLifetime(old) {}
  }
}
