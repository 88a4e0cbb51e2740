// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A serial queue, as a type of its own.
///
/// ```swift
/// let queue = DispatchSerialQueue(label: "store")
/// ```
public class DispatchSerialQueue: DispatchQueue, @unchecked Sendable {  // adds no state
  /// A serial queue of your own; see `DispatchQueue.init`.
  ///
  /// Complexity: O(1). Blocking: never.
  public init(
    label: String, qos: DispatchQoS = .unspecified, attributes: Attributes = [],
    autoreleaseFrequency: AutoreleaseFrequency = .inherit, target: DispatchQueue? = nil
  ) {
    super.init(
      kind: .serial, name: QueueName(label), qos: QoSWord(qos), target: target ?? GlobalQueues.root(for: QoSWord(qos)),
      inactive: attributes.contains(.initiallyInactive), autoreleaseFrequency: autoreleaseFrequency)
  }

  /// A serial queue that counts its items.
  init(pooled label: String, qos: QoSWord) {
    super.init(kind: .counted, name: QueueName(label), qos: qos, target: GlobalQueues.root(for: qos))
  }

  /// What a serial queue is created as.
  @frozen
  public struct Attributes: OptionSet, Sendable {
    /// The set as bits.
    public let rawValue: UInt64

    /// A set of these bits.
    @_alwaysEmitIntoClient public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// No item runs, and the target may be set, until `activate()`.
    @_alwaysEmitIntoClient public static var initiallyInactive: DispatchSerialQueue.Attributes {
      Attributes(rawValue: 1 << 2)
    }
  }
}

/// A concurrent queue, as a type of its own.
///
/// ```swift
/// let queue = DispatchConcurrentQueue(label: "cache")
/// queue.async(flags: .barrier) { cache.removeAll() }
/// ```
public final class DispatchConcurrentQueue: DispatchQueue, @unchecked Sendable {  // adds no state
  /// A concurrent queue of your own; see `DispatchQueue.init`.
  ///
  /// Complexity: O(1). Blocking: never.
  public init(
    label: String, qos: DispatchQoS = .unspecified, attributes: Attributes = [],
    autoreleaseFrequency: AutoreleaseFrequency = .inherit, target: DispatchQueue? = nil
  ) {
    super.init(
      kind: .concurrent, name: QueueName(label), qos: QoSWord(qos),
      target: target ?? GlobalQueues.root(for: QoSWord(qos)),
      inactive: attributes.contains(.initiallyInactive), autoreleaseFrequency: autoreleaseFrequency)
  }

  /// What a concurrent queue is created as.
  @frozen
  public struct Attributes: OptionSet, Sendable {
    /// The set as bits.
    public let rawValue: UInt64

    /// A set of these bits.
    @_alwaysEmitIntoClient public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// No item runs, and the target may be set, until `activate()`.
    @_alwaysEmitIntoClient public static var initiallyInactive: DispatchConcurrentQueue.Attributes {
      Attributes(rawValue: 1 << 2)
    }
  }
}

/// A serial queue that picks its items by quality of service: the most urgent first, oldest first among equals.
///
/// ```swift
/// let loop = DispatchWorkloop(label: "renderer")
/// loop.async(qos: .utility) { prefetch() }
/// loop.async(qos: .userInteractive) { draw() }  // starts first if neither has started
/// ```
public final class DispatchWorkloop: DispatchQueue, @unchecked Sendable {  // adds no state
  /// A workloop of your own.
  ///
  /// Complexity: O(1). Blocking: never.
  public init(
    label: String, autoreleaseFrequency: DispatchQueue.AutoreleaseFrequency = .inherit, target: DispatchQueue? = nil
  ) {
    if let target { Lane.checkWorkloopTarget(label, target) }
    super.init(
      kind: .sorted, name: QueueName(label), qos: .unspecified, target: target ?? GlobalQueues.default,
      autoreleaseFrequency: autoreleaseFrequency)
  }

  /// A workloop that runs nothing, and may be retargeted, until `activate()`.
  ///
  /// Complexity: O(1). Blocking: never.
  public init(label: String, inactive: Bool, target: DispatchQueue? = nil) {
    if let target { Lane.checkWorkloopTarget(label, target) }
    super.init(
      kind: .sorted, name: QueueName(label), qos: .unspecified, target: target ?? GlobalQueues.default,
      inactive: inactive)
  }

  /// For the C interface.
  init(name: QueueName, inactive: Bool) {
    super.init(kind: .sorted, name: name, qos: .unspecified, target: GlobalQueues.default, inactive: inactive)
  }
}
