// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Builtin
import CheckerHooks

/// Stands in for `Synchronization.Atomic`: the same names, each operation a point of the explorer.
///
/// The value lies in the memory itself as well, the newest store of the order of modification: a debugger sees it, and
/// code that looks without an atomic operation.
@frozen
@_rawLayout(like: Value)
public struct Atomic<Value: AtomicRepresentable>: ~Copyable, @unchecked Sendable {  // atomic
  @inlinable @inline(__always)
  public init(_ value: consuming Value) {
    ck_atomic_init(address, Self.width, Value.checkedWord(value))
  }

  @inlinable @inline(__always)
  deinit { ck_atomic_gone(address, Self.width) }

  @inlinable @inline(__always)
  var address: UnsafeMutableRawPointer { UnsafeMutableRawPointer(Builtin.addressOfRawLayout(self)) }

  @inlinable @inline(__always)
  static var width: Int32 { Int32(truncatingIfNeeded: MemoryLayout<Value>.size) }

  @inlinable @inline(__always)
  public borrowing func load(ordering: AtomicLoadOrdering) -> Value {
    Value.checkedValue(ck_atomic_load(address, Self.width, ordering.order))
  }

  @inlinable @inline(__always)
  public borrowing func store(_ value: consuming Value, ordering: AtomicStoreOrdering) {
    ck_atomic_store(address, Self.width, Value.checkedWord(value), ordering.order)
  }

  @inlinable @inline(__always)
  public borrowing func exchange(_ value: consuming Value, ordering: AtomicUpdateOrdering) -> Value {
    Value.checkedValue(update(CK_EXCHANGE, Value.checkedWord(value), ordering))
  }

  @inlinable @inline(__always)
  borrowing func update(_ operation: Int, _ operand: UInt64, _ ordering: AtomicUpdateOrdering) -> UInt64 {
    ck_atomic_update(address, Self.width, Int32(operation), operand, ordering.order)
  }

  @inlinable @inline(__always)
  borrowing func compareExchange(
    _ expected: consuming Value, _ desired: consuming Value, _ success: Int32, _ failure: Int32, weak: Bool
  ) -> (exchanged: Bool, original: Value) {
    var found = Value.checkedWord(expected)
    let done = ck_atomic_compare_exchange(
      address, Self.width, &found, Value.checkedWord(desired), success, failure, weak)
    return (done, Value.checkedValue(found))
  }

  @inlinable @inline(__always)
  public borrowing func compareExchange(
    expected: consuming Value, desired: consuming Value, ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    compareExchange(expected, desired, ordering.order, ordering.onFailure, weak: false)
  }

  @inlinable @inline(__always)
  public borrowing func compareExchange(
    expected: consuming Value, desired: consuming Value, successOrdering: AtomicUpdateOrdering,
    failureOrdering: AtomicLoadOrdering
  ) -> (exchanged: Bool, original: Value) {
    compareExchange(expected, desired, successOrdering.order, failureOrdering.order, weak: false)
  }

  @inlinable @inline(__always)
  public borrowing func weakCompareExchange(
    expected: consuming Value, desired: consuming Value, ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    compareExchange(expected, desired, ordering.order, ordering.onFailure, weak: true)
  }

  @inlinable @inline(__always)
  public borrowing func weakCompareExchange(
    expected: consuming Value, desired: consuming Value, successOrdering: AtomicUpdateOrdering,
    failureOrdering: AtomicLoadOrdering
  ) -> (exchanged: Bool, original: Value) {
    compareExchange(expected, desired, successOrdering.order, failureOrdering.order, weak: true)
  }
}
