// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The pools that every program has, each made when it is first asked for. They are never freed.
private enum DefaultPools {
  static let userInteractive = make(.userInteractive, "user-interactive")
  static let userInitiated = make(.userInitiated, "user-initiated")
  static let `default` = make(.default, "default")
  static let utility = make(.utility, "utility")
  static let background = make(.background, "background")

  private static func make(_ qos: DispatchQoS.QoSClass, _ name: String) -> DispatchQueuePool {
    let pool = DispatchQueuePool(
      name: "grand-central.pool." + name, queueCount: Topology.activeProcessors(), qos: qos)
    Immortal.grant(pool)
    return pool
  }
}

extension DispatchQueuePool {
  /// The pool of a quality of service that the whole process shares: as many queues as there are processors to use, at
  /// most 32. `.unspecified` stands for `.default`.
  ///
  /// ```swift
  /// DispatchQueuePool.default(for: .userInitiated).queue.async { decode(image) }
  /// ```
  ///
  /// Complexity: O(1), but for the first call of each class. Blocking: never.
  public static func `default`(for qos: DispatchQoS.QoSClass) -> DispatchQueuePool {
    switch qos {
    case .userInteractive: DefaultPools.userInteractive
    case .userInitiated: DefaultPools.userInitiated
    case .default, .unspecified: DefaultPools.default
    case .utility: DefaultPools.utility
    case .background: DefaultPools.background
    }
  }
}

/// The next queue of the default pool of a quality of service.
///
/// ```swift
/// dispatchQueue(for: .utility).async { compress(file) }
/// ```
///
/// Complexity: O(1), but for the first call of each class. Blocking: never.
public func dispatchQueue(for qos: DispatchQoS.QoSClass) -> DispatchSerialQueue {
  DispatchQueuePool.default(for: qos).queue
}
