// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Where a transform puts its bytes: memory that grows, and becomes data without a copy.
struct TransformSink {
  private var base: UnsafeMutableRawPointer
  private var room: Int
  private(set) var count = 0

  init(expecting count: Int) {
    room = max(64, count)
    base = Memory.allocate(room)
  }

  /// Makes room for `more` bytes, which are then put with `put`.
  @inline(__always)
  mutating func reserve(_ more: Int) {
    if room - count < more { grow(more) }
  }

  /// For a byte that there is room for.
  @inline(__always)
  mutating func put(_ byte: UInt8) {
    // unsafe: the caller has reserved.
    base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count += 1
  }

  /// Has `body` write up to `most` bytes behind the last one, and say how many.
  @inline(__always)
  mutating func put(upTo most: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int) {
    reserve(most)
    // unsafe: there is room for as many.
    count += body((base + count).assumingMemoryBound(to: UInt8.self))
  }

  /// Has `body` write `more` bytes behind the last one.
  @inline(__always)
  mutating func put(_ more: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Void) {
    reserve(more)
    // unsafe: there is room for as many.
    body((base + count).assumingMemoryBound(to: UInt8.self))
    count += more
  }

  mutating func append(_ first: UInt8, _ second: UInt8) {
    reserve(2)
    put(first)
    put(second)
  }

  @inline(never)
  private mutating func grow(_ more: Int) {
    room = max(2 * room, count + more)
    let larger = Memory.allocate(room)
    larger.copyMemory(from: base, byteCount: count)
    Memory.free(base)
    base = larger
  }

  /// The bytes as data, which owns the memory now.
  consuming func finish() -> DispatchData {
    if count * 2 < room {
      // Keeping it would waste more than half.
      let copy = DispatchData(bytes: UnsafeRawBufferPointer(start: base, count: count))
      Memory.free(base)
      return copy
    }
    return DispatchData(bytesNoCopy: UnsafeRawBufferPointer(start: base, count: count), deallocator: .free)
  }

  consuming func discard() { Memory.free(base) }
}
