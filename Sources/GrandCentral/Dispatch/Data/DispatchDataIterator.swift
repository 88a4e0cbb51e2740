// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Goes through data byte by byte.
///
/// ```swift
/// var zeros = 0
/// for byte in data where byte == 0 { zeros += 1 }
/// ```
@frozen
public struct DispatchDataIterator: IteratorProtocol, Sequence {
  /// A byte.
  public typealias Element = UInt8

  @usableFromInline let data: DispatchData
  @usableFromInline var current: UnsafePointer<UInt8>?
  @usableFromInline var end: UnsafePointer<UInt8>?
  /// Where the region after the current one begins.
  @usableFromInline var following: Int

  @inlinable
  init(_ data: DispatchData) {
    self.data = data
    current = nil
    end = nil
    following = 0
  }

  /// The next byte; nil after the last.
  ///
  /// Complexity: O(1), O(log n) where one of n regions begins.
  @inlinable
  @inline(__always)
  public mutating func next() -> UInt8? {
    defer { withExtendedLifetime(data.object) {} }
    if current == end {
      guard following < data.length else { return nil }
      let span = data.span(at: following)
      current = span.start
      end = span.start + span.count
      following += span.count
    }
    let address = current.unsafelyUnwrapped
    current = address + 1
    return address.pointee
  }
}
