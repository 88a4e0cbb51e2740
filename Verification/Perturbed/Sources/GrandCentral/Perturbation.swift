// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// Names of a module go before names that it imports: with this file beside the library's sources, `Atomic` in them is
// this one, and nothing of it is in the product. It does what the one of the module Synchronization does, with the same
// orderings, and may be late before and after; see Perturbed8.swift to Perturbed64.swift.

@usableFromInline
struct Atomic<Value: AtomicRepresentable>: ~Copyable {
  @usableFromInline let base: Synchronization.Atomic<Value>

  @inline(__always)
  init(_ value: consuming Value) { base = Synchronization.Atomic(value) }
}

extension Atomic: @unchecked Sendable where Value: Sendable {}  // why: as the atomic that it wraps
