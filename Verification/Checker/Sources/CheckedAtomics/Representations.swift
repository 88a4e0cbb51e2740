// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What an `Atomic` can hold here: anything that has at most eight bytes, which travel in the low bytes of a word.
public protocol AtomicRepresentable {
  static func checkedWord(_ value: consuming Self) -> UInt64
  static func checkedValue(_ word: UInt64) -> Self
}

/// As above with nil, which is the word zero.
public protocol AtomicOptionalRepresentable: AtomicRepresentable {}

extension FixedWidthInteger {
  @inlinable @inline(__always)
  public static func checkedWord(_ value: consuming Self) -> UInt64 { UInt64(truncatingIfNeeded: value) }
  @inlinable @inline(__always)
  public static func checkedValue(_ word: UInt64) -> Self { Self(truncatingIfNeeded: word) }
}

extension Int: AtomicRepresentable {}
extension Int8: AtomicRepresentable {}
extension Int16: AtomicRepresentable {}
extension Int32: AtomicRepresentable {}
extension Int64: AtomicRepresentable {}
extension UInt: AtomicRepresentable {}
extension UInt8: AtomicRepresentable {}
extension UInt16: AtomicRepresentable {}
extension UInt32: AtomicRepresentable {}
extension UInt64: AtomicRepresentable {}

extension Bool: AtomicRepresentable {
  @inlinable @inline(__always)
  public static func checkedWord(_ value: consuming Bool) -> UInt64 { value ? 1 : 0 }
  @inlinable @inline(__always)
  public static func checkedValue(_ word: UInt64) -> Bool { word & 1 != 0 }
}

extension UnsafeRawPointer: AtomicOptionalRepresentable {
  @inlinable @inline(__always)
  public static func checkedWord(_ value: consuming Self) -> UInt64 { UInt64(UInt(bitPattern: value)) }
  @inlinable @inline(__always)
  public static func checkedValue(_ word: UInt64) -> Self { Self(bitPattern: UInt(word)).unsafelyUnwrapped }
}

extension UnsafeMutableRawPointer: AtomicOptionalRepresentable {
  @inlinable @inline(__always)
  public static func checkedWord(_ value: consuming Self) -> UInt64 { UInt64(UInt(bitPattern: value)) }
  @inlinable @inline(__always)
  public static func checkedValue(_ word: UInt64) -> Self { Self(bitPattern: UInt(word)).unsafelyUnwrapped }
}

extension UnsafePointer: AtomicRepresentable, AtomicOptionalRepresentable {
  @inlinable @inline(__always)
  public static func checkedWord(_ value: consuming Self) -> UInt64 { UInt64(UInt(bitPattern: value)) }
  @inlinable @inline(__always)
  public static func checkedValue(_ word: UInt64) -> Self { Self(bitPattern: UInt(word)).unsafelyUnwrapped }
}

extension UnsafeMutablePointer: AtomicRepresentable, AtomicOptionalRepresentable {
  @inlinable @inline(__always)
  public static func checkedWord(_ value: consuming Self) -> UInt64 { UInt64(UInt(bitPattern: value)) }
  @inlinable @inline(__always)
  public static func checkedValue(_ word: UInt64) -> Self { Self(bitPattern: UInt(word)).unsafelyUnwrapped }
}

extension Unmanaged: AtomicRepresentable, AtomicOptionalRepresentable {
  @inlinable @inline(__always)
  public static func checkedWord(_ value: consuming Self) -> UInt64 { UInt64(UInt(bitPattern: value.toOpaque())) }
  @inlinable @inline(__always)
  public static func checkedValue(_ word: UInt64) -> Self {
    fromOpaque(UnsafeRawPointer(bitPattern: UInt(word)).unsafelyUnwrapped)
  }
}

extension Optional: AtomicRepresentable where Wrapped: AtomicOptionalRepresentable {
  @inlinable @inline(__always)
  public static func checkedWord(_ value: consuming Self) -> UInt64 {
    switch consume value {
    case .some(let wrapped): Wrapped.checkedWord(wrapped)
    case .none: 0
    }
  }
  @inlinable @inline(__always)
  public static func checkedValue(_ word: UInt64) -> Self { word == 0 ? nil : Wrapped.checkedValue(word) }
}

extension AtomicRepresentable where Self: RawRepresentable, RawValue: AtomicRepresentable {
  @inlinable @inline(__always)
  public static func checkedWord(_ value: consuming Self) -> UInt64 { RawValue.checkedWord(value.rawValue) }
  @inlinable @inline(__always)
  public static func checkedValue(_ word: UInt64) -> Self {
    Self(rawValue: RawValue.checkedValue(word)).unsafelyUnwrapped
  }
}
