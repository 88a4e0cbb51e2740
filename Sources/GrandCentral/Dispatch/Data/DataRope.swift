// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Data as a rope: a balanced tree of slices of shared regions.
//
//   value    object │ position │ length
//            region   address              bytes of one region: no node at all
//            node     ~offset              bytes of a rope, from `offset` on
//            nil      0          0         nothing
//
//   node     header │ ends │ places │ objects         up to 32 entries
//            height 0: entries are slices (region, address, length)
//            height n: entries are nodes of height n - 1
//
// Concatenating two regions makes one node; 32 slices fit into it. Beyond that nodes have 8 to 32 entries, so that a
// million slices are four or five levels deep however they came together, and a lookup is a binary search per level.
// Memory: 24 bytes for each slice, and with the nodes' headers and room that appending leaves about 35; bytes appended
// one at a time share regions that double up to 1 MiB, about twice the bytes at most.
//
// DataRope.T1  All entries of a node have the same height, and none is empty.
// DataRope.T2  A node that is not the root has at least `least` entries; a root has two, but one that C made of a slice
//     has one.
// DataRope.T3  A node is changed only through the one reference to it, and on a path of such nodes from the root: a
//     shared one is copied first. What a node retains never changes otherwise.
// DataRope.T4  An entry that is a node is the whole node.
// DataRope.T5  A value that is part of a rope covers at least half of it, and every entry of it if bytes of the program's own
//     are among them. So it keeps the regions alive that it shows bytes of, each as a whole, and those of at most as many bytes
//     beside it; and it holds up no deallocator of the program's for a region of which it shows nothing.
//
// join     1  equal heights: both have enough entries: they are the two results.  Else their entries go to new nodes.
//          2  unequal: the lower one joins the nearest child of the higher one; one or two results take its place.
// part     1  go down while one entry has it all             2  a slice, or DataRope.T5 holds: a view of the node
//          3  else the entries between, joined with the parts of the two at the edges
//
// Rejected: one flat array of slices (each concatenation copies and retains them all); a binary tree (deeper by four, a
// node each byte run); keeping nodes and making subranges views always (a part would keep what the program let go).
enum DataRope {
  /// `first` and then `second`.
  static func join(_ first: DispatchData, _ second: DispatchData) -> DispatchData {
    if second.length == 0 { return first }
    if first.length == 0 { return second }
    if first.position > 0, first.object === second.object, first.position + first.length == second.position {
      return DispatchData(object: first.object, position: first.position, length: first.length + second.length)
    }
    if first.position > 0, second.position > 0 { return pair(first, second, height: 0) }
    if let height = heightOfPair(first, second) { return pair(first, second, height: height) }
    let left = first.settled
    let right = second.settled
    let height = max(left.height, right.height)
    let (only, more) = joined(left, right)
    guard let more else { return only }
    return pair(only, more, height: height + 1)
  }

  /// The height of a root above two whole nodes that it can have as they are; nil if they are none.
  @inline(__always)
  private static func heightOfPair(_ first: borrowing DispatchData, _ second: borrowing DispatchData) -> Int? {
    guard first.position == DispatchData.wholeNode, second.position == DispatchData.wholeNode,
      let left = first.object, let right = second.object
    else { return nil }
    let (leftLength, rightLength) = (first.length, second.length)
    return left.withNode { left in
      right.withNode { right in
        let areFit =
          left.height == right.height && left.entries >= DataNode.least && right.entries >= DataNode.least
          && left.count == leftLength && right.count == rightLength
        return areFit ? left.height + 1 : nil
      }
    }
  }

  /// A root with two entries.
  @inline(__always)
  private static func pair(
    _ first: borrowing DispatchData, _ second: borrowing DispatchData, height: Int
  ) -> DispatchData {
    let root = DataNode.make(height: height, room: 2)
    root.withNode { node in
      node.append(first)
      node.append(second)
    }
    return DispatchData(object: root, position: DispatchData.wholeNode, length: first.length + second.length)
  }

  /// One or two trees as high as the higher of the two.
  private static func joined(_ left: DispatchData, _ right: DispatchData) -> (DispatchData, DispatchData?) {
    let leftHeight = left.height
    let rightHeight = right.height
    if leftHeight == rightHeight {
      guard leftHeight >= 0, let leftObject = left.object, let rightObject = right.object else { return (left, right) }
      return leftObject.withNode { leftNode in
        rightObject.withNode { rightNode in
          if leftNode.entries >= DataNode.least, rightNode.entries >= DataNode.least { return (left, right) }
          if leftNode.entries + rightNode.entries <= DataNode.most {
            let object = DataNode.make(height: leftHeight, room: leftNode.entries + rightNode.entries)
            object.withNode { node in
              node.append(leftNode)
              node.append(rightNode)
            }
            return (DispatchData(whole: object), nil)
          }
          var entries = Entries(height: leftHeight)
          entries.add(leftNode, 0..<leftNode.entries)
          entries.add(rightNode, 0..<rightNode.entries)
          return entries.build()
        }
      }
    }
    if leftHeight > rightHeight, let object = left.object {
      return object.withNode { node in
        let last = node.entries - 1
        let (only, more) = joined(node.piece(last), right)
        var entries = Entries(height: leftHeight)
        entries.add(node, 0..<last)
        entries.add(only)
        if let more { entries.add(more) }
        return entries.build()
      }
    }
    guard let object = right.object else { return (left, nil) }
    return object.withNode { node in
      let (only, more) = joined(left, node.piece(0))
      var entries = Entries(height: rightHeight)
      entries.add(only)
      if let more { entries.add(more) }
      entries.add(node, 1..<node.entries)
      return entries.build()
    }
  }

