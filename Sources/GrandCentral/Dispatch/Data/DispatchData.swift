// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Immutable bytes in one or more regions of memory, which values share.
///
/// ```swift
/// var message = DispatchData(bytesNoCopy: UnsafeRawBufferPointer(header), deallocator: .free)
/// message.append(body)                         // shares the body's memory
/// let first = message.subdata(in: 0..<16)      // shares the header's
/// message.enumerateBytes { bytes, offset, stop in write(bytes) }
/// ```
///
/// Copying, concatenating and taking parts never copies bytes. Memory is freed when the last value that shows some of it is
/// gone. Values may be used on several threads at once, each variable by one.
///
/// Complexity: concatenation, `append` and `subdata(in:)` take O(log n) time for n regions; `append` of bytes takes O(1)
/// for each, amortised. Memory: about 35 bytes for each region besides the bytes; bytes that were appended in small runs share
/// regions and take up about twice their number at most. Blocking: never.
@frozen
public struct DispatchData: @unchecked Sendable {  // why: what values share is immutable; see DataRope.swift
  /// The region or the node of a rope that has the bytes; nil when there are none.
  @usableFromInline var object: DataObject?
  /// The first byte's address in a region, the complement of its offset in a node.
  @usableFromInline var position: Int
  @usableFromInline var length: Int

  /// The position of a value that is all of a node.
  @usableFromInline static var wholeNode: Int { ~0 }

  @inlinable
  init(object: DataObject?, position: Int, length: Int) {
    self.object = object
    self.position = position
    self.length = length
  }

  init(whole node: DataObject) { self.init(object: node, position: Self.wholeNode, length: node.withNode { $0.count }) }

  /// Data without bytes.
  @_alwaysEmitIntoClient public static var empty: DispatchData { DispatchData(object: nil, position: 0, length: 0) }

  // MARK: Making data

  /// A copy of the bytes.
  ///
  /// Complexity: O(count), one allocation.
  public init(bytes buffer: UnsafeBufferPointer<UInt8>) { self.init(bytes: UnsafeRawBufferPointer(buffer)) }

  /// A copy of the bytes.
  ///
  /// Complexity: O(count), one allocation.
  public init(bytes buffer: UnsafeRawBufferPointer) {
    self = buffer.isEmpty ? DispatchData(object: nil, position: 0, length: 0) : DataRegion.copy(buffer)
  }

  /// The bytes themselves, which must stay as they are until `deallocator` has been called for.
  ///
  /// - Parameters:
  ///   - bytes: Any number of bytes; for none the deallocator runs at once.
  ///   - deallocator: What happens, once, when the last value that shows some of the bytes has gone.
  ///
  /// Complexity: O(1); one allocation.
  public init(bytesNoCopy bytes: UnsafeBufferPointer<UInt8>, deallocator: Deallocator = .free) {
    self.init(bytesNoCopy: UnsafeRawBufferPointer(bytes), deallocator: deallocator)
  }

  /// The bytes themselves, which must stay as they are until `deallocator` has been called for.
  ///
  /// - Parameters:
  ///   - bytes: Any number of bytes; for none the deallocator runs at once.
  ///   - deallocator: What happens, once, when the last value that shows some of the bytes has gone.
  ///
  /// Complexity: O(1); one allocation.
  public init(bytesNoCopy bytes: UnsafeRawBufferPointer, deallocator: Deallocator = .free) {
    guard !bytes.isEmpty else {
      self.init(object: nil, position: 0, length: 0)
      deallocator.run(bytes)
      return
    }
    self = DataRegion.adopt(bytes, deallocator)
  }

  /// How bytes that were not copied are let go.
  public enum Deallocator {
    /// With `free`.
    case free
    /// With `munmap`, for the pages that the bytes lie in.
    case unmap
    /// By the block, on the queue; nil stands for the default global queue.
    case custom(DispatchQueue?, () -> Void)
  }

  // MARK: Composing

  /// Appends a copy of the bytes.
  ///
  /// Complexity: O(`count`), amortised.
  public mutating func append(_ bytes: UnsafePointer<UInt8>, count: Int) {
    append(UnsafeRawBufferPointer(start: bytes, count: count))
  }

