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
  mutating func push(_ lane: Borrowed<Lane>) {
    if word == 0 { word = lane.bits } else { pushSlow(lane) }
  }

  @inline(never)
  private mutating func pushSlow(_ lane: Borrowed<Lane>) {
    if let node, node.count < Self.lanesPerNode {
      node.append(lane)
      return
    }
    let older = node
    // unsafe: a fresh node of 64 bytes.
    let fresh = Node(raw: Magazine.takeRarely())
    fresh.begin(after: older)
    if older == nil { fresh.append(Borrowed(bits: word)!) }
    fresh.append(lane)
    word = UInt(bitPattern: fresh.raw) | Self.isNode
  }

  /// Takes out the lane that was recorded last; nil if there is none.
  @inline(__always)
  mutating func pop() -> Borrowed<Lane>? {
    if word & Self.isNode != 0 { return popSlow() }
    let lane = Borrowed<Lane>(bits: word)
    word = 0
    return lane
  }

  @inline(never)
  private mutating func popSlow() -> Borrowed<Lane>? {
    guard let node else { return nil }
    let lane = node.removeLast()
    if node.count == 0 {
      word = node.older == 0 ? 0 : node.older | Self.isNode
      Magazine.giveRarely(node.raw)
    }
    return lane
  }

  /// How often a lane is recorded. Any thread, while the caller sleeps.
  func count(of lane: Lane) -> Int {
    var count = 0
    forEach { if $0 == lane { count += 1 } }
    return count
  }

  /// Calls `body` with each recorded lane. Any thread, while the caller sleeps.
  func forEach(_ body: (Borrowed<Lane>) -> Void) {
    guard var node else {
      if let lane = Borrowed<Lane>(bits: word) { body(lane) }
      return
    }
    while true {
      for index in 0..<node.count { body(node[index]) }
      guard let older = node.before else { return }
      node = older
    }
  }

  private var node: Node? { word & Self.isNode == 0 ? nil : Node(bits: word & ~Self.isNode) }

  /// A node of the magazine that lists lanes. The calling thread's alone.
  private struct Node {
    let raw: UnsafeMutableRawPointer

    init(raw: Job.Word) { self.raw = raw }

    /// Nil for 0.
    init?(bits: UInt) {
      guard let raw = UnsafeMutableRawPointer(bitPattern: bits) else { return nil }
      self.raw = raw
    }

    /// The address of the node before; 0 if there is none.
    var older: UInt { raw.load(as: UInt.self) }
    var before: Node? { Node(bits: older) }
    var count: Int { raw.load(fromByteOffset: 8, as: Int.self) }

    func begin(after older: Node?) {
      raw.storeBytes(of: UInt(bitPattern: older?.raw), as: UInt.self)
      raw.storeBytes(of: 0, toByteOffset: 8, as: Int.self)
    }

    func append(_ lane: Borrowed<Lane>) {
      let count = count
      raw.storeBytes(of: lane.bits, toByteOffset: 16 + count * 8, as: UInt.self)
      raw.storeBytes(of: count + 1, toByteOffset: 8, as: Int.self)
    }

    func removeLast() -> Borrowed<Lane> {
      let count = count - 1
      raw.storeBytes(of: count, toByteOffset: 8, as: Int.self)
      return self[count]
    }

    subscript(index: Int) -> Borrowed<Lane> {
      Borrowed(bits: raw.load(fromByteOffset: 16 + index * 8, as: UInt.self))!
    }
  }
}
