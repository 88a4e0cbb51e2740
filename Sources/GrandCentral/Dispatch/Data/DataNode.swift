// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A node of a rope, seen through its header; its user has the object retained. See DataRope.swift.
@usableFromInline
struct DataNode {
  /// Entries of a full node, and the fewest of one that is not the root.
  static let most = 32
  static let least = 8

  let head: DataObject.Header

  @inline(__always)
  init(_ head: DataObject.Header) { self.head = head }

  /// See `DataObject.head`.
  @inline(__always)
  init(_ object: DataObject) { head = object.head }

  @inline(__always) var entries: Int { Int(head.pointee.entries) }
  @inline(__always) var room: Int { Int(head.pointee.room) }
  @inline(__always) var height: Int { Int(head.pointee.height) }
  @inline(__always) var count: Int { head.pointee.count }

  // unsafe: the three arrays lie one after the other behind the header, each with room for `room` words.

  /// Where each entry ends.
  @inline(__always)
  var ends: UnsafeMutablePointer<Int> { head.tail.assumingMemoryBound(to: Int.self) }

  /// The address that the node's first byte would have if each slice reached back to it: an offset added to it is the
  /// byte's address. In higher nodes the header of each child.
  @inline(__always)
  var places: UnsafeMutablePointer<Int> { ends + room }

  /// The region of each slice, or the child; retained.
  @inline(__always)
  var objects: UnsafeMutablePointer<Unmanaged<DataObject>> {
    UnsafeMutableRawPointer(ends + 2 * room).assumingMemoryBound(to: Unmanaged<DataObject>.self)
  }

  @inline(__always)
  func start(_ entry: Int) -> Int { entry == 0 ? 0 : ends[entry - 1] }

  /// The entry that has the byte at `offset`, which is below the count.
  @inline(__always)
  func entry(at offset: Int) -> Int {
    // relaxed: it follows from entries that no thread changes while others see the node.
    let pace = head.pace.pointee.load(ordering: .relaxed)
    return pace > Pace.uneven
      ? Int(bitPattern: UInt(bitPattern: offset).multipliedFullWidth(by: pace).high) : search(for: offset, pace)
  }

  /// How the entry of an offset is found. Any other value means that all entries but the last have the same length, and that
  /// the last is no longer. The value is 2^64 divided by that length, rounded up: the offset times the value, divided by 2^64,
  /// is the entry.
  private enum Pace {
    static let unknown: UInt = 0
    static let uneven: UInt = 1
    /// The rounding moves the product by less than 2^64 divided by the length, for up to 32 entries of this length.
    static let longest = 1 << 29
  }

  @inline(never)
  private func search(for offset: Int, _ pace: UInt) -> Int {
    // relaxed: every thread that looks finds the same.
    if pace == Pace.unknown { head.pace.pointee.store(findPace(), ordering: .relaxed) }
    let ends = ends
    var low = 0
    var length = entries
    // No branch depends on what is found: the processor could not predict which half comes next.
    while length > 1 {
      let half = length &>> 1
      let middle = low &+ half
      low = ends[middle &- 1] <= offset ? middle : low
      length &-= half
    }
    return low
  }

  private func findPace() -> UInt {
    let stride = ends[0]
    guard stride > 1, stride <= Pace.longest, count <= stride * entries else { return Pace.uneven }
    for entry in 0..<entries - 1 where ends[entry] != stride * (entry + 1) { return Pace.uneven }
    return UInt.max / UInt(bitPattern: stride) + 1
  }

  /// The child that a higher node's entry is.
  @inline(__always)
  func child(_ entry: Int) -> DataNode {
    // unsafe: the entry retains the child that this is the header of.
    DataNode(DataObject.Header(bitPattern: places[entry]).unsafelyUnwrapped)
  }

  /// An entry as data.
  func piece(_ entry: Int) -> DispatchData {
    DispatchData(
      object: objects[entry].takeUnretainedValue(),
      position: height == 0 ? places[entry] + start(entry) : DispatchData.wholeNode,
      length: ends[entry] - start(entry))
  }

  // MARK: Making and unmaking

  /// An empty node, to which there is no other reference.
  static func make(height: Int, room: Int) -> DataObject {
    DataObject.make(
      DataHeader(
        shared: 0, base: 0, count: 0, capacity: 0, entries: 0, room: Int16(room), kind: .node, height: Int8(height),
        isForeign: false),
      words: 3 * room)
  }

  /// Adds an entry, for which there is room, to a node to which there is no other reference.
  @inline(__always)
  func append(_ piece: borrowing DispatchData) {
    guard let object = piece.object else { return }
    append(.passRetained(object), piece.position, piece.length)
  }

  /// As `append`; the data are empty afterwards.
  @inline(__always)
  func append(taking piece: inout DispatchData) {
    let (position, length) = (piece.position, piece.length)
    guard let object = piece.object.take() else { return }
    piece.length = 0
    append(.passRetained(object), position, length)
  }

  private func append(_ object: Unmanaged<DataObject>, _ position: Int, _ length: Int) {
    let index = entries
    let start = count
    let end = DataRope.total(start, length)
    // unsafe: the caller has retained it for the entry.
    let header = object._withUnsafeGuaranteedRef { $0.head }
    ends[index] = end
    places[index] = height == 0 ? position - start : Int(bitPattern: header)
    objects[index] = object
    head.pointee.entries += 1
    head.pointee.count = end
    if header.pointee.isForeign { head.pointee.isForeign = true }
  }

  /// Makes the last entry longer.
  func extend(by length: Int) {
    let last = entries - 1
    ends[last] = DataRope.total(ends[last], length)
    head.pointee.count += length
  }

  /// Lets everything go that the node has retained.
  func release() {
    for entry in 0..<entries { objects[entry].release() }
    forget()
  }

  // MARK: The bytes as one region

  /// The region that holds the node's bytes in one piece, if that has been asked for.
  @inline(__always)
  var flat: Unmanaged<DataObject>? {
    // pairs with: setFlat – publishes the region's bytes
    UnsafeRawPointer(bitPattern: head.shared.pointee.load(ordering: .acquiring)).map(Unmanaged.fromOpaque)
  }

  /// Keeps `region` as the flat one, unless another thread was first; returns the one that is kept.
  func setFlat(_ region: DataObject) -> DataObject {
    let reference = Unmanaged.passRetained(region)
    // pairs with: flat – publishes the region's bytes; an exchange that fails takes over the other region's
    let (exchanged, other) = head.shared.pointee.compareExchange(
      expected: 0, desired: UInt(bitPattern: reference.toOpaque()), successOrdering: .releasing,
      failureOrdering: .acquiring)
    if exchanged { return region }
    reference.release()
    // unsafe: what is there stays until the node changes or is destroyed, and the caller has the node.
    return Unmanaged<DataObject>.fromOpaque(UnsafeRawPointer(bitPattern: other).unsafelyUnwrapped).takeUnretainedValue()
  }

  /// Forgets what was computed from the entries: the node changes, or ends.
  func forget() {
    head.pointee.base = Int(Pace.unknown)
    guard head.pointee.shared != 0 else { return }
    flat?.release()
    head.pointee.shared = 0
  }
}
