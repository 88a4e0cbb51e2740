// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CDispatchGlue

// A handle of the C interface is the address of an object, with the reference that its creator was given; or that of one
// of the static objects, which are recognised by address. There is no table.

/// An address without a type.
public typealias Raw = UnsafeMutableRawPointer

/// What is common to the conversions.
enum Handle {
  /// Attributes are addresses inside one static object, see Attributes.swift.
  @inline(__always)
  static func isAttribute(_ raw: Raw) -> Bool {
    UInt(bitPattern: raw) &- UInt(bitPattern: gcd_attributes()) < UInt(GCD_ATTRIBUTES_SIZE)
  }

  /// The object behind a handle; nil for the static objects that have none.
  static func object(_ raw: Raw?, _ call: StaticString = #function) -> Unmanaged<DispatchObject>? {
    guard let raw else { nullArgument(call) }
    if raw == gcd_main_queue() { return Unmanaged.passUnretained(GlobalQueues.main) }
    if isAttribute(raw) || raw == gcd_empty_data() { return nil }
    return Unmanaged<DispatchObject>.fromOpaque(raw)
  }

  /// An object of a kind that has no static ones.
  @inline(__always)
  static func take<T: AnyObject>(_ handle: OpaquePointer?, _ call: StaticString = #function) -> Unmanaged<T> {
    guard let handle else { nullArgument(call) }
    return Unmanaged<T>.fromOpaque(UnsafeRawPointer(handle))
  }

  /// A queue that must be there.
  @inline(__always)
  static func queue(_ handle: OpaquePointer?, _ call: StaticString = #function) -> Unmanaged<DispatchQueue> {
    guard let handle else { nullArgument(call) }
    if handle == OpaquePointer(gcd_main_queue()) { return main() }
    return Unmanaged<DispatchQueue>.fromOpaque(UnsafeRawPointer(handle))
  }

  /// Out of line: every call has this branch, and almost none takes it.
  @inline(never)
  private static func main() -> Unmanaged<DispatchQueue> { Unmanaged.passUnretained(GlobalQueues.main) }

  /// A queue that may be left out.
  @inline(__always)
  static func optionalQueue(_ handle: OpaquePointer?) -> DispatchQueue? {
    handle.map { queue($0).takeUnretainedValue() }
  }

  /// The handle of a queue that is kept alive elsewhere.
  static func handle(of queue: DispatchQueue) -> OpaquePointer {
    OpaquePointer(queue.kind.isMain ? gcd_main_queue() : Unmanaged.passUnretained(queue).toOpaque())
  }

  /// The handle of a new object; the caller owns its reference.
  @inline(__always)
  static func made(_ object: AnyObject) -> OpaquePointer { OpaquePointer(Unmanaged.passRetained(object).toOpaque()) }

  @inline(never)
  static func nullArgument(_ call: StaticString) -> Never {
    // Without the parentheses that `#function` ends in.
    var length = 0
    // unsafe: within the literal.
    while length < call.utf8CodeUnitCount, call.utf8Start[length] != UInt8(ascii: "(") { length += 1 }
    let name = String(decoding: UnsafeBufferPointer(start: call.utf8Start, count: length), as: UTF8.self)
    Fault.misuse(
      .nullArgument,
      name + " was given NULL, on queue \"" + DispatchQueue.current.name
        + "\", where it needs an object, a function or a block. Check the result of the call that made it.")
  }

  /// The argument, which must not be NULL.
  @inline(__always)
  static func need<T>(_ argument: T?, _ call: StaticString = #function) -> T {
    guard let argument else { nullArgument(call) }
    return argument
  }
}