  /// Appends a copy of the bytes.
  ///
  /// Goes to spare memory behind what this value has appended before, if no other value has used it, also when the bytes
  /// before are shared.
  ///
  /// Complexity: O(bytes), amortised.
  public mutating func append(_ bytes: UnsafeRawBufferPointer) {
    if bytes.isEmpty { return }
    if length == 0 {
      self = DataRegion.copy(bytes, capacity: bytes.count < DataRope.smallestChunk ? DataRope.smallestChunk : 0)
    } else {
      DataRope.append(bytes, to: &self)
    }
  }

  /// Appends a copy of the buffer's memory.
  ///
  /// Complexity: O(bytes), amortised.
  public mutating func append<SourceType>(_ buffer: UnsafeBufferPointer<SourceType>) {
    append(UnsafeRawBufferPointer(buffer))
  }

  /// Appends all of `other`, without copying its bytes. Traps (GC0038) if there would be more than `Int.max` bytes.
  ///
  /// Complexity: O(log n) for n regions.
  public mutating func append(_ other: DispatchData) {
    if other.length == 0 { return }
    if length == 0 { self = other } else { DataRope.append(other, to: &self) }
  }

  /// The bytes in `range`, as a value that shares their memory. Any part of the range outside the data is left out.
  ///
  /// The part keeps each region alive that it shows bytes of, all of it: a few bytes of a large region are better kept as a copy,
  /// which `DispatchData(bytes:)` makes. It may keep the regions of up to as many bytes beside it alive as well, but none that a
  /// deallocator of the program's waits for.
  ///
  /// Complexity: O(1) within one region, O(log n) for n regions.
  public func subdata(in range: Range<Index>) -> DispatchData {
    let lower = Swift.max(0, Swift.min(range.lowerBound, length))
    let upper = Swift.min(range.upperBound, length)
    guard upper > lower, let object else { return DispatchData(object: nil, position: 0, length: 0) }
    if position >= 0 { return DispatchData(object: object, position: position + lower, length: upper - lower) }
    return DataRope.part(of: object, ~position + lower..<(~position + upper))
  }

  // MARK: Copying bytes

  /// Copies the first `count` bytes, or as many as there are.
  ///
  /// Complexity: O(`count`).
  public func copyBytes(to pointer: UnsafeMutablePointer<UInt8>, count: Int) {
    copy(to: UnsafeMutableRawPointer(pointer), from: 0, count: count)
  }

  /// Copies the first `count` bytes, or as many as there are.
  ///
  /// Complexity: O(`count`).
  public func copyBytes(to pointer: UnsafeMutableRawBufferPointer, count: Int) {
    checkRoom(pointer.count, Swift.min(count, length))
    if let base = pointer.baseAddress { copy(to: base, from: 0, count: count) }
  }

  /// Copies the bytes in `range`, or as many of them as there are.
  ///
  /// Complexity: O(bytes that are copied).
  public func copyBytes(to pointer: UnsafeMutablePointer<UInt8>, from range: Range<Index>) {
    copy(to: UnsafeMutableRawPointer(pointer), from: range.lowerBound, count: range.count)
  }

  /// Copies the bytes in `range`, or as many of them as there are.
  ///
  /// Complexity: O(bytes that are copied).
  public func copyBytes(to pointer: UnsafeMutableRawBufferPointer, from range: Range<Index>) {
    checkRoom(pointer.count, Swift.min(range.count, Swift.max(0, length - Swift.max(0, range.lowerBound))))
    if let base = pointer.baseAddress { copy(to: base, from: range.lowerBound, count: range.count) }
  }

  /// Copies the bytes in `range`, all by default, as far as the buffer has room.
  ///
  /// - Returns: How many bytes were copied.
  ///
  /// Complexity: O(bytes that are copied).
  public func copyBytes<DestinationType>(
    to buffer: UnsafeMutableBufferPointer<DestinationType>, from range: Range<Index>? = nil
  ) -> Int {
    let range = range ?? 0..<length
    if length == 0 || range.isEmpty { return 0 }
    if range.lowerBound < 0 || range.upperBound > length { faultOutOfRange(range) }
    let bytes = UnsafeMutableRawBufferPointer(buffer)
    let count = Swift.min(bytes.count, range.count)
    if count > 0, let base = bytes.baseAddress { copy(to: base, from: range.lowerBound, count: count) }
    return count
  }

