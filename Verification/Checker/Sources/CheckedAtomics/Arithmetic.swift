// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CheckerHooks

extension Atomic where Value: FixedWidthInteger {
  @inlinable @inline(__always)
  borrowing func pair(
    _ operation: Int, _ operand: Value, _ ordering: AtomicUpdateOrdering, _ result: (Value, Value) -> Value
  ) -> (oldValue: Value, newValue: Value) {
    let old = Value.checkedValue(update(operation, Value.checkedWord(operand), ordering))
    return (old, result(old, operand))
  }

  @inlinable @inline(__always) @discardableResult
  public borrowing func wrappingAdd(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) { pair(CK_ADD, operand, ordering, &+) }

  @inlinable @inline(__always) @discardableResult
  public borrowing func wrappingSubtract(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) { pair(CK_SUB, operand, ordering, &-) }

  /// Traps at an overflow.
  @inlinable @inline(__always) @discardableResult
  public borrowing func add(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
    pair(CK_ADD, operand, ordering, +)
  }

  /// Traps at an overflow.
  @inlinable @inline(__always) @discardableResult
  public borrowing func subtract(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) { pair(CK_SUB, operand, ordering, -) }

  @inlinable @inline(__always) @discardableResult
  public borrowing func bitwiseAnd(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) { pair(CK_AND, operand, ordering, &) }

  @inlinable @inline(__always) @discardableResult
  public borrowing func bitwiseOr(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) { pair(CK_OR, operand, ordering, |) }

  @inlinable @inline(__always) @discardableResult
  public borrowing func bitwiseXor(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) { pair(CK_XOR, operand, ordering, ^) }

  @inlinable @inline(__always) @discardableResult
  public borrowing func min(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
    pair(Value.isSigned ? CK_MIN : CK_UMIN, operand, ordering) { Swift.min($0, $1) }
  }

  @inlinable @inline(__always) @discardableResult
  public borrowing func max(_ operand: Value, ordering: AtomicUpdateOrdering) -> (oldValue: Value, newValue: Value) {
    pair(Value.isSigned ? CK_MAX : CK_UMAX, operand, ordering) { Swift.max($0, $1) }
  }
}

extension Atomic where Value == Bool {
  @inlinable @inline(__always)
  borrowing func pair(
    _ operation: Int, _ operand: Bool, _ ordering: AtomicUpdateOrdering, _ result: (Bool, Bool) -> Bool
  ) -> (oldValue: Bool, newValue: Bool) {
    let old = update(operation, operand ? 1 : 0, ordering) & 1 != 0
    return (old, result(old, operand))
  }

  @inlinable @inline(__always) @discardableResult
  public borrowing func logicalAnd(_ operand: Bool, ordering: AtomicUpdateOrdering) -> (oldValue: Bool, newValue: Bool)
  {
    pair(CK_AND, operand, ordering) { $0 && $1 }
  }

  @inlinable @inline(__always) @discardableResult
  public borrowing func logicalOr(_ operand: Bool, ordering: AtomicUpdateOrdering) -> (oldValue: Bool, newValue: Bool) {
    pair(CK_OR, operand, ordering) { $0 || $1 }
  }

  @inlinable @inline(__always) @discardableResult
  public borrowing func logicalXor(_ operand: Bool, ordering: AtomicUpdateOrdering) -> (oldValue: Bool, newValue: Bool)
  {
    pair(CK_XOR, operand, ordering) { $0 != $1 }
  }
}
