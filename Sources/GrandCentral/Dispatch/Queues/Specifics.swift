// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The values that one queue carries, by key: a short list behind a word that spins.
///
/// Reading is on hot paths, so the section is as short as can be: find the key, copy the value. No code of the program
/// runs inside; what is replaced is released outside.
struct Specifics: ~Copyable, @unchecked Sendable {  // the list is guarded by `busy`
  /// One value; the generic box below is the only subclass.
  class Box {
    fileprivate let key: AnyObject
    fileprivate var next: Unmanaged<Box>?

    fileprivate init(key: AnyObject) { self.key = key }
  }

  final class ValueBox<T>: Box {
    fileprivate let value: T

    init(key: DispatchSpecificKey<T>, value: T) {
      self.value = value
      super.init(key: key)
    }
  }

  /// A
  private let busy = Atomic<Bool>(false)
  /// M(busy): retained boxes, linked.
  private let first = Atomic<UnsafeMutableRawPointer?>(nil)

  deinit {
    // relaxed: nobody else is left.
    var link = first.load(ordering: .relaxed).map { Unmanaged<Box>.fromOpaque($0) }
    while let box = link {
      link = box._withUnsafeGuaranteedRef { $0.next }
      box.release()
    }
  }

  @inline(__always)
  private func enter() {
    // pairs with: exit – publishes the list
    if !busy.exchange(true, ordering: .acquiring) { return }
    enterSlow()
  }

  @inline(never)
  private func enterSlow() {
    var backoff = Backoff()
    // pairs with: exit – publishes the list
    while busy.exchange(true, ordering: .acquiring) { backoff.wait() }
  }

  @inline(__always)
  private func exit() {
    // pairs with: enter – publishes the list
    busy.store(false, ordering: .releasing)
  }

  @inline(__always)
  func value<T>(for key: DispatchSpecificKey<T>) -> T? {
    enter()
    defer { exit() }
    // relaxed: guarded by the word.
    var link = first.load(ordering: .relaxed).map { Unmanaged<Box>.fromOpaque($0) }
    while let box = link {
      // unsafe: a box in the list is retained by it; what is stored under a key of T is a box of T.
      if box._withUnsafeGuaranteedRef({ $0.key === key }) {
        return box._withUnsafeGuaranteedRef { unsafeDowncast($0, to: ValueBox<T>.self).value }
      }
      link = box._withUnsafeGuaranteedRef { $0.next }
    }
    return nil
  }

  /// Puts `new` in the place of the box with the same key, which is returned.
  func replace(_ key: AnyObject, with new: Box?) -> Box? {
    enter()
    defer { exit() }
    let old = remove(key)
    if let new {
      // relaxed: guarded by the word.
      new.next = first.load(ordering: .relaxed).map { Unmanaged<Box>.fromOpaque($0) }
      first.store(Unmanaged.passRetained(new).toOpaque(), ordering: .relaxed)
    }
    return old
  }

  private func remove(_ key: AnyObject) -> Box? {
    var previous: Unmanaged<Box>?
    // relaxed: guarded by the word.
    var link = first.load(ordering: .relaxed).map { Unmanaged<Box>.fromOpaque($0) }
    while let box = link {
      let next = box._withUnsafeGuaranteedRef { $0.next }
      if box._withUnsafeGuaranteedRef({ $0.key === key }) {
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
