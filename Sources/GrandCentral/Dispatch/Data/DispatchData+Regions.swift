// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Where the bytes lie.
extension DispatchData {
  // MARK: For the public

  /// Calls `block` with the bytes of each region, where they begin in the data, and a flag: setting it ends the
  /// enumeration. The pointer is valid during the call.
  ///
  /// Complexity: O(n) for n regions; no byte is copied.
  @inlinable
  public func enumerateBytes(_ block: (UnsafeBufferPointer<UInt8>, Int, inout Bool) -> Void) {
    defer { withExtendedLifetime(object) {} }
    var index = 0
    var stop = false
    while index < length, !stop {
      let span = span(at: index)
      block(UnsafeBufferPointer(start: span.start, count: span.count), index, &stop)
      index += span.count
    }
  }

  /// As `enumerateBytes(_:)`, under its older name.
  ///
  /// Complexity: O(n) for n regions; no byte is copied.
  @inlinable
  @_disfavoredOverload
  public func enumerateBytes(block: (UnsafeBufferPointer<UInt8>, Int, inout Bool) -> Void) { enumerateBytes(block) }

  /// The region that the byte at `location` lies in, as data that shares it, and where that begins; for a location
  /// outside no bytes and the count.
  ///
  /// Complexity: O(log n) for n regions; allocates nothing.
  public func region(location: Int) -> (data: DispatchData, offset: Int) {
    guard location >= 0, location < length else {
      return (DispatchData(object: nil, position: 0, length: 0), length)
    }
    if position >= 0 { return (self, 0) }
    // unsafe: data with bytes have an object, which keeps the node until the slice has been retained.
    defer { withExtendedLifetime(object) {} }
    let (node, entry, start) = DataNode(object.unsafelyUnwrapped).slice(at: ~position + location)
    let lower = Swift.max(start, ~position)
    let upper = Swift.min(start + node.ends[entry] - node.start(entry), ~position + length)
    let region = DispatchData(
      object: node.objects[entry].takeUnretainedValue(),
      position: node.places[entry] + node.start(entry) + lower - start,
      length: upper - lower)
    return (region, lower - ~position)
  }

  /// The regions in order, each as data that shares it.
  ///
  /// ```swift
  /// for region in data.regions { region.withUnsafeBytes { send($0) } }
  /// ```
  public var regions: Regions { Regions(data: self) }

  /// The regions of data, in order.
  public struct Regions: Sequence, IteratorProtocol, Sendable {
    let data: DispatchData
    var index = 0

    /// The next region; nil after the last.
    public mutating func next() -> DispatchData? {
      guard index < data.length else { return nil }
      let region = data.region(location: index).data
      index += region.length
      return region
    }
  }

  // MARK: For the library

  /// The bytes from `index` on, which is below the count, as far as they lie in one region; valid as long as the value.
  @inlinable
  @inline(__always)
  func span(at index: Int) -> (start: UnsafePointer<UInt8>, count: Int) {
    if position >= 0 {
      return (UnsafePointer(bitPattern: position + index).unsafelyUnwrapped, length - index)
    }
    let (address, count) = DataNode.span(of: object.unsafelyUnwrapped, at: ~position + index)
    return (UnsafePointer(bitPattern: address).unsafelyUnwrapped, Swift.min(count, length - index))
  }

  /// A tree: a slice, or the whole of a node.
  var settled: DispatchData {
    guard position < 0, let object, ~position != 0 || length != object.withNode({ $0.count }) else { return self }
    return DataRope.settle(object, from: ~position, length: length)
  }

  /// The height of a tree's root; -1 for a slice.
  var height: Int {
    guard position < 0, let object else { return -1 }
    return object.withNode { $0.height }
  }

  /// An object that stands for exactly these bytes, for the C face; nil for none.
  var exactObject: DataObject? {
    guard let object else { return nil }
    if position < 0 {
      let tree = settled
      return tree.position < 0 ? tree.object : tree.exactObject
    }
    let whole = DataRegion.all(object)
    if whole.position == position, whole.length == length { return object }
    let view = DataNode.make(height: 0, room: 1)
    view.withNode { $0.append(self) }
    return view
  }

  /// The data that an object of the C face stands for.
  init(_ object: DataObject) {
    self =
      object.withUnsafeMutablePointerToHeader({ $0.pointee.kind }) == .node
      ? DispatchData(whole: object) : DataRegion.all(object)
  }
}

extension DataNode {
  /// The node of height 0 that has the byte at `offset`, its entry, and where that begins.
  @inline(__always)
  func slice(at offset: Int) -> (node: DataNode, entry: Int, start: Int) {
    var node = self
    var begin = 0
    var entry = node.entry(at: offset)
    while node.height > 0 {
      begin += node.start(entry)
      node = node.child(entry)
      entry = node.entry(at: offset - begin)
    }
    return (node, entry, begin + node.start(entry))
  }

  /// The byte at `offset`.
  @usableFromInline
  static func byte(of object: DataObject, at offset: Int) -> UInt8 {
    object.withNode { root in
      var node = root
      var offset = offset
      var entry = node.entry(at: offset)
      while node.height > 0 {
        offset &-= node.start(entry)
        node = node.child(entry)
        entry = node.entry(at: offset)
      }
      return UnsafePointer<UInt8>(bitPattern: node.places[entry] &+ offset).unsafelyUnwrapped.pointee
    }
  }

  /// The address of the byte at `offset`, and how many follow in its slice, itself included.
  @usableFromInline
  static func span(of object: DataObject, at offset: Int) -> (address: Int, count: Int) {
    object.withNode { root in
      let (node, entry, start) = root.slice(at: offset)
      let within = offset - start + node.start(entry)
      return (node.places[entry] + within, node.ends[entry] - within)
    }
  }

  /// A region with all bytes of a node.
  static func flattened(_ object: DataObject) -> DataObject {
    let all = DispatchData(whole: object)
    let region = DataRegion.make(count: all.length) { target in
      all.enumerateBytes { bytes, offset, _ in
        (target + offset).copyMemory(from: bytes.baseAddress.unsafelyUnwrapped, byteCount: bytes.count)
      }
    }
    return region.object.unsafelyUnwrapped
  }
}
