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

/// A value in its box.
private final class SpecificBox<T> {
  let value: T
  init(_ value: T) { self.value = value }
}

extension DispatchQueue {
  /// Attaches `value` to this queue under `key`; nil removes what was there. The old value is released.
  public final func setSpecific<T>(key: DispatchSpecificKey<T>, value: T?) {
    let extras = readyExtras
    let box = value.map { SpecificBox($0) }
    var old: Extras.Specific?
    extras.lock.lock()
    if let index = extras.specifics.firstIndex(where: { $0.key === key }) {
      old = extras.specifics.remove(at: index)
    }
    if let box { extras.specifics.append(Extras.Specific(key: key, value: box)) }
    extras.lock.unlock()
    // Released outside of the lock: its deinit may come back here.
    withExtendedLifetime(old) {}
  }

  /// The value that this queue carries under `key`.
  public final func getSpecific<T>(key: DispatchSpecificKey<T>) -> T? {
    guard let extras = existingExtras else { return nil }
    extras.lock.lock()
    defer { extras.lock.unlock() }
    for specific in extras.specifics where specific.key === key {
      // unsafe: what is stored under a key of T is a box of T.
      return unsafeDowncast(specific.value, to: SpecificBox<T>.self).value
    }
    return nil
  }

  /// The value under `key` of the current queue, or of the nearest queue along its targets that carries one.
  public final class func getSpecific<T>(key: DispatchSpecificKey<T>) -> T? {
    var link: DispatchQueue? = current
    while let queue = link {
      if let value = queue.getSpecific(key: key) { return value }
      link = queue.targetQueue
    }
    return nil
  }
}
