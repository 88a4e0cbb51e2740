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
  public init() {}
}

extension DispatchQueue {
  /// Attaches `value` to this queue under `key`; nil removes what was there. The old value is released.
  public final func setSpecific<T>(key: DispatchSpecificKey<T>, value: T?) {
    let box = value.map { SpecificValue(key: key, value: $0) }
    replaceSpecific(Unmanaged.passUnretained(key).toOpaque(), with: box)
  }

  /// The value that this queue carries under `key`.
  @inlinable
  public final func getSpecific<T>(key: DispatchSpecificKey<T>) -> T? {
    guard let found = lookUp(Unmanaged.passUnretained(key).toOpaque()) else { return nil }
    defer { found.leave() }
    return found.value(of: T.self)
  }

  /// The value under `key` of the current queue, or of the nearest queue along its targets that carries one.
  @inlinable
  public final class func getSpecific<T>(key: DispatchSpecificKey<T>) -> T? {
    guard let found = lookUpCurrent(Unmanaged.passUnretained(key).toOpaque()) else { return nil }
    defer { found.leave() }
    return found.value(of: T.self)
  }

  // The search knows nothing of types, so that it is compiled once, here; only the value's own copy is the client's.
  @usableFromInline
  final func lookUp(_ key: UnsafeRawPointer) -> SpecificLookup? {
    // unsafe: the extras live as long as the queue.
    extrasReference?._withUnsafeGuaranteedRef { $0.specifics.lookUp(key) }
  }

  @usableFromInline
  final class func lookUpCurrent(_ key: UnsafeRawPointer) -> SpecificLookup? {
    guard let context = QueueContext.innermost else { return current.lookUp(key) }
    var link = context.pointee.queue
    while let raw = link {
      // unsafe: a queue in a context is alive, and so is its chain: neither can be retargeted while an item runs.
      let queue = Unmanaged<DispatchQueue>.fromOpaque(raw)
      if let found = queue._withUnsafeGuaranteedRef({ $0.lookUp(key) }) { return found }
      link = queue._withUnsafeGuaranteedRef { $0.targetPointer }
    }
    return nil
  }

  /// Puts `box` in the place of the one with the same key.
  final func replaceSpecific(_ key: UnsafeRawPointer, with box: SpecificBox?) {
    // Released outside of the list's section: its deinit may come back here.
    let old = readyExtras.specifics.replace(key, with: box)
    withExtendedLifetime(old) {}
  }
}
