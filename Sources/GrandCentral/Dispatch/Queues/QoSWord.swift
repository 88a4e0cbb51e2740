// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A quality of service in 16 bits: the class in the upper byte, the relative priority (two's complement) in the
/// lower. 0 is "unspecified".
@usableFromInline
struct QoSWord: Equatable, Sendable {
  let rawValue: UInt16

  @inline(__always)
  init(rawValue: UInt16) { self.rawValue = rawValue }

  init(_ qos: DispatchQoS) {
    let relative = qos.qosClass == .unspecified ? 0 : UInt8(bitPattern: Int8(clamping: qos.relativePriority))
    rawValue = UInt16(qos.qosClass.code) << 8 | UInt16(relative)
  }

  static let unspecified = QoSWord(rawValue: 0)
  /// Stands for what the target confers; no QoS has this number.
  static let inherited = QoSWord(rawValue: .max)

  @inline(__always) var isUnspecified: Bool { rawValue == 0 }

  var qos: DispatchQoS {
    let relative = Int8(bitPattern: UInt8(truncatingIfNeeded: rawValue))
    return DispatchQoS(unchecked: DispatchQoS.QoSClass(code: UInt8(rawValue >> 8)), Int(relative))
  }

  /// Where work of this QoS is queued; unspecified work counts as default.
  @inline(__always)
  var band: Band { rawValue == 0 ? .normal : bandSlow }

  @inline(never)
  private var bandSlow: Band {
    switch rawValue >> 8 {
    case 0x21: .userInteractive
    case 0x19: .userInitiated
    case 0x11: .utility
    case 0x09: .background
    case 0x05: .maintenance
    default: .normal
    }
  }

  /// The more urgent of two; unspecified yields.
  func merged(with other: QoSWord) -> QoSWord {
    if isUnspecified { return other }
    if other.isUnspecified { return self }
    return other.band < band ? other : self
  }
}
