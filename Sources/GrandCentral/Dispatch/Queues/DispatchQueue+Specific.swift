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
    let box = value.map { Specifics.ValueBox(key: key, value: $0) }
    // Released outside of the list's section: its deinit may come back here.
    let old = readyExtras.specifics.replace(key, with: box)
    withExtendedLifetime(old) {}
  }

  /// The value that this queue carries under `key`.
  public final func getSpecific<T>(key: DispatchSpecificKey<T>) -> T? {
    // unsafe: the extras live as long as the queue.
    guard let extras = extrasReference else { return nil }
    return extras._withUnsafeGuaranteedRef { $0.specifics.value(for: key) }
  }

  /// The value under `key` of the current queue, or of the nearest queue along its targets that carries one.
  public final class func getSpecific<T>(key: DispatchSpecificKey<T>) -> T? {
    guard let frame = Frame.innermost else { return current.getSpecific(key: key) }
    var link = frame.pointee.queue
    while let raw = link {
      // unsafe: a queue in a frame is alive, and so is its chain: neither can be retargeted while an item runs.
      let queue = Unmanaged<DispatchQueue>.fromOpaque(raw)
      if let value = queue._withUnsafeGuaranteedRef({ $0.getSpecific(key: key) }) { return value }
      link = queue._withUnsafeGuaranteedRef { $0.targetPointer }
    }
    return nil
  }
}
