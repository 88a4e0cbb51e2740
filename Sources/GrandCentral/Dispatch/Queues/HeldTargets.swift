// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// The lanes above a lane that one synchronous caller holds, as a value in the caller's frame.
//
// A synchronous item of a nested lane holds that lane, its target, the target's target, and so on. The caller records
// each lane at the moment it takes it, and gives back exactly what it has recorded, the uppermost lane first. Nothing
// about the chain is worked out a second time.
//
//   | word             | meaning                                                                |
//   |------------------|------------------------------------------------------------------------|
//   | 0                | no lane                                                                |
//   | address, bit 0 = 0 | one lane: the usual nesting needs no memory                            |
//   | address, bit 0 = 1 | a node of the magazine: older node, count, then up to six lanes        |
//
// HeldTargets.I1  A recorded lane is held by this thread: as a reader if it is concurrent, else as its owner.
// HeldTargets.I2  Each recorded lane is the target of the one recorded before it, the first one that of the lane
//     itself. So the lane below, which is held longer, keeps a recorded lane alive.
//
// Rejected: walking the chain again to give it back (what decides where it ends must then be the same twice; and top
// first means recursion, which a long chain does not survive).
@frozen
@usableFromInline
struct HeldTargets {
  @usableFromInline var word: UInt

  @inlinable
  init() { word = 0 }

  private static let lanesPerNode = 6
  private static let isNode: UInt = 1

  /// Records a lane that has just been taken.
  @inline(__always)
  mutating func push(_ lane: UnsafeMutableRawPointer) {
    if word == 0 { word = UInt(bitPattern: lane) } else { pushSlow(lane) }
  }

  @inline(never)
  private mutating func pushSlow(_ lane: UnsafeMutableRawPointer) {
    if let node, node.count < Self.lanesPerNode {
      node.append(lane)
      return
    }
    let older = node
    // unsafe: a fresh node of 64 bytes.
    let fresh = Node(raw: Magazine.take())
    fresh.begin(after: older)
    if older == nil { fresh.append(UnsafeMutableRawPointer(bitPattern: word)!) }
    fresh.append(lane)
    word = UInt(bitPattern: fresh.raw) | Self.isNode
  }

  /// Takes out the lane that was recorded last; nil if there is none.
  @inline(__always)
  mutating func pop() -> UnsafeMutableRawPointer? {
    if word & Self.isNode != 0 { return popSlow() }
    let lane = UnsafeMutableRawPointer(bitPattern: word)
    word = 0
    return lane
  }

  @inline(never)
  private mutating func popSlow() -> UnsafeMutableRawPointer? {
    guard let node else { return nil }
    let lane = node.removeLast()
    if node.count == 0 {
      word = node.older.map { UInt(bitPattern: $0) | Self.isNode } ?? 0
      Magazine.give(node.raw)
    }
    return lane
  }

  private var node: Node? {
    if word & Self.isNode == 0 { return nil }
    return UnsafeMutableRawPointer(bitPattern: word & ~Self.isNode).map { Node(raw: $0) }
  }

  /// A node of the magazine that lists lanes. The calling thread's alone.
  private struct Node {
    let raw: UnsafeMutableRawPointer

    var older: UnsafeMutableRawPointer? { raw.load(as: UnsafeMutableRawPointer?.self) }
    var count: Int { raw.load(fromByteOffset: 8, as: Int.self) }

    func begin(after older: Node?) {
      raw.storeBytes(of: older?.raw, as: UnsafeMutableRawPointer?.self)
      raw.storeBytes(of: 0, toByteOffset: 8, as: Int.self)
    }

    func append(_ lane: UnsafeMutableRawPointer) {
      let count = count
      raw.storeBytes(of: lane, toByteOffset: 16 + count * 8, as: UnsafeMutableRawPointer.self)
      raw.storeBytes(of: count + 1, toByteOffset: 8, as: Int.self)
    }

    func removeLast() -> UnsafeMutableRawPointer {
      let count = count - 1
      raw.storeBytes(of: count, toByteOffset: 8, as: Int.self)
      return raw.load(fromByteOffset: 16 + count * 8, as: UnsafeMutableRawPointer.self)
    }
  }
}