  func copy(to target: UnsafeMutableRawPointer, from start: Int, count: Int) {
    if start < 0 { faultOutOfRange(start..<Swift.max(start, start &+ count)) }
    // unsafe: the value, and with it the bytes, is kept until they have been copied.
    defer { withExtendedLifetime(object) {} }
    let end = start + Swift.min(count, length - start)
    var index = start
    while index < end {
      let span = span(at: index)
      let step = Swift.min(span.count, end - index)
      (target + (index - start)).copyMemory(from: span.start, byteCount: step)
      index += step
    }
  }

  // MARK: One region

  /// The same bytes in one region: the data itself if that has only one, else a copy, which is made once and kept.
  ///
  /// Complexity: O(1), O(count) for the first time.
  public func contiguous() -> DispatchData {
    guard position < 0, let object else { return self }
    let flat = object.withNode { node in
      node.flat?.takeUnretainedValue() ?? node.setFlat(DataNode.flattened(object))
    }
    return DispatchData(object: flat, position: DataRegion.all(flat).position + ~position, length: length)
  }

  /// Calls `body` with the address of the bytes in one piece, valid during the call; see `contiguous()`.
  ///
  /// For data without bytes nothing may be read at the address.
  ///
  /// Complexity: O(1) for data of one region, else O(count) for the first time.
  public func withUnsafeBytes<Result, ContentType>(
    body: (UnsafePointer<ContentType>) throws -> Result
  ) rethrows -> Result {
    let whole = contiguous()
    // unsafe: the region is kept until the call has ended.
    return try withExtendedLifetime(whole.object) {
      try body(
        UnsafePointer(
          bitPattern: whole.length == 0 ? MemoryLayout<ContentType>.alignment : whole.position
        ).unsafelyUnwrapped)
    }
  }

  /// Calls `body` with the bytes in one piece, valid during the call; see `contiguous()`.
  ///
  /// Complexity: O(1) for data of one region, else O(count) for the first time.
  public func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let whole = contiguous()
    defer { withExtendedLifetime(whole.object) {} }
    return try body(UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: whole.position), count: whole.length))
  }

  /// Calls `body` with the bytes in one piece; see `contiguous()`.
  ///
  /// Complexity: O(1) for data of one region, else O(count) for the first time.
  public func withRawSpan<Result, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withUnsafeBytes { bytes throws(Failure) in try body(bytes.bytes) }
  }

  /// Calls `body` with the bytes in one piece; see `contiguous()`.
  ///
  /// Complexity: O(1) for data of one region, else O(count) for the first time.
  public func withSpan<Result, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withUnsafeBytes { bytes throws(Failure) in try body(bytes.assumingMemoryBound(to: UInt8.self).span) }
  }

  // MARK: Misuse

  private func checkRoom(_ room: Int, _ count: Int) {
    if count > room {
      Fault.misuse(
        .dataOutOfRange,
        "DispatchData.copyBytes of " + String(count) + " bytes into a buffer of " + String(room)
          + ". Give a buffer with room for them.")
    }
  }

  @inline(never)
  @usableFromInline
  func faultOutOfRange(at index: Int) -> Never {
    if index < .max { faultOutOfRange(index..<index + 1) }
    faultOutside("the index " + String(index))
  }

  @inline(never)
  @usableFromInline
  func faultOutOfRange(_ range: Range<Int>) -> Never {
    faultOutside("the range " + String(range.lowerBound) + "..<" + String(range.upperBound))
  }

  @inline(never)
  private func faultOutside(_ what: String) -> Never {
    Fault.misuse(
      .dataOutOfRange, what + " is outside DispatchData of " + String(length) + " bytes. Stay within 0..<count.")
  }
}
