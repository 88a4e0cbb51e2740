// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

extension DispatchQueue {
  /// What a queue is created as.
  @frozen
  public struct Attributes: OptionSet, Sendable {
    /// The set as bits.
    public let rawValue: UInt64

    /// A set of these bits.
    @_alwaysEmitIntoClient public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Items run beside each other; barriers run alone.
    @_alwaysEmitIntoClient public static var concurrent: DispatchQueue.Attributes { Attributes(rawValue: 1 << 1) }

    /// No item runs, and the target may be set, until `activate()`.
    @_alwaysEmitIntoClient public static var initiallyInactive: DispatchQueue.Attributes {
      Attributes(rawValue: 1 << 2)
    }
  }

  /// libdispatch's older priorities; each stands for a quality of service.
  public enum GlobalQueuePriority: Sendable, Hashable {
    /// `.userInitiated`
    case high
    /// `.default`
    case `default`
    /// `.utility`
    case low
    /// `.background`
    case background

    var qosClass: DispatchQoS.QoSClass {
      switch self {
      case .high: .userInitiated
      case .default: .default
      case .low: .utility
      case .background: .background
      }
    }
  }

  /// How often an autorelease pool is drained. Recorded; Linux has no autorelease pools.
  public enum AutoreleaseFrequency: Sendable, Hashable {
    /// As the target queue does.
    case inherit
    /// Around each item.
    case workItem
    /// Never.
    case never

    /// What a lane remembers of it.
    var code: UInt8 {
      switch self {
      case .inherit: 0
      case .workItem: 1
      case .never: 2
      }
    }
  }
}

/// How a work item is run.
///
/// ```swift
/// let cache = DispatchQueue(label: "cache", attributes: .concurrent)
/// cache.async(flags: .barrier) { reload() }  // alone on the queue
/// ```
@frozen
public struct DispatchWorkItemFlags: OptionSet, RawRepresentable, Sendable {
  /// The set as bits.
  public let rawValue: UInt

  /// A set of these bits.
  @_alwaysEmitIntoClient public init(rawValue: UInt) { self.rawValue = rawValue }

  /// On a concurrent queue of your own: waits for all earlier items, and runs alone.
  @_alwaysEmitIntoClient public static var barrier: DispatchWorkItemFlags { DispatchWorkItemFlags(rawValue: 0x1) }
  /// Takes nothing over from the submitter.
  @_alwaysEmitIntoClient public static var detached: DispatchWorkItemFlags { DispatchWorkItemFlags(rawValue: 0x2) }
  /// Takes the quality of service of the context that creates the item.
  @_alwaysEmitIntoClient public static var assignCurrentContext: DispatchWorkItemFlags {
    DispatchWorkItemFlags(rawValue: 0x4)
  }
  /// Runs without a quality of service of its own.
  @_alwaysEmitIntoClient public static var noQoS: DispatchWorkItemFlags { DispatchWorkItemFlags(rawValue: 0x8) }
  /// Prefers the quality of service of the queue to the item's.
  @_alwaysEmitIntoClient public static var inheritQoS: DispatchWorkItemFlags { DispatchWorkItemFlags(rawValue: 0x10) }
  /// Takes the more urgent of the item's quality of service and the queue's, also beside `inheritQoS`.
  @_alwaysEmitIntoClient public static var enforceQoS: DispatchWorkItemFlags { DispatchWorkItemFlags(rawValue: 0x20) }
}
