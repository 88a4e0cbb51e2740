// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// The memory of nodes and batches: regions of 2 MiB, each at a multiple of its size, cut into lines of 64 bytes.
//
//   region ─► | header | node | node | … | batch (9 lines) | node | …     carved from front to back, 64 nodes at a time
//
//   | header | letter      | means                                                          |
//   |--------|-------------|----------------------------------------------------------------|
//   | older  | M(lock)     | the region made before                                         |
//   | carved | M(lock)     | lines carved so far, the header included                       |
//   | wasted | M(lock)     | lines at the end that were too few for what was asked          |
//   | idle   | M(trimming) | lines in a trim's hand                                         |
//   | vacant | M(trimming) | that is all of them                                            |
//
// Region.R1  `newest` is the only region with lines left to carve.
// Region.R2  When all lines of a region that were carved are in one hand, no other thread knows an address in it any more, and
//     the region goes back to the kernel.
//
// Nodes that are neighbours in memory are carved, and with luck used, one after the other: a backlog is then read in
// the order in which processors fetch ahead.
//
// A burst leaves many nodes, which stay for the next burst. When there has been nothing to do for a while, `trim` is called.
// It holds the depot's nodes for some milliseconds per million; a thread that fetches meanwhile carves.
//
// Rejected: a malloc for each node (a header for each, no alignment, and a free for each); freeing beyond a bound as
// nodes come back (the next burst pays again, and both pay one node at a time).
enum Region {
  static let size = 2 << 20
  /// Nodes in the depot below which a trim is not worth it: 1 MiB.
  private static let worthwhile = 16_384
  /// Pages are asked for this many bytes at a time. A process that does little needs few: so at a region's front for none, which come as
  /// they are touched, and then for as many again each time.
  private static let (firstStep, step) = (8 << 10, 64 << 10)

  /// A region's header, field by field: those of one lock must not be written along with those of the other.
  private struct Header: Equatable {
    let raw: UnsafeMutableRawPointer

    var older: Header? {
      get {
        guard let older = raw.load(as: UnsafeMutableRawPointer?.self) else { return nil }
        return Header(raw: older)
      }
      nonmutating set { raw.storeBytes(of: newValue?.raw, as: UnsafeMutableRawPointer?.self) }
    }

    var carved: Int {
      get { raw.load(fromByteOffset: 8, as: Int.self) }
      nonmutating set { raw.storeBytes(of: newValue, toByteOffset: 8, as: Int.self) }
    }

    var wasted: Int {
      get { raw.load(fromByteOffset: 16, as: Int.self) }
      nonmutating set { raw.storeBytes(of: newValue, toByteOffset: 16, as: Int.self) }
    }

    var idle: Int {
      get { raw.load(fromByteOffset: 24, as: Int.self) }
      nonmutating set { raw.storeBytes(of: newValue, toByteOffset: 24, as: Int.self) }
    }

    var vacant: Bool {
      get { raw.load(fromByteOffset: 32, as: Bool.self) }
      nonmutating set { raw.storeBytes(of: newValue, toByteOffset: 32, as: Bool.self) }
    }
  }

  private static let lock = ProcessLock()
  /// Held by the one thread that trims.
  private static let trimming = ProcessLock()
  /// Guarded by `lock`: address of a Header, or 0. Atomic because that makes it a constant.
  private static let youngest = Atomic<UInt>(0)
  private static var lines: Int { size / Magazine.nodeSize }

  private static var newest: Header? {
    // relaxed: the lock orders it.
    get { UnsafeMutableRawPointer(bitPattern: youngest.load(ordering: .relaxed)).map { Header(raw: $0) } }
    set { youngest.store(UInt(bitPattern: newValue?.raw), ordering: .relaxed) }
  }

  /// Fills an empty batch with nodes that no thread has used, so that they are taken in the order of their addresses.
  ///
  /// - Returns: how many; 0 if there is no memory.
  static func carve(into batch: NodeBatch) -> Int {
    // Up to the next multiple, so that a batch's nodes are one page.
    guard let (memory, count) = carve({ NodeBatch.capacity - $0 % NodeBatch.capacity }) else { return 0 }
    for index in 0..<count { batch[count - 1 - index] = memory + index * Magazine.nodeSize }
    return count
  }

