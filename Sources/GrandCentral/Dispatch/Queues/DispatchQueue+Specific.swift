// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The name of a value that queues can carry.
///
/// ```swift
/// let role = DispatchSpecificKey<String>()
/// queue.setSpecific(key: role, value: "writer")
/// queue.sync { DispatchQueue.getSpecific(key: role) }  // "writer"
/// ```
public final class DispatchSpecificKey<T>: Sendable {
  /// A key that no queue has a value for yet.
  ///
  /// Complexity: O(1). Blocking: never.
  public init() {}
}

@usableFromInline
final class SpecificValue<T>: SpecificBox {
  @usableFromInline let value: T
  /// As long as there is a value the address is this key's.
  private let owner: DispatchSpecificKey<T>

  init(key: DispatchSpecificKey<T>, value: T) {
    self.value = value
    owner = key
    super.init(key: Borrowed(key).word)
  }
}

extension SpecificLookup {
  @inlinable
  func value<T>(of type: T.Type) -> T {
    // unsafe: what is stored under a key of T is a box of T, and the list retains it.
    box.use { unsafeDowncast($0, to: SpecificValue<T>.self).value }
  }
}

extension DispatchQueue {
  /// Attaches `value` to this queue under `key`; nil removes what was there. The old value is released.
  ///
  /// Complexity: O(number of keys that the queue has). Blocking: never.
  public final func setSpecific<T>(key: DispatchSpecificKey<T>, value: T?) {
    let box = value.map { SpecificValue(key: key, value: $0) }
    replaceSpecific(Borrowed(key).word, with: box)
  }

  /// The value that this queue carries under `key`.
  ///
  /// Complexity: O(number of keys that the queue has). Blocking: never.
  @inlinable
  public final func getSpecific<T>(key: DispatchSpecificKey<T>) -> T? {
    guard let found = lookUp(Borrowed(key).word) else { return nil }
    defer { found.leave() }
    return found.value(of: T.self)
  }

  /// The value under `key` of the current queue, or of the nearest queue along its targets that carries one.
  ///
  /// Complexity: O(number of keys of the queues up to the one that has a value). Blocking: never.
  @inlinable
  public final class func getSpecific<T>(key: DispatchSpecificKey<T>) -> T? {
    guard let found = lookUpCurrent(Borrowed(key).word) else { return nil }
    defer { found.leave() }
    return found.value(of: T.self)
  }

  @usableFromInline
  final class func lookUpCurrent(_ key: UnsafeRawPointer) -> SpecificLookup? {
    guard let context = QueueContext.innermost else { return current.lookUp(key) }
    var found: SpecificLookup?
    // unsafe: see `chainContains`.
    _ = context.pointee.lane?.use { lane in
      lane.chainContains { lane in
        found = lane.lookUp(key)
        return found != nil
      }
    }
    return found
  }
}
