// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc
import Synchronization

/// The bytes of a region. Every access is checked, as they may be anything; they change while they are read.
final class RegionMemory {
  private let start: UnsafeMutableRawPointer
  let count: Int
  let isWritable: Bool
  private let isMapped: Bool
  /// The file's number: two descriptors of one region have the same.
  let identity: UInt64

  /// A limit above the size of any library's region, and small enough to map.
  private static let largest = 1 << 36

  /// Maps a file that cannot shrink: a page that is cut off while it is mapped would end the tool.
  init(descriptor: Int32, writable: Bool = false) throws(RegionFailure) {
    // F_GET_SEALS and F_SEAL_SHRINK, which Swift does not import.
    let (getSeals, sealShrink): (Int32, Int32) = (1034, 2)
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .system("fstat", code: errno) }
    let seals = fcntl(descriptor, getSeals)
    guard seals >= 0, seals & sealShrink != 0 else { throw .damaged("its size may change") }
    guard status.st_size >= 4096 else { throw .damaged("\(status.st_size) bytes are too few") }
    guard status.st_size <= Self.largest else { throw .damaged("\(status.st_size) bytes are too many") }
    count = Int(status.st_size)
    isWritable = writable
    isMapped = true
    identity = UInt64(status.st_ino)
    let protection = writable ? PROT_READ | PROT_WRITE : PROT_READ
    // MAP_NORESERVE, which Swift does not import with a type that fits.
    let noReserve: Int32 = 0x4000
    guard let mapped = mmap(nil, count, protection, MAP_SHARED | noReserve, descriptor, 0), mapped != MAP_FAILED else {
      throw .system("mmap", code: errno)
    }
    start = mapped
  }

  /// Bytes that were saved: out of a core file, or made up.
  init(bytes: [UInt8]) {
    count = bytes.count
    isWritable = true
    isMapped = false
    identity = 0
    start = .allocate(byteCount: max(1, count), alignment: 4096)
    bytes.withUnsafeBytes { start.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(start), byteCount: count) }
  }

  deinit {
    if isMapped { munmap(start, count) } else { start.deallocate() }
  }

  /// Whether so many bytes are there, from an offset that is a multiple of their alignment.
  func holds(_ size: Int, at offset: UInt64, alignment: Int = 1) -> Bool {
    offset <= UInt64(count) && size >= 0 && UInt64(size) <= UInt64(count) - offset && offset % UInt64(alignment) == 0
  }

  /// A copy of a value: not of one instant. Nil outside of the region.
  func copy<Value: BitwiseCopyable>(_ type: Value.Type = Value.self, at offset: UInt64) -> Value? {
    guard holds(MemoryLayout<Value>.size, at: offset) else { return nil }
    return start.loadUnaligned(fromByteOffset: Int(offset), as: Value.self)
  }

  /// Copies as many bytes as `target` has room for; false outside of the region.
  func copy(from offset: UInt64, to target: UnsafeMutableRawBufferPointer) -> Bool {
    guard holds(target.count, at: offset), let place = target.baseAddress else { return false }
    place.copyMemory(from: start + Int(offset), byteCount: target.count)
    return true
  }

  /// A word that others change, together with everything that was written before it; nil outside of the region.
  func word32(at offset: UInt64) -> UInt32? {
    guard holds(4, at: offset, alignment: 4) else { return nil }
    // acquiring: what the writer published by this word is read afterwards.
    return atomic32(offset).pointee.load(ordering: .acquiring)
  }

  func word64(at offset: UInt64) -> UInt64? {
    guard holds(8, at: offset, alignment: 8) else { return nil }
    // acquiring: as in `word32`.
    return atomic64(offset).pointee.load(ordering: .acquiring)
  }

  /// How often a value is read again: a writer is between its two steps for nanoseconds, unless it was stopped there.
  static let tries = 1000

  /// A value under a sequence counter: one of an instant, or nil if the writer does not stop changing it.
  ///
  /// - Parameter left: How often values may be read again; each time counts.
  func stable<Value: BitwiseCopyable>(
    _ type: Value.Type, at offset: UInt64, sequence: UInt64, _ left: inout Int
  ) -> Value? {
    for _ in 0...min(Self.tries, left) {
      guard let before = word32(at: offset &+ sequence), let value: Value = copy(at: offset) else { return nil }
      // acquiring: the copy is made before the counter is read again.
      atomicMemoryFence(ordering: .acquiring)
      if before & 1 == 0, word32(at: offset &+ sequence) == before { return value }
      gc_pause()
      left = max(0, left - 1)
    }
    return nil
  }

  // MARK: Changing it

  /// Sets bits of a word; returns what it was, or nil if it cannot be changed.
  func set(_ bits: UInt32, at offset: UInt64) -> UInt32? {
    guard isWritable, holds(4, at: offset, alignment: 4) else { return nil }
    // relaxed: the switches publish nothing.
    return atomic32(offset).pointee.bitwiseOr(bits, ordering: .relaxed).oldValue
  }

  func clear(_ bits: UInt32, at offset: UInt64) {
    guard isWritable, holds(4, at: offset, alignment: 4) else { return }
    // relaxed: as in `set`.
    atomic32(offset).pointee.bitwiseAnd(~bits, ordering: .relaxed)
  }

  func store(_ value: UInt64, at offset: UInt64) {
    guard isWritable, holds(8, at: offset, alignment: 8) else { return }
    // relaxed: a time; it publishes nothing.
    atomic64(offset).pointee.store(value, ordering: .relaxed)
  }

  /// Changes a word if it is still what was expected; whether it was.
  func exchange(_ expected: UInt32, for new: UInt32, at offset: UInt64) -> Bool {
    guard isWritable, holds(4, at: offset, alignment: 4) else { return false }
    // releasing: what was read of it has been read before the writer gets it back.
    return atomic32(offset).pointee.compareExchange(expected: expected, desired: new, ordering: .releasing).exchanged
  }

  // unsafe: the caller has checked the place; an atomic integer has the integer's layout.
  private func atomic32(_ offset: UInt64) -> UnsafeMutablePointer<Atomic<UInt32>> {
    (start + Int(offset)).assumingMemoryBound(to: Atomic<UInt32>.self)
  }

  private func atomic64(_ offset: UInt64) -> UnsafeMutablePointer<Atomic<UInt64>> {
    (start + Int(offset)).assumingMemoryBound(to: Atomic<UInt64>.self)
  }
}
