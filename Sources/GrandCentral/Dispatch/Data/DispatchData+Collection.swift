// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

extension DispatchData: RandomAccessCollection {
  /// A byte.
  public typealias Element = UInt8
  /// The number of bytes before it.
  public typealias Index = Int
  /// 0 up to the count.
  public typealias Indices = DefaultIndices<DispatchData>
  /// Goes through the bytes in order.
  public typealias Iterator = DispatchDataIterator
  /// A part with the indices of the whole.
  public typealias SubSequence = Slice<DispatchData>

  /// How many bytes there are.
  @inlinable public var count: Int { length }

  /// 0.
  @inlinable public var startIndex: Index { 0 }

  /// The count.
  @inlinable public var endIndex: Index { length }

  /// The byte at `index`. Traps (GC0027) outside 0..<count.
  ///
  /// Complexity: O(1) in one region, O(log n) for n regions.
  @inlinable
  public subscript(index: Index) -> UInt8 {
    if UInt(bitPattern: index) >= UInt(bitPattern: length) { faultOutOfRange(at: index) }
    defer { withExtendedLifetime(object) {} }
    // unsafe: the address of a byte of this value, or of a node whose byte it is.
    return position >= 0
      ? UnsafePointer(bitPattern: position + index).unsafelyUnwrapped.pointee
      : DataNode.byte(of: object.unsafelyUnwrapped, at: ~position + index)
  }

  /// The bytes in `bounds` as a slice, whose indices are those of the data.
  @inlinable
  public subscript(bounds: Range<Int>) -> Slice<DispatchData> {
    if bounds.lowerBound < 0 || bounds.upperBound > length { faultOutOfRange(bounds) }
    return Slice(base: self, bounds: bounds)
  }

  /// The next index.
  ///
  /// Complexity: O(1).
  @inlinable public func index(after i: Index) -> Index { i + 1 }

  /// The index before.
  ///
  /// Complexity: O(1).
  @inlinable public func index(before i: Index) -> Index { i - 1 }

  /// The index `distance` bytes further.
  ///
  /// Complexity: O(1).
  @inlinable public func index(_ i: Index, offsetBy distance: Int) -> Index { i + distance }

  /// How many bytes lie between two indices.
  ///
  /// Complexity: O(1).
  @inlinable public func distance(from start: Index, to end: Index) -> Int { end - start }

  /// The index `distance` bytes further; nil if that is beyond `limit`.
  ///
  /// Complexity: O(1).
  @inlinable
  public func index(_ i: Index, offsetBy distance: Int, limitedBy limit: Index) -> Index? {
    let available = limit - i
    if distance > 0 ? available >= 0 && available < distance : available <= 0 && distance < available { return nil }
    return i + distance
  }

  /// Goes through the bytes in order.
  ///
  /// Complexity: O(1).
  @inlinable
  public func makeIterator() -> Iterator { DispatchDataIterator(self) }

  /// Calls `body` with the bytes if they lie in one region.
  ///
  /// Complexity: O(1).
  @inlinable
  public func withContiguousStorageIfAvailable<Result>(
    _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
  ) rethrows -> Result? {
    guard position >= 0 else { return nil }
    return try withExtendedLifetime(object) {
      try body(UnsafeBufferPointer(start: UnsafePointer(bitPattern: position), count: length))
    }
  }

  /// Copies region by region: what `Array(data)` uses.
  @inlinable
  public func _copyContents(
    initializing buffer: UnsafeMutableBufferPointer<UInt8>
  ) -> (Iterator, UnsafeMutableBufferPointer<UInt8>.Index) {
    let count = Swift.min(buffer.count, length)
    if count > 0, let base = buffer.baseAddress { copyBytes(to: base, count: count) }
    var rest = DispatchDataIterator(self)
    rest.following = count
    return (rest, buffer.startIndex + count)
  }
}
