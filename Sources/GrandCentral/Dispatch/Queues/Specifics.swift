// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One value that a queue carries.
@usableFromInline
class SpecificBox {
  /// I
  fileprivate let key: AnyObject
  /// M(busy)
  fileprivate var next: Unmanaged<SpecificBox>?

  fileprivate init(key: AnyObject) { self.key = key }
}

@usableFromInline
final class SpecificValue<T>: SpecificBox {
  @usableFromInline let value: T

  init(key: DispatchSpecificKey<T>, value: T) {
    self.value = value
    super.init(key: key)
  }
}

/// The values that one queue carries, by key: a short list behind a word that spins.
///
/// Reading is on hot paths, so the section is as short as can be: find the key, retain its box. No code of the program
/// runs inside; what is replaced is released outside.
struct Specifics: ~Copyable, @unchecked Sendable {  // the list is guarded by `busy`
  /// A
  private let busy = Atomic<Bool>(false)
  /// M(busy): retained boxes, linked.
  private let first = Atomic<UnsafeMutableRawPointer?>(nil)

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
  func box(for key: AnyObject) -> SpecificBox? {
    enter()
    defer { exit() }
    // relaxed: guarded by the word.
    var link = first.load(ordering: .relaxed).map { Unmanaged<SpecificBox>.fromOpaque($0) }
    while let box = link {
      // unsafe: a box in the list is retained by it.
      if box._withUnsafeGuaranteedRef({ $0.key === key }) { return box.takeUnretainedValue() }
      link = box._withUnsafeGuaranteedRef { $0.next }
    }
    return nil
  }

  /// Puts `new` in the place of the box with the same key, which is returned.
  func replace(_ key: AnyObject, with new: SpecificBox?) -> SpecificBox? {
    enter()
    defer { exit() }
    let old = remove(key)
    if let new {
      // relaxed: guarded by the word.
      new.next = first.load(ordering: .relaxed).map { Unmanaged<SpecificBox>.fromOpaque($0) }
      first.store(Unmanaged.passRetained(new).toOpaque(), ordering: .relaxed)
    }
    return old
  }

  private func remove(_ key: AnyObject) -> SpecificBox? {
    var previous: Unmanaged<SpecificBox>?
    // relaxed: guarded by the word.
    var link = first.load(ordering: .relaxed).map { Unmanaged<SpecificBox>.fromOpaque($0) }
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
