// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
// Written by Verification/Perturbed/generate.py.

import CPerturbation
import Synchronization

extension Atomic where Value.AtomicRepresentation == _Atomic8BitStorage {
  @_semantics("atomics.requires_constant_orderings") @_transparent @usableFromInline
  borrowing func load(
    ordering: AtomicLoadOrdering
  ) -> Value {
    gc_perturb()
    defer { gc_perturb() }
    return base.load(
      ordering: ordering)
  }

  @_semantics("atomics.requires_constant_orderings") @_transparent @usableFromInline
  borrowing func store(
    _ value: consuming Value,
    ordering: AtomicStoreOrdering
  ) {
    gc_perturb()
    defer { gc_perturb() }
    base.store(
      value, ordering: ordering)
  }

  @_semantics("atomics.requires_constant_orderings") @_transparent @usableFromInline
  borrowing func exchange(
    _ value: consuming Value,
    ordering: AtomicUpdateOrdering
  ) -> Value {
    gc_perturb()
    defer { gc_perturb() }
    return base.exchange(
      value, ordering: ordering)
  }

  @_semantics("atomics.requires_constant_orderings") @_transparent @usableFromInline
  borrowing func compareExchange(
    expected: consuming Value,
    desired: consuming Value,
    ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    gc_perturb()
    defer { gc_perturb() }
    return base.compareExchange(
      expected: expected, desired: desired, ordering: ordering)
  }

  @_semantics("atomics.requires_constant_orderings") @_transparent @usableFromInline
  borrowing func compareExchange(
    expected: consuming Value,
    desired: consuming Value,
    successOrdering: AtomicUpdateOrdering,
    failureOrdering: AtomicLoadOrdering
  ) -> (exchanged: Bool, original: Value) {
    gc_perturb()
    defer { gc_perturb() }
    return base.compareExchange(
      expected: expected, desired: desired, successOrdering: successOrdering, failureOrdering: failureOrdering)
  }

  @_semantics("atomics.requires_constant_orderings") @_transparent @usableFromInline
  borrowing func weakCompareExchange(
    expected: consuming Value,
    desired: consuming Value,
    ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    gc_perturb()
    defer { gc_perturb() }
    return base.weakCompareExchange(
      expected: expected, desired: desired, ordering: ordering)
  }

  @_semantics("atomics.requires_constant_orderings") @_transparent @usableFromInline
  borrowing func weakCompareExchange(
    expected: consuming Value,
    desired: consuming Value,
    successOrdering: AtomicUpdateOrdering,
    failureOrdering: AtomicLoadOrdering
  ) -> (exchanged: Bool, original: Value) {
    gc_perturb()
    defer { gc_perturb() }
    return base.weakCompareExchange(
      expected: expected, desired: desired, successOrdering: successOrdering, failureOrdering: failureOrdering)
  }
}

// A loop of exchanges: one step all the same, and a gap before it in which others come first.
extension Atomic where Value.AtomicRepresentation == _Atomic8BitStorage, Value: FixedWidthInteger {
  @_semantics("atomics.requires_constant_orderings") @_transparent @usableFromInline @discardableResult
  borrowing func wrappingAdd(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    // relaxed: the first look is verified by the exchange.
    var seen = base.load(ordering: .relaxed)
    while true {
      let result = compareExchange(expected: seen, desired: seen &+ operand, ordering: ordering)
      if result.exchanged { return (seen, seen &+ operand) }
      seen = result.original
    }
  }

  @_semantics("atomics.requires_constant_orderings") @_transparent @usableFromInline @discardableResult
  borrowing func wrappingSubtract(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    // relaxed: the first look is verified by the exchange.
    var seen = base.load(ordering: .relaxed)
    while true {
      let result = compareExchange(expected: seen, desired: seen &- operand, ordering: ordering)
      if result.exchanged { return (seen, seen &- operand) }
      seen = result.original
    }
  }

  @_semantics("atomics.requires_constant_orderings") @_transparent @usableFromInline @discardableResult
  borrowing func bitwiseOr(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    // relaxed: the first look is verified by the exchange.
    var seen = base.load(ordering: .relaxed)
    while true {
      let result = compareExchange(expected: seen, desired: seen | operand, ordering: ordering)
      if result.exchanged { return (seen, seen | operand) }
      seen = result.original
    }
  }

  @_semantics("atomics.requires_constant_orderings") @_transparent @usableFromInline @discardableResult
  borrowing func bitwiseAnd(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    // relaxed: the first look is verified by the exchange.
    var seen = base.load(ordering: .relaxed)
    while true {
      let result = compareExchange(expected: seen, desired: seen & operand, ordering: ordering)
      if result.exchanged { return (seen, seen & operand) }
      seen = result.original
    }
  }

  @_semantics("atomics.requires_constant_orderings") @_transparent @usableFromInline @discardableResult
  borrowing func max(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    // relaxed: the first look is verified by the exchange.
    var seen = base.load(ordering: .relaxed)
    while true {
      let result = compareExchange(expected: seen, desired: Swift.max(seen, operand), ordering: ordering)
      if result.exchanged { return (seen, Swift.max(seen, operand)) }
      seen = result.original
    }
  }
}