  /// A batch without nodes; nil if there is no memory.
  static func carveClip() -> NodeBatch? {
    guard let (memory, _) = carve({ _ in NodeBatch.lines }) else { return nil }
    // unsafe: no other thread knows these lines. The first is the header, which must be zero.
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: NodeBatch.headerSize)
    return NodeBatch(raw: memory)
  }

  /// Carves as many lines as `size` answers, given the index of the first.
  private static func carve(_ size: (Int) -> Int) -> (memory: UnsafeMutableRawPointer, count: Int)? {
    lock.lock()
    defer { lock.unlock() }
    guard var region = newest ?? addRegion() else { return nil }
    if region.carved + size(region.carved) > lines {
      guard let added = addRegion() else { return nil }
      region.wasted = lines - region.carved
      region.carved = lines
      region = added
    }
    let memory = region.raw
    let first = region.carved
    let count = size(first)
    region.carved += count
    populate(memory, from: first, to: first + count)
    return (memory + first * Magazine.nodeSize, count)
  }

  /// Asks for the pages of the next step once the lines from `first` on reach it. The line before them has been reached already.
  private static func populate(_ memory: UnsafeMutableRawPointer, from first: Int, to end: Int) {
    let reached = endOfStep(with: (first - 1) * Magazine.nodeSize)
    let wanted = endOfStep(with: (end - 1) * Magazine.nodeSize)
    if wanted != reached { Memory.populate(memory + reached, wanted - reached) }
  }

  private static func endOfStep(with offset: Int) -> Int {
    if offset >= step { return (offset / step + 1) * step }
    var end = firstStep
    while end <= offset { end *= 2 }
    return end
  }

  private static func addRegion() -> Header? {
    guard let pages = Memory.map(size) else { return nil }
    // Fresh pages are zero: nothing is wasted, idle or vacant.
    let region = Header(raw: pages)
    region.older = newest
    region.carved = 1
    newest = region
    return region
  }

  /// Gives back regions that no thread uses, if the depot holds many nodes.
  static func trim() {
    if Depot.filledCount < worthwhile / NodeBatch.capacity || !trimming.tryLock() { return }
    defer { trimming.unlock() }
    let (filled, empty) = Depot.takeAll()
    forEachClip(of: filled) { batch in
      for index in 0..<batch.count { if let node = batch[index] { header(of: node).idle += 1 } }
      header(of: batch.raw).idle += NodeBatch.lines
    }
    forEachClip(of: empty) { header(of: $0.raw).idle += NodeBatch.lines }
    findVacant()
    forEachClip(of: filled) { putBack($0) }
    forEachClip(of: empty) { if !header(of: $0.raw).vacant { Depot.keep($0) } }
    unmapVacant()
  }

  /// Puts the nodes back that are not in idle regions; the batch too, or its like.
  private static func putBack(_ batch: NodeBatch) {
    var kept = 0
    for index in 0..<batch.count {
      guard let node = batch[index], !header(of: node).vacant else { continue }
      batch[kept] = node
      kept += 1
    }
    let staysHere = !header(of: batch.raw).vacant
    if kept == 0 {
      if staysHere { Depot.keep(batch) }
      return
    }
    let home = staysHere ? batch : Depot.emptyClip()
    if !staysHere { for index in 0..<kept { home[index] = batch[index] } }
    if let empty = Depot.deposit(home, count: kept) { Depot.keep(empty) }
  }

  private static func findVacant() {
    lock.lock()
    defer { lock.unlock() }
    var next = newest
    while let region = next {
      next = region.older
      region.vacant = region.idle + region.wasted == lines - 1
      region.idle = 0
    }
  }

  private static func unmapVacant() {
    lock.lock()
    defer { lock.unlock() }
    var younger: Header?
    var next = newest
    while let region = next {
      let older = region.older
      next = older
      if !region.vacant {
        younger = region
        continue
      }
      if let younger { younger.older = older } else { newest = older }
      Memory.unmap(region.raw, size)
    }
  }

  private static func forEachClip(of all: NodeBatch?, _ body: (NodeBatch) -> Void) {
    var next = all
    while let batch = next {
      next = batch.next
      body(batch)
    }
  }

  /// unsafe: regions lie at multiples of their size.
  private static func header(of node: UnsafeMutableRawPointer) -> Header {
    let address = UInt(bitPattern: node) & ~UInt(size - 1)
    return Header(raw: UnsafeMutableRawPointer(bitPattern: address).unsafelyUnwrapped)
  }

  /// How many regions there are.
  static var count: Int {
    lock.lock()
    defer { lock.unlock() }
    var count = 0
    var next = newest
    while let region = next {
      count += 1
      next = region.older
    }
    return count
  }

  /// A fork must not find a header half changed.
  static func lockForFork() {
    trimming.lock()
    lock.lock()
  }

  /// In the parent and in the child.
  static func unlockAfterFork() {
    lock.unlock()
    trimming.unlock()
  }
}
