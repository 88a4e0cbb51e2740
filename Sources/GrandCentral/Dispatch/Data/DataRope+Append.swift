// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Appending in place, to nodes to which there is no other reference (DataRope.T3).
extension DataRope {
  /// Regions made for appended bytes are twice as large as the one before, within these bounds.
  static let smallestChunk = 64
  static let largestChunk = 1 << 20

  /// Appends copies of `bytes`, at least one, to a tree that is not empty.
  static func append(_ bytes: UnsafeRawBufferPointer, to data: inout DispatchData) {
    if let end = takeSpace(bytes.count, behind: data) {
      // unsafe: the bytes there are this value's alone.
      UnsafeMutableRawPointer(bitPattern: end).unsafelyUnwrapped
        .copyMemory(from: bytes.baseAddress.unsafelyUnwrapped, byteCount: bytes.count)
      if data.position < 0 { withRoot(of: &data) { extendLast(&$0, by: bytes.count) } }
      data.length += bytes.count
      return
    }
    append(DataRegion.copy(bytes, capacity: chunk(for: bytes.count, behind: data)), to: &data)
  }

  /// How large a region for `length` bytes is: what was appended before counts, and not what lies in memory of another kind.
  /// Even a long run has a little to spare, which marks its region as one for appended bytes.
  @inline(never)
  private static func chunk(for length: Int, behind data: borrowing DispatchData) -> Int {
    max(max(smallestChunk, length + DataHeader.leastSpare), min(largestChunk, 2 * lastChunk(of: data)))
  }

  /// The size of the value's last region, if that was made for appended bytes and no other value has gone on in it; else 0.
  private static func lastChunk(of data: borrowing DispatchData) -> Int {
    guard let object = data.object else { return 0 }
    if data.position >= 0 { return DataRegion.chunk(endingAt: data.position + data.length, in: object) }
    let end = ~data.position + data.length
    return object.withNode { node in
      guard node.count == end else { return 0 }
      let (region, address) = lastSlice(of: node)
      return region._withUnsafeGuaranteedRef { DataRegion.chunk(endingAt: address, in: $0) }
    }
  }

  /// The address behind the last byte, if the region has room there and it is the caller's now.
  ///
  /// A separate function: a reference that it holds is gone when the caller asks whether the value's is the only one.
  @inline(__always)
  private static func takeSpace(_ length: Int, behind data: borrowing DispatchData) -> Int? {
    guard let object = data.object else { return nil }
    if data.position >= 0 {
      let end = data.position + data.length
      return DataRegion.take(length, at: end, of: object) ? end : nil
    }
    // A view that ends where its node does will do: the node becomes longer as a whole.
    let end = ~data.position + data.length
    return object.withNode { node in
      guard node.count == end else { return nil }
      let (region, address) = lastSlice(of: node)
      return region._withUnsafeGuaranteedRef { DataRegion.take(length, at: address, of: $0) } ? address : nil
    }
  }

  /// Appends `other`, which is not empty.
  static func append(_ other: DispatchData, to data: inout DispatchData) {
    guard other.position > 0, data.position < 0, other.object !== data.object else {
      if data.position > 0, other.position > 0, data.position + data.length != other.position {
        return makePair(&data, other)
      }
      data = join(data, other)
      return
    }
    data = data.settled
    guard data.position < 0 else {
      data = join(data, other)
      return
    }
    let length = total(data.length, other.length)
    withRoot(of: &data) { root in
      guard let more = append(other, under: &root) else { return }
      let higher = DataNode.make(height: root.withNode { $0.height } + 1, room: DataNode.most)
      DataNode(higher).append(DispatchData(whole: root))
      DataNode(higher).append(DispatchData(whole: more))
      root = higher
    }
    data.length = length
  }

  /// Two slices under a root, which takes over the first one's reference.
  private static func makePair(_ data: inout DispatchData, _ other: DispatchData) {
    let root = DataNode.make(height: 0, room: 2)
    root.withNode { node in
      node.append(taking: &data)
      node.append(other)
    }
    data = DispatchData(whole: root)
  }

