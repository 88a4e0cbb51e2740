// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The quality of service of work: how soon it should run compared with other work.
///
/// Work of a higher class is always picked before pending work of a lower one. The order is made inside the scheduler
/// and needs no privileges.
///
/// ```swift
/// let queue = DispatchQueue(label: "thumbnails", qos: .utility)
/// ```
public struct DispatchQoS: Equatable, Sendable {
  /// The class of a quality of service, most urgent last.
  public enum QoSClass: Sendable, Hashable {
    /// Work that nobody waits for: maintenance, prefetching, backups.
    case background
    /// Work whose progress a user may watch: downloads, imports.
    case utility
    /// The class of work for which none is given.
    case `default`
    /// Work that a user has asked for and waits for.
    case userInitiated
    /// Work on which the next frame depends.
    case userInteractive
    /// No class: the submitter's, the queue's, or the target's is used.
    case unspecified

    /// Darwin's number of the class.
    var code: UInt8 {
      switch self {
      case .background: 0x09
      case .utility: 0x11
      case .default: 0x15
      case .userInitiated: 0x19
      case .userInteractive: 0x21
      case .unspecified: 0
      }
    }

    init(code: UInt8) {
      switch code {
      case 0x05, 0x09: self = .background
      case 0x11: self = .utility
      case 0x15: self = .default
      case 0x19: self = .userInitiated
      case 0x21: self = .userInteractive
      default: self = .unspecified
      }
    }

    /// The class with one of Darwin's numbers; nil for any other number.
    ///
    /// ```swift
    /// DispatchQoS.QoSClass(rawValue: 0x19)  // .userInitiated
    /// ```
    public init?(rawValue: UInt32) {
      guard let code = UInt8(exactly: rawValue) else { return nil }
      self.init(code: code)
      if self == .unspecified, rawValue != 0 { return nil }
      if rawValue == 0x05 { return nil }
    }

    /// Darwin's number of the class.
    public var rawValue: UInt32 { UInt32(code) }
  }

  /// The class.
  public let qosClass: QoSClass

  /// From 0 down to −15. It is recorded, and a queue's ``DispatchQueue/qos`` gives it back. It does not change the order: items of one class
  /// run in the order of their submission.
  public let relativePriority: Int

  /// Maintenance work that nobody waits for.
  @_alwaysEmitIntoClient public static var background: DispatchQoS { DispatchQoS(unchecked: .background, 0) }
  /// Longer work whose progress a user may watch.
  @_alwaysEmitIntoClient public static var utility: DispatchQoS { DispatchQoS(unchecked: .utility, 0) }
  /// The quality of service of work for which none is given.
  @_alwaysEmitIntoClient public static var `default`: DispatchQoS { DispatchQoS(unchecked: .default, 0) }
  /// Work that a user waits for.
  @_alwaysEmitIntoClient public static var userInitiated: DispatchQoS { DispatchQoS(unchecked: .userInitiated, 0) }
  /// Work on which the next frame depends.
  @_alwaysEmitIntoClient public static var userInteractive: DispatchQoS { DispatchQoS(unchecked: .userInteractive, 0) }
  /// None given.
  @_alwaysEmitIntoClient public static var unspecified: DispatchQoS { DispatchQoS(unchecked: .unspecified, 0) }

  /// A quality of service with a relative priority.
  ///
  /// - Parameters:
  ///   - qosClass: The class.
  ///   - relativePriority: From 0 down to −15; it does not change the order. Anything else traps (GC0015).
  public init(qosClass: QoSClass, relativePriority: Int) {
    if relativePriority > 0 || relativePriority < -15 {
      Fault.misuse(
        .qosRelativePriorityOutOfRange,
        "DispatchQoS(qosClass:relativePriority:) was given the relative priority " + String(relativePriority)
          + ", which is outside −15...0. Use a number within.")
    }
    self.init(unchecked: qosClass, relativePriority)
  }

  @usableFromInline init(unchecked qosClass: QoSClass, _ relativePriority: Int) {
    self.qosClass = qosClass
    self.relativePriority = relativePriority
  }
}

extension QoSWord {
  init(_ qos: DispatchQoS) {
    let relative = qos.qosClass == .unspecified ? 0 : UInt8(bitPattern: Int8(clamping: qos.relativePriority))
    rawValue = UInt16(qos.qosClass.code) << 8 | UInt16(relative)
  }

  var qos: DispatchQoS {
    let relative = Int8(bitPattern: UInt8(truncatingIfNeeded: rawValue))
    return DispatchQoS(unchecked: DispatchQoS.QoSClass(code: UInt8(rawValue >> 8)), Int(relative))
  }
}
