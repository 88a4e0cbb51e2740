// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CheckerHooks

@frozen public struct AtomicLoadOrdering: Equatable, Sendable {
  @usableFromInline var code: Int
  @inlinable @_semantics("constant_evaluable") @_transparent init(code: Int) { self.code = code }
  @_semantics("constant_evaluable") @_alwaysEmitIntoClient @_transparent
  public static var relaxed: Self { Self(code: 0) }
  @_semantics("constant_evaluable") @_alwaysEmitIntoClient @_transparent
  public static var acquiring: Self { Self(code: 1) }
  @_semantics("constant_evaluable") @_alwaysEmitIntoClient @_transparent
  public static var sequentiallyConsistent: Self { Self(code: 4) }
  @inlinable var order: Int32 { Int32(truncatingIfNeeded: code) }
}

@frozen public struct AtomicStoreOrdering: Equatable, Sendable {
  @usableFromInline var code: Int
  @inlinable @_semantics("constant_evaluable") @_transparent init(code: Int) { self.code = code }
  @_semantics("constant_evaluable") @_alwaysEmitIntoClient @_transparent
  public static var relaxed: Self { Self(code: 0) }
  @_semantics("constant_evaluable") @_alwaysEmitIntoClient @_transparent
  public static var releasing: Self { Self(code: 2) }
  @_semantics("constant_evaluable") @_alwaysEmitIntoClient @_transparent
  public static var sequentiallyConsistent: Self { Self(code: 4) }
  @inlinable var order: Int32 { Int32(truncatingIfNeeded: code) }
}

@frozen public struct AtomicUpdateOrdering: Equatable, Sendable {
  @usableFromInline var code: Int
  @inlinable @_semantics("constant_evaluable") @_transparent init(code: Int) { self.code = code }
  @_semantics("constant_evaluable") @_alwaysEmitIntoClient @_transparent
  public static var relaxed: Self { Self(code: 0) }
  @_semantics("constant_evaluable") @_alwaysEmitIntoClient @_transparent
  public static var acquiring: Self { Self(code: 1) }
  @_semantics("constant_evaluable") @_alwaysEmitIntoClient @_transparent
  public static var releasing: Self { Self(code: 2) }
  @_semantics("constant_evaluable") @_alwaysEmitIntoClient @_transparent
  public static var acquiringAndReleasing: Self { Self(code: 3) }
  @_semantics("constant_evaluable") @_alwaysEmitIntoClient @_transparent
  public static var sequentiallyConsistent: Self { Self(code: 4) }

  @inlinable var order: Int32 { Int32(truncatingIfNeeded: code) }

  /// What a failed exchange with this ordering does.
  @inlinable var onFailure: Int32 {
    switch code {
    case 1, 3: 1
    case 4: 4
    default: 0
    }
  }
}

@inlinable @inline(__always)
public func atomicMemoryFence(ordering: AtomicUpdateOrdering) { ck_atomic_fence(ordering.order) }
