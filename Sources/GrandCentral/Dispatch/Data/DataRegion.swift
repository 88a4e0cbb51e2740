// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Memory that data lie in, and what becomes of it when the last of them has gone.
///
///     region          header │ bytes taken ………│ spare
///     foreign region  header │ deallocator         base ──▶ the program's bytes
///
/// Taken bytes never change. The thread that moves `shared` over spare bytes takes them, and only the value that ends there
/// tries: so values that share a beginning may all be appended to, the first of them in place.
///
/// DataRegion.G1  Bytes below `base + shared` belong to the value that took them and to its copies and parts.
/// DataRegion.G2  The deallocator of a foreign region runs once, when the object is destroyed.
enum DataRegion {
  private static let word = MemoryLayout<Int>.stride

  /// A copy of `bytes`, which are not empty, with room for at least `capacity`.
  static func copy(_ bytes: UnsafeRawBufferPointer, capacity: Int = 0) -> DispatchData {
    make(count: bytes.count, capacity: capacity) {
      $0.copyMemory(from: bytes.baseAddress.unsafelyUnwrapped, byteCount: bytes.count)
    }
  }

  /// A region of `count` bytes, at least one, that `fill` initialises.
  static func make(count: Int, capacity: Int = 0, fill: (UnsafeMutableRawPointer) -> Void) -> DispatchData {
    let words = (max(count, capacity) + word - 1) / word
    let object = allocate(count: count, words: words)
    let base = object.head.tail
    fill(base)
    return DispatchData(object: object, position: Int(bitPattern: base), length: count)
  }

  private static func allocate(count: Int, words: Int) -> DataObject {
    DataObject.make(
      DataHeader(
        shared: UInt(count), base: 0, count: count, capacity: words * word, entries: 0, room: 0, kind: .region,
        height: 0,
        isForeign: false),
      words: words)
  }

  /// Bytes of the program's own, which are not empty.
  static func adopt(_ bytes: UnsafeRawBufferPointer, _ deallocator: DispatchData.Deallocator) -> DispatchData {
    let base = Int(bitPattern: bytes.baseAddress)
    let object = DataObject.make(
      DataHeader(
        shared: UInt(bytes.count), base: base, count: bytes.count, capacity: 0, entries: 0, room: 0,
        kind: .foreignRegion, height: 0, isForeign: true),
      words: (MemoryLayout<DispatchData.Deallocator>.size + word - 1) / word)
    // unsafe: the memory behind the header has been allocated for this.
    object.head.tail.bindMemory(to: DispatchData.Deallocator.self, capacity: 1).initialize(to: deallocator)
    return DispatchData(object: object, position: base, length: bytes.count)
  }

  typealias GiveBack = @convention(c) (UnsafeRawPointer) -> Void

  /// Bytes of the library's own, which are not empty; `giveBack` is called with the first one when the last data have
  /// gone, on whatever thread that is.
  static func lend(_ bytes: UnsafeRawBufferPointer, to giveBack: @escaping GiveBack) -> DispatchData {
    let base = Int(bitPattern: bytes.baseAddress)
    let object = DataObject.make(
      DataHeader(
        shared: UInt(bytes.count), base: base, count: bytes.count, capacity: 0, entries: 0, room: 0, kind: .lentRegion,
        height: 0, isForeign: false),
      words: 1)
    // unsafe: the memory behind the header has been allocated for this.
    object.head.tail.storeBytes(of: giveBack, as: GiveBack.self)
    return DispatchData(object: object, position: base, length: bytes.count)
  }

  /// A lent region is destroyed.
  static func giveBack(_ head: DataObject.Header) {
    // unsafe: `lend` has stored the function and the address.
    head.tail.load(as: GiveBack.self)(UnsafeRawPointer(bitPattern: head.pointee.base).unsafelyUnwrapped)
  }

  /// DataRegion.G2.
  static func release(_ head: DataObject.Header) {
    // unsafe: `adopt` has initialised it, and there is no other reference to the object any more.
    let deallocator = head.tail.assumingMemoryBound(to: DispatchData.Deallocator.self).move()
    let bytes = UnsafeRawBufferPointer(
      start: UnsafeRawPointer(bitPattern: head.pointee.base), count: head.pointee.count)
    deallocator.run(bytes)
  }

  /// If `data` are a whole foreign region that a block of the program's lets go, that block will run on `queue`. Callers come
  /// one at a time.
  static func retarget(_ data: DispatchData, to queue: DispatchQueue?) {
    withDeallocator(of: data) { if case .custom(_, let block) = $0 { $0 = .custom(queue, block) } }
  }

  /// Says how a whole foreign region is let go; of other data nothing.
  static func withDeallocator(of data: DispatchData, _ body: (inout DispatchData.Deallocator) -> Void) {
    data.object?.withUnsafeMutablePointerToHeader { head in
      let header = head.pointee
      guard header.kind == .foreignRegion, header.count == data.count else { return }
      // unsafe: `adopt` has initialised it, and the data keep it.
      body(&head.tail.assumingMemoryBound(to: DispatchData.Deallocator.self)[0])
    }
  }

  /// Whether the `length` spare bytes at `address` are the caller's from now on: the region ended there, and has room.
  @inline(__always)
  static func take(_ length: Int, at address: Int, of object: DataObject) -> Bool {
    object.withUnsafeMutablePointerToHeader { head in
      guard head.pointee.kind == .region else { return false }
      let offset = address - Int(bitPattern: head.tail)
      guard head.pointee.capacity - offset >= length else { return false }
      // relaxed: the exchange only divides the memory; what is written to it travels with the value that took it.
      return head.shared.pointee.compareExchange(
        expected: UInt(bitPattern: offset), desired: UInt(bitPattern: offset + length), ordering: .relaxed
      ).exchanged
    }
  }

  /// The size of a region that was made for appended bytes, if those taken end at `address`; else 0.
  static func chunk(endingAt address: Int, in object: DataObject) -> Int {
    object.withUnsafeMutablePointerToHeader { head in
      let chunk = head.pointee.chunk
      if chunk == 0 { return 0 }
      // relaxed: a size depends on it, and no byte.
      let taken = Int(bitPattern: head.shared.pointee.load(ordering: .relaxed))
      return Int(bitPattern: head.tail) + taken == address ? chunk : 0
    }
  }

  /// The whole region as data; a region of the process's own as it was at its creation.
  static func all(_ object: DataObject) -> DispatchData {
    object.withUnsafeMutablePointerToHeader { head in
      let base = head.pointee.kind == .region ? Int(bitPattern: head.tail) : head.pointee.base
      return DispatchData(object: object, position: base, length: head.pointee.count)
    }
  }
}

extension DispatchData.Deallocator {
  /// Lets `bytes` go.
  func run(_ bytes: UnsafeRawBufferPointer) {
    switch self {
    case .free:
      if let base = bytes.baseAddress { Memory.free(UnsafeMutableRawPointer(mutating: base)) }
    case .unmap:
      if let base = bytes.baseAddress { Memory.unmapPages(base, bytes.count) }
    case .custom(let queue, let block):
      // The program said on which queue the block runs: that is its consent to another thread.
      let work = unsafeBitCast(block, to: (@Sendable () -> Void).self)
      if Recorder.isOn { World.goBeyondOrders(.references) }
      (queue ?? .global()).submitSlow(work)
    }
  }
}
