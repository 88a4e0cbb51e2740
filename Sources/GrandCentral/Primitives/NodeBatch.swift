// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// An array of pointers to free nodes: what threads and the depot trade.
///
/// | offset | bytes | field | means                                                         |
/// |-------:|------:|-------|---------------------------------------------------------------|
/// |      0 |     8 | next  | next batch of a depot shard                                    |
/// |      8 |     8 | count | nodes in it while it lies in the depot                        |
/// |     16 |    48 | –     | zero: a look ahead of the first slot reads it                 |
/// |     64 |   512 | slots | pointers, filled from the front, taken from the back          |
///
/// Pointers rather than a list through the nodes: taking a node does not read the node's memory. In a large backlog such a
/// read is a cache miss each, one after the other.
///
/// The thread that got it from a region, or from the depot, owns it.
struct NodeBatch: Equatable, @unchecked Sendable {  // a handle; the ownership rule above is what makes sharing safe
  let raw: UnsafeMutableRawPointer

  static let capacity = 64
  /// Lines of a region that a batch takes up.
  static let lines = 9
  static let headerSize = 64

  @inline(__always)
  init(raw: UnsafeMutableRawPointer) { self.raw = raw }

  @inline(__always)
  var next: NodeBatch? {
    get {
      guard let next = raw.load(as: UnsafeMutableRawPointer?.self) else { return nil }
      return NodeBatch(raw: next)
    }
    nonmutating set { raw.storeBytes(of: newValue?.raw, as: UnsafeMutableRawPointer?.self) }
  }

  @inline(__always)
  var count: Int {
    get { raw.load(fromByteOffset: 8, as: Int.self) }
    nonmutating set { raw.storeBytes(of: newValue, toByteOffset: 8, as: Int.self) }
  }

  /// The pointer at `index`, from -8, which lies in the header, to 63.
  @inline(__always)
  subscript(index: Int) -> UnsafeMutableRawPointer? {
    get { raw.load(fromByteOffset: Self.headerSize &+ index &* 8, as: UnsafeMutableRawPointer?.self) }
    nonmutating set {
      raw.storeBytes(of: newValue, toByteOffset: Self.headerSize &+ index &* 8, as: UnsafeMutableRawPointer?.self)
    }
  }
}
