// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CDispatchGlue

/// The attributes of a new queue, in 13 bits. An attribute's handle is the address at that offset in a static object. The
/// address of the object itself stands for "concurrent", and NULL for "serial".
struct QueueAttributes {
  private var bits: UInt
  private static let stride: UInt = 4

  init(_ handle: OpaquePointer?) {
    guard let handle else {
      bits = 1
      return
    }
    bits = (UInt(bitPattern: handle) &- UInt(bitPattern: gcd_attributes())) / Self.stride
  }

  var handle: OpaquePointer? { OpaquePointer(gcd_attributes()! + Int(bits * Self.stride)) }

  private subscript(shift: UInt, mask: UInt) -> UInt {
    get { bits >> shift & mask }
    set { bits = bits & ~(mask << shift) | newValue << shift }
  }

  var isConcurrent: Bool { self[0, 1] == 0 }

  var isInactive: Bool {
    get { self[1, 1] != 0 }
    set { self[1, 1] = newValue ? 1 : 0 }
  }

  var frequency: UInt {
    get { self[2, 3] }
    set { self[2, 3] = newValue }
  }

  var autoreleaseFrequency: DispatchQueue.AutoreleaseFrequency {
    frequency == 1 ? .workItem : frequency == 2 ? .never : .inherit
  }

  /// 0: unspecified, 1: enabled, 2: disabled. A hint that has no effect here: no thread is ever blocked by another's work.
  var overcommit: UInt {
    get { self[11, 3] }
    set { self[11, 3] = newValue }
  }

  private static let classes: [6 of UInt32] = [0, 0x09, 0x11, 0x15, 0x19, 0x21]

  /// False if either is out of range.
  mutating func setQoS(_ qosClass: UInt32, _ relativePriority: Int32) -> Bool {
    guard (-15...0).contains(relativePriority), let qosClass = DispatchQoS.QoSClass(number: qosClass)?.rawValue else {
      return false
    }
    for index in 0..<6 where Self.classes[index] == qosClass {
      self[4, 7] = UInt(index)
      self[7, 15] = index == 0 ? 0 : UInt(-relativePriority)
      return true
    }
    return false
  }

  var qos: QoSWord {
    let code = UInt16(Self.classes[Int(self[4, 7])])
    return code == 0 ? .unspecified : QoSWord(rawValue: code << 8 | UInt16(UInt8(bitPattern: -Int8(self[7, 15]))))
  }
}

extension DispatchQoS.QoSClass {
  /// As `init(rawValue:)`, for a number of a C program's: what Darwin calls maintenance is background work here.
  init?(number: UInt32) { self.init(rawValue: number == 0x05 ? 0x09 : number) }
}

@c @implementation
public func dispatch_queue_attr_make_initially_inactive(_ attributes: dispatch_queue_attr_t?) -> dispatch_queue_attr_t?
{
  var made = QueueAttributes(attributes)
  made.isInactive = true
  return made.handle
}

// As with libdispatch: what is out of range changes nothing. NULL would stand for a serial queue that is active.

@c @implementation
public func dispatch_queue_attr_make_with_autorelease_frequency(
  _ attributes: dispatch_queue_attr_t?, _ frequency: dispatch_autorelease_frequency_t
) -> dispatch_queue_attr_t? {
  guard frequency <= 2 else { return attributes }
  var made = QueueAttributes(attributes)
  made.frequency = frequency
  return made.handle
}

@c @implementation
public func dispatch_queue_attr_make_with_qos_class(
  _ attributes: dispatch_queue_attr_t?, _ qosClass: dispatch_qos_class_t, _ relativePriority: Int32
) -> dispatch_queue_attr_t? {
  var made = QueueAttributes(attributes)
  return made.setQoS(qosClass, relativePriority) ? made.handle : attributes
}

@c(dispatch_queue_attr_make_with_overcommit)
public func attributesWithOvercommit(_ attributes: OpaquePointer?, _ overcommit: Bool) -> OpaquePointer? {
  var made = QueueAttributes(attributes)
  made.overcommit = overcommit ? 1 : 2
  return made.handle
}
