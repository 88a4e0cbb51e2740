// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The queues that exist from the start. They are never freed.
enum GlobalQueues {
  static let userInteractive = make(.userInteractive, "com.apple.root.user-interactive-qos")
  static let userInitiated = make(.userInitiated, "com.apple.root.user-initiated-qos")
  static let `default` = make(.default, "com.apple.root.default-qos")
  static let utility = make(.utility, "com.apple.root.utility-qos")
  static let background = make(.background, "com.apple.root.background-qos")

  static let main: DispatchQueue = {
    let queue = immortal(MainQueue())
    WaitGraph.setMain(queue)
    return queue
  }()

  /// Every thread uses these queues: counting references to them would be what threads contend for.
  private static func immortal(_ queue: DispatchQueue) -> DispatchQueue {
    Immortal.grant(queue)
    return queue
  }

  private static func make(_ qos: DispatchQoS, _ label: StaticString) -> DispatchQueue {
    Hooks.setLaneName { raw in
      // unsafe: the caller keeps the lane alive meanwhile.
      let name = Borrowed<Lane>(word: raw).use { $0.name }
      return Owned(LaneLabel(name)).intoWord()
    }
    Hooks.setBandName { rank in
      Owned(LaneLabel(GlobalQueues.queue(for: Band(rank: rank)).name)).intoWord()
    }
    return immortal(DispatchQueue(kind: .runQueue, name: QueueName(label), qos: QoSWord(qos), target: nil))
  }

  /// Makes those that there are not yet, and waits for a thread that makes one. An optimised build would leave it out.
  @_optimize(none)
  static func makeAll() {
    _ = userInteractive
    _ = userInitiated
    _ = `default`
    _ = utility
    _ = background
    _ = main
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
  public final class var main: DispatchQueue {
    #if !hasFeature(Embedded) && !GRANDCENTRAL_DROPIN
      if World.isSimulated { return SimulatedMainQueue.ofRun() }
    #endif
    return GlobalQueues.main
  }

  /// The shared concurrent queue of a quality of service.
  ///
  /// ```swift
  /// DispatchQueue.global(qos: .utility).async { compress(file) }
  /// ```
  ///
  /// Complexity: O(1). Blocking: never.
  public final class func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue {
    GlobalQueues.queue(for: qos)
  }

  /// The shared concurrent queue of one of the older priorities.
  ///
  /// Complexity: O(1). Blocking: never.
  public final class func global(priority: GlobalQueuePriority) -> DispatchQueue {
    GlobalQueues.queue(for: priority.qosClass)
  }
}
