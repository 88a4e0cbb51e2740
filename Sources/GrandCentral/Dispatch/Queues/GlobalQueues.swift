// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The queues that exist from the start. They are never freed.
enum GlobalQueues {
  static let userInteractive = make(.userInteractive, "com.apple.root.user-interactive-qos")
  static let userInitiated = make(.userInitiated, "com.apple.root.user-initiated-qos")
  static let `default` = make(.default, "com.apple.root.default-qos")
  static let utility = make(.utility, "com.apple.root.utility-qos")
  static let background = make(.background, "com.apple.root.background-qos")

  static let main = immortal(
    DispatchQueue(kind: .main, name: QueueName("com.apple.main-thread"), qos: .unspecified, target: nil))

  /// Every thread uses these queues: counting references to them would be what threads contend for.
  private static func immortal(_ queue: DispatchQueue) -> DispatchQueue {
    Immortal.grant(queue)
    return queue
  }

  private static func make(_ qos: DispatchQoS, _ label: StaticString) -> DispatchQueue {
    Hooks.setLaneName { raw in
      // unsafe: the caller keeps the lane alive meanwhile.
      let name = Unmanaged<DispatchQueue>.fromOpaque(raw)._withUnsafeGuaranteedRef { $0.name }
      return Unmanaged.passRetained(LaneLabel(name)).toOpaque()
    }
    Hooks.setBandName { rank in
      Unmanaged.passRetained(LaneLabel(GlobalQueues.queue(for: Band(rank: rank)).name)).toOpaque()
    }
    Fork.setGuardsAbove { hold in
      DispatchQueue.holdHierarchy(hold)
      MainLoop.holdDescriptor(hold)
      PooledQueue.holdRetired(hold)
      Specifics.holdWriting(hold)
    }
    return immortal(DispatchQueue(kind: .global, name: QueueName(label), qos: QoSWord(qos), target: nil))
  }

  static func queue(for qosClass: DispatchQoS.QoSClass) -> DispatchQueue {
    switch qosClass {
    case .userInteractive: userInteractive
    case .userInitiated: userInitiated
    case .default, .unspecified: `default`
    case .utility: utility
    case .background: background
    }
  }

  /// The target of a queue that is created with `qos` and without a target.
  static func root(for qos: QoSWord) -> DispatchQueue {
    queue(for: qos.isUnspecified ? .default : qos.qos.qosClass)
  }

  static func queue(for band: Band) -> DispatchQueue {
    switch band {
    case .userInteractive: userInteractive
    case .userInitiated: userInitiated
    case .normal: `default`
    case .utility: utility
    default: background
    }
  }
}

extension DispatchQueue {
  /// The queue whose items run on the main thread, one at a time.
  ///
  /// Its items run once the main thread is in `dispatchMain()`, or in a loop that calls `DispatchMainLoop.drain()`. In a
  /// program that does neither they run where the main actor's jobs do: under an `async` main, or in Foundation's run loop.
  public final class var main: DispatchQueue { GlobalQueues.main }

  /// The shared concurrent queue of a quality of service.
  ///
  /// ```swift
  /// DispatchQueue.global(qos: .utility).async { compress(file) }
  /// ```
  public final class func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue {
    GlobalQueues.queue(for: qos)
  }

  /// The shared concurrent queue of a priority of old.
  public final class func global(priority: GlobalQueuePriority) -> DispatchQueue {
    GlobalQueues.queue(for: priority.qosClass)
  }
}
