// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc

@testable import GrandCentral

extension DispatchData {
  /// A copy of an array's bytes.
  init(_ bytes: [UInt8]) { self = bytes.withUnsafeBytes { DispatchData(bytes: $0) } }

  /// A copy in memory of the program's own, whose release is counted.
  init(_ bytes: [UInt8], countedBy releases: Counter, on queue: DispatchQueue? = nil) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    memory.copyBytes(from: bytes)
    let address = UInt(bitPattern: memory.baseAddress)
    self.init(
      bytesNoCopy: UnsafeRawBufferPointer(memory),
      deallocator: .custom(queue) {
        UnsafeMutableRawPointer(bitPattern: address)?.deallocate()
        releases.add()
      })
  }

  /// The regions' bytes.
  var pieces: [[UInt8]] {
    var pieces: [[UInt8]] = []
    enumerateBytes { bytes, _, _ in pieces.append(Array(bytes)) }
    return pieces
  }

  /// The bytes, by the plainest of all ways.
  var array: [UInt8] { pieces.flatMap { $0 } }

  mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }

  /// The same bytes in regions as long as `lengths`, over and over.
  func inRegions(of lengths: [Int]) -> DispatchData {
    var result = DispatchData.empty
    var index = 0
    var turn = 0
    while index < count {
      let end = Swift.min(count, index + lengths[turn % lengths.count])
      result.append(DispatchData(Array(self)[index..<end].map { $0 }))
      (index, turn) = (end, turn + 1)
    }
    return result
  }
}

/// What must be true of every rope; empty if it is.
func faults(of data: DispatchData) -> [String] {
  guard let object = data.object else { return data.count == 0 && data.position == 0 ? [] : ["bytes of nothing"] }
  guard data.position < 0 else { return data.count > 0 ? [] : ["a slice without bytes"] }
  let node = DataNode(object)
  var found = faults(of: node, isRoot: true)
  let lower = ~data.position
  if lower + data.count > node.count { found.append("beyond the node") }
  if 2 * data.count < node.count { found.append("a view of less than half") }
  return found
}

private func faults(of node: DataNode, isRoot: Bool) -> [String] {
  var found: [String] = []
  // An object of the C face may be a node with one slice.
  if node.entries < (isRoot ? node.height == 0 ? 1 : 2 : DataNode.least) {
    found.append("\(node.entries) entries at height \(node.height)")
  }
  if node.entries > node.room || node.room > DataNode.most { found.append("more entries than room") }
  if node.ends[node.entries - 1] != node.count { found.append("the count is not the last end") }
  for entry in 0..<node.entries {
    let length = node.ends[entry] - node.start(entry)
    if length <= 0 { found.append("an entry without bytes") }
    let object = node.objects[entry].takeUnretainedValue()
    if object.head.pointee.isForeign, !node.head.pointee.isForeign { found.append("foreign bytes not told of") }
    let isRegion = object.head.pointee.kind != .node
    if isRegion != (node.height == 0) { found.append("a region at height \(node.height)") }
    guard node.height > 0 else { continue }
    let child = node.child(entry)
    if child.head != object.head { found.append("a place that is not the child's") }
    if child.height != node.height - 1 { found.append("a child of height \(child.height)") }
    if child.count != length { found.append("a child that is longer or shorter") }
    found += faults(of: child, isRoot: false)
  }
  return found
}