  /// Entries on their way into one or two nodes.
  private struct Entries {
    let height: Int
    private var pieces: [DispatchData] = []

    init(height: Int) {
      self.height = height
      pieces.reserveCapacity(2 * DataNode.most)
    }

    mutating func add(_ piece: DispatchData) { pieces.append(piece) }

    @inline(never)
    mutating func add(_ node: DataNode, _ range: Range<Int>) {
      for entry in range { pieces.append(node.piece(entry)) }
    }

    @inline(never)
    func build() -> (DispatchData, DispatchData?) {
      if pieces.count <= DataNode.most { return (node(0..<pieces.count), nil) }
      let half = pieces.count / 2
      return (node(0..<half), node(half..<pieces.count))
    }

    @inline(never)
    private func node(_ range: Range<Int>) -> DispatchData {
      let object = DataNode.make(height: height, room: range.count)
      let node = DataNode(object)
      for index in range { node.append(pieces[index]) }
      return DispatchData(whole: object)
    }
  }

  /// The length of two together.
  @inline(__always)
  static func total(_ first: Int, _ second: Int) -> Int {
    let (total, isTooLong) = first.addingReportingOverflow(second)
    if isTooLong { faultTooLong() }
    return total
  }

  @inline(never)
  @_optimize(size)
  private static func faultTooLong() -> Never {
    Fault.misuse(
      .dataTooLong,
      "DispatchData.append would make data of more bytes than an index can count. Append data to themselves less "
        + "often.")
  }

  // MARK: Parts

  /// Bytes of a node, at least one, as a view if DataRope.T5 permits it, else as a tree of their own.
  static func part(of root: DataObject, _ range: Range<Int>) -> DispatchData {
    root.withNode { part(of: .passUnretained(root), $0, range) }
  }

  private static func part(
    of object: Unmanaged<DataObject>, _ node: DataNode, _ range: Range<Int>
  ) -> DispatchData {
    var object = object
    var node = node
    var lower = range.lowerBound
    let length = range.count
    while true {
      let first = node.entry(at: lower)
      let start = node.start(first)
      guard lower + length <= node.ends[first] else {
        let last = node.entry(at: lower + length - 1)
        let isComplete = first == 0 && last == node.entries - 1
        if length >= node.count - length,
          isComplete && node.height == 0 || !node.head.pointee.isForeign || length == node.count
        {
          return DispatchData(object: object.takeUnretainedValue(), position: ~lower, length: length)
        }
        return copy(node, lower, first, lower + length, last)
      }
      if node.height == 0 {
        return DispatchData(
          object: node.objects[first].takeUnretainedValue(), position: node.places[first] + lower, length: length)
      }
      lower -= start
      object = node.objects[first]
      node = node.child(first)
    }
  }

  /// The bytes as a tree: the entries between the first and the last one, and parts of those.
  private static func copy(_ node: DataNode, _ lower: Int, _ first: Int, _ upper: Int, _ last: Int) -> DispatchData {
    let head = tree(node, first, from: lower - node.start(first), to: node.ends[first] - node.start(first))
    let tail = tree(node, last, from: 0, to: upper - node.start(last))
    if node.height == 0 {
      let object = DataNode.make(height: 0, room: last - first + 1)
      let copy = DataNode(object)
      copy.append(head)
      for entry in first + 1..<last { copy.append(node.piece(entry)) }
      copy.append(tail)
      return DispatchData(whole: object)
    }
    var middle = DispatchData.empty
    if last - first == 2 { middle = node.piece(first + 1) }
    if last - first > 2 {
      let object = DataNode.make(height: node.height, room: last - first - 1)
      let between = DataNode(object)
      for entry in first + 1..<last { between.append(node.piece(entry)) }
      middle = DispatchData(whole: object)
    }
    return join(join(head, middle), tail)
  }

  /// Part of an entry as a slice or a whole tree.
  private static func tree(_ node: DataNode, _ entry: Int, from lower: Int, to upper: Int) -> DispatchData {
    let piece = node.piece(entry)
    if lower == 0, upper == piece.length { return piece }
    if node.height == 0 {
      return DispatchData(object: piece.object, position: piece.position + lower, length: upper - lower)
    }
    return tree(node.child(entry), lower, upper)
  }

  /// Part of a node as a slice or a whole tree.
  private static func tree(_ node: DataNode, _ lower: Int, _ upper: Int) -> DispatchData {
    let first = node.entry(at: lower)
    let last = node.entry(at: upper - 1)
    if first == last { return tree(node, first, from: lower - node.start(first), to: upper - node.start(first)) }
    return copy(node, lower, first, upper, last)
  }

  /// A view of part of a node as a tree of its own.
  static func settle(_ object: DataObject, from lower: Int, length: Int) -> DispatchData {
    object.withNode { tree($0, lower, lower + length) }
  }
}
