// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What a data object begins with: memory that bytes lie in, or a node of a rope; see DataRegion.swift, DataRope.swift.
@usableFromInline
struct DataHeader {
  /// In a region how many of its bytes are taken, in a node its bytes as one region, retained, or 0.
  var shared: UInt
  /// A region's first byte; or a node's `DataNode.pace`, which is atomic.
  var base: Int
  /// A region's bytes at its creation; or a node's bytes, which the holder of the only reference changes.
  var count: Int
  /// Bytes that a region has room for.
  let capacity: Int
  /// Its maker's alone: entries of a node.
  var entries: Int32
  /// Entries that a node has room for.
  let room: Int16
  let kind: Kind
  /// Of a node; 0 when its entries are slices of regions.
  let height: Int8
  /// Its maker's alone: whether some of the bytes belong to the program, which can see when they are let go.
  var isForeign: Bool

  /// What a region that is made for appended bytes has to spare then. One of another kind has less: its size is rounded up to words.
  static let leastSpare = MemoryLayout<Int>.size

  /// The size of a region that was made for appended bytes; else 0.
  var chunk: Int { capacity - count < Self.leastSpare ? 0 : capacity }

  enum Kind {
    /// Bytes behind the header.
    case region
    /// Bytes elsewhere, behind the header what frees them.
    case foreignRegion
    /// Bytes elsewhere that are the library's own; behind the header the owner that gets them back.
    case lentRegion
    /// Entries behind the header.
    case node
  }
}

/// The one class behind data: a header and, in the same allocation, bytes, entries, or what frees the bytes.
///
/// Changed by atomics, or by the holder of the only reference. The C face hands it out as `dispatch_data_t`.
@usableFromInline
final class DataObject: ManagedBuffer<DataHeader, Int> {
  @usableFromInline typealias Header = UnsafeMutablePointer<DataHeader>

  /// The header's address. Using it does not keep the object: the caller uses or returns the object afterwards, or takes
  /// `withNode`. The optimiser moves releases up to the last use that it sees, and one through an address it does not.
  @inline(__always)
  var head: Header { withUnsafeMutablePointerToHeader { $0 } }

  /// Calls `body` with the node that the object is, and keeps the object meanwhile.
  @inline(__always)
  func withNode<Result>(_ body: (DataNode) -> Result) -> Result {
    withUnsafeMutablePointerToHeader { body(DataNode($0)) }
  }

  static func make(_ header: DataHeader, words: Int) -> DataObject {
    // unsafe: `create` makes an object of the class that it is called on.
    unsafeDowncast(create(minimumCapacity: words) { _ in header }, to: DataObject.self)
  }

  deinit {
    let head = head
    switch head.pointee.kind {
    case .region: break
    case .foreignRegion: DataRegion.release(head)
    case .lentRegion: DataRegion.giveBack(head)
    case .node: DataNode(head).release()
    }
  }
}

extension UnsafeMutablePointer<DataHeader> {
  /// The memory behind the header.
  @inline(__always)
  var tail: UnsafeMutableRawPointer { UnsafeMutableRawPointer(self + 1) }

  /// The header's first word as an atomic one.
  @inline(__always)
  var shared: UnsafeMutablePointer<Atomic<UInt>> {
    // unsafe: an `Atomic` is laid out as what it holds, and the word is only used as one once others know the object.
    UnsafeMutableRawPointer(self).assumingMemoryBound(to: Atomic<UInt>.self)
  }

  /// The header's second word, of a node, as an atomic one.
  @inline(__always)
  var pace: UnsafeMutablePointer<Atomic<UInt>> { shared + 1 }
}
