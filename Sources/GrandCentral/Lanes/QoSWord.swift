// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// A quality of service in 16 bits: the class in the upper byte, the relative priority (two's complement) in the
/// lower. 0 is "unspecified".
@usableFromInline
struct QoSWord: Equatable, Sendable {
  let rawValue: UInt16

  @inline(__always)
  init(rawValue: UInt16) { self.rawValue = rawValue }

  static let unspecified = QoSWord(rawValue: 0)
  static let `default` = QoSWord(rawValue: 0x1500)
  /// Stands for what the target confers; no QoS has this number.
  static let inherited = QoSWord(rawValue: .max)

  /// The calling thread's: that of the item that it runs. The code that runs a job sets it (`Job.run`).
  @inline(__always)
  static var ofThread: QoSWord {
    get { QoSWord(rawValue: UInt16(truncatingIfNeeded: gc_thread_self().pointee.qos)) }
    set { gc_thread_self().pointee.qos = UInt32(newValue.rawValue) }
  }

  @inline(__always) var isUnspecified: Bool { rawValue == 0 }

  /// Where work of this QoS is queued; unspecified work counts as default.
  @inline(__always)
  var band: Band { rawValue == 0 ? .normal : bandSlow }

  /// The priority of a task may be any number: between two classes it is as urgent as the lower one.
  @inline(never)
  private var bandSlow: Band {
    switch rawValue >> 8 {
    case 0x21...: .userInteractive
    case 0x19...: .userInitiated
    case 0x15...: .normal
    case 0x11...: .utility
    case 0x09...: .background
    default: .maintenance
    }
  }

  /// The more urgent of two; unspecified yields.
  func merged(with other: QoSWord) -> QoSWord {
    if isUnspecified { return other }
    if other.isUnspecified { return self }
    return other.band < band ? other : self
  }
}
