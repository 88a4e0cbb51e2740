// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One value that a queue carries.
@usableFromInline
class SpecificBox {
  /// The address that names the value: of the key object, or, in C, of anything.
  fileprivate let key: UnsafeRawPointer
  /// Guarded by `busy`.
  fileprivate var next: Unmanaged<SpecificBox>?

  init(key: UnsafeRawPointer) { self.key = key }
}

@usableFromInline
final class SpecificValue<T>: SpecificBox {
  @usableFromInline let value: T
  /// As long as there is a value the address is this key's.
  private let owner: DispatchSpecificKey<T>

  init(key: DispatchSpecificKey<T>, value: T) {
    self.value = value
    owner = key
    super.init(key: Unmanaged.passUnretained(key).toOpaque())
  }
}

/// A value found, which stays as it is until `leave`. The queue must be alive.
@usableFromInline
struct SpecificLookup {
  @usableFromInline let box: Unmanaged<SpecificBox>
  private let busy: UnsafePointer<Atomic<UInt32>>

  fileprivate init(box: Unmanaged<SpecificBox>, busy: UnsafePointer<Atomic<UInt32>>) {
    self.box = box
    self.busy = busy
  }

  @inlinable
  func value<T>(of type: T.Type) -> T {
    // unsafe: what is stored under a key of T is a box of T, and the list retains it.
    box._withUnsafeGuaranteedRef { unsafeDowncast($0, to: SpecificValue<T>.self).value }
  }

  @usableFromInline
  func leave() {
    // pairs with: enter – publishes the list
    busy.pointee.store(0, ordering: .releasing)
  }
}

/// The values that one queue carries, by key: a short list behind a word that spins.
///
/// Reading is on hot paths, so the section is as short as can be: find the key, copy the value. No code of the program
/// runs inside: a copy of a value runs none, and what is replaced is released outside.
///
/// A fork may find a reader inside, which the child does not have. The word notes the generation of the process, so the
/// child takes the section over; the list is whole, for a reader changes nothing. Writers hold a lock besides that is held
/// across the fork.
struct Specifics: ~Copyable, @unchecked Sendable {  // the list is guarded by `busy`
  private let busy = Atomic<UInt32>(0)
  /// Guarded by `busy`: retained boxes, linked.
  private let first = Atomic<UnsafeMutableRawPointer?>(nil)

  private static let writing = Lock()

  /// Nobody may be changing values while the process forks.
  static func holdWriting(_ hold: Bool) { hold ? writing.lock() : writing.unlock() }

  deinit {
    // relaxed: nobody else is left.
    var link = first.load(ordering: .relaxed).map { Unmanaged<SpecificBox>.fromOpaque($0) }
    while let box = link {
      link = box._withUnsafeGuaranteedRef { $0.next }
      box.release()
    }
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
    var link = first.load(ordering: .relaxed).map { Unmanaged<SpecificBox>.fromOpaque($0) }
    while let box = link {
      // unsafe: a box in the list is retained by it; the word lies in an object, the queue's extras.
      if box._withUnsafeGuaranteedRef({ $0.key == key }) {
        return _withUnprotectedUnsafePointer(to: busy) { SpecificLookup(box: box, busy: $0) }
      }
      link = box._withUnsafeGuaranteedRef { $0.next }
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
      new.next = first.load(ordering: .relaxed).map { Unmanaged<SpecificBox>.fromOpaque($0) }
      first.store(Unmanaged.passRetained(new).toOpaque(), ordering: .relaxed)
    }
    return old
  }

  private func remove(_ key: UnsafeRawPointer) -> SpecificBox? {
    var previous: Unmanaged<SpecificBox>?
    // relaxed: guarded by the word.
    var link = first.load(ordering: .relaxed).map { Unmanaged<SpecificBox>.fromOpaque($0) }
    while let box = link {
      let next = box._withUnsafeGuaranteedRef { $0.next }
      if box._withUnsafeGuaranteedRef({ $0.key == key }) {
        if let previous {
          previous._withUnsafeGuaranteedRef { $0.next = next }
        } else {
          first.store(next?.toOpaque(), ordering: .relaxed)
        }
        return box.takeRetainedValue()
      }
      previous = box
      link = next
    }
    return nil
  }
}