  /// Has `body` change the root while there is no other reference to it, if there was none before.
  @inline(__always)
  private static func withRoot(of data: inout DispatchData, _ body: (inout DataObject) -> Void) {
    guard var root = data.object.take() else { return }
    body(&root)
    data.object = root
  }

  /// The region of the last slice, and the address where the slice ends.
  private static func lastSlice(of root: DataNode) -> (Unmanaged<DataObject>, Int) {
    var node = root
    while node.height > 0 { node = node.child(node.entries - 1) }
    let last = node.entries - 1
    return (node.objects[last], node.places[last] + node.ends[last])
  }

  /// Makes the last slice longer.
  private static func extendLast(_ object: inout DataObject, by length: Int) {
    prepare(&object, room: 0)
    object.withNode { node in
      node.extend(by: length)
      if node.height > 0 { withLastChild(of: node) { extendLast(&$0, by: length) } }
    }
  }

  /// Appends a slice; what comes back is a node that follows this one, because this one was full.
  private static func append(_ slice: DispatchData, under object: inout DataObject) -> DataObject? {
    prepare(&object, room: 1)
    return object.withNode { node in
      if node.height == 0 { return append(entry: slice, to: node) }
      var more: DataObject?
      withLastChild(of: node) { more = append(slice, under: &$0) }
      let last = node.entries - 1
      let child = node.child(last)
      node.ends[last] = node.start(last) + child.count
      node.head.pointee.count = node.ends[last]
      if child.head.pointee.isForeign { node.head.pointee.isForeign = true }
      return more.flatMap { append(entry: DispatchData(whole: $0), to: node) }
    }
  }

  private static func append(entry: DispatchData, to node: DataNode) -> DataObject? {
    if node.entries < node.room {
      node.append(entry)
      return nil
    }
    // The last entries move to the next node, as many as a node needs. Further entries will be appended there.
    let next = DataNode.make(height: node.height, room: DataNode.most)
    let kept = node.entries - DataNode.least + 1
    next.withNode { nextNode in
      for index in kept..<node.entries { nextNode.append(node.piece(index)) }
      nextNode.append(entry)
    }
    node.truncate(to: kept)
    return next
  }

  private static func withLastChild(of node: DataNode, _ body: (inout DataObject) -> Void) {
    let last = node.entries - 1
    // unsafe: for the time of the call the entry's reference is the variable's.
    var child = node.objects[last].takeRetainedValue()
    body(&child)
    node.objects[last] = .passRetained(child)
    node.places[last] = Int(bitPattern: child.head)
  }

  /// Makes `object` a node that may be changed: DataRope.T3.
  private static func prepare(_ object: inout DataObject, room: Int) {
    let isOurs = isKnownUniquelyReferenced(&object)
    let copy: DataObject? = object.withNode { node in
      let wanted = node.entries + room
      if isOurs, wanted <= node.room || node.room == DataNode.most {
        node.forget()
        return nil
      }
      let copy = DataNode.make(
        height: node.height, room: wanted <= node.room ? node.room : min(DataNode.most, max(wanted, 2 * node.room)))
      copy.withNode { if isOurs { $0.take(node) } else { $0.append(node) } }
      return copy
    }
    if let copy { object = copy }
  }
}

extension DataNode {
  /// Appends all entries of `other`.
  func append(_ other: DataNode) {
    for entry in 0..<other.entries { append(other.piece(entry)) }
  }

  /// Takes over all entries of `other`, to which there is no other reference; this one is empty.
  func take(_ other: DataNode) {
    let count = other.entries
    ends.update(from: other.ends, count: count)
    places.update(from: other.places, count: count)
    objects.update(from: other.objects, count: count)
    head.pointee.entries = Int32(count)
    head.pointee.count = other.count
    head.pointee.isForeign = other.head.pointee.isForeign
    other.head.pointee.entries = 0
  }

  /// Lets the entries from `kept` on go.
  func truncate(to kept: Int) {
    for entry in kept..<entries { objects[entry].release() }
    head.pointee.entries = Int32(kept)
    head.pointee.count = ends[kept - 1]
  }
}
