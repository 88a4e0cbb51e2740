// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

// How often each word occurs: open addressing with linear probing, at most five slots in eight in use.
//
//   slot (32 bytes)   word of <= 16 bytes                    longer word
//   key0              its first eight bytes, zero padded     64-bit hash
//   key1              the following eight, zero padded       0
//   place             length                                 offset in the arena << 8 | length
//   count             occurrences                            occurrences
//
// 1. place == 0 marks an empty slot: no word is empty.
// 2. A short word lies wholly in its slot: two words are the same if and only if both keys and the length are.
// 3. A longer word is compared byte by byte with the arena when hash and length agree.

/// Counts words, given as slices of bytes.
package struct WordTable: ~Copyable {
  /// The longest word the table can hold, in bytes.
  package static let longestWord = 255
  /// `add` reads up to this many bytes beyond the start of a word, whatever its length.
  package static let readAhead = 16

  private struct Slot {
    var key0: UInt64
    var key1: UInt64
    var place: UInt64
    var count: UInt64
  }

  private var slots: UnsafeMutablePointer<Slot>
  private var capacity: Int
  /// The number of different words.
  package private(set) var distinct = 0
  private var arena = ByteArena()

  package init(minimumCapacity: Int = 1024) {
    capacity = 64
    while capacity < minimumCapacity { capacity *= 2 }
    slots = Self.emptySlots(capacity)
  }

  deinit { free(slots) }

  /// Adds `count` occurrences of the word of `length` (1...255) bytes at `start`.
  // unsafe: the caller keeps `readAhead` bytes at `start` readable.
  @inline(__always)
  package mutating func add(_ start: UnsafeRawPointer, length: Int, count: UInt64 = 1) {
    guard length <= 16 else { return addLong(start, length: length, count: count) }
    let key0 = start.loadUnaligned(as: UInt64.self) & Self.prefixMask(min(length, 8))
    let key1 = length > 8 ? (start + 8).loadUnaligned(as: UInt64.self) & Self.prefixMask(length - 8) : 0
    addShort(key0, key1, UInt64(truncatingIfNeeded: length), count: count)
  }

  /// Adds all words of `other`, the smaller table to the larger.
  package mutating func merge(_ other: consuming WordTable) {
    if other.distinct > distinct { swap(&self, &other) }
    add(all: other)
  }

  private mutating func add(all other: borrowing WordTable) {
    for index in 0..<other.capacity {
      let slot = other.slots[index]
      guard slot.place != 0 else { continue }
      if Self.isShort(slot) {
        addShort(slot.key0, slot.key1, slot.place, count: slot.count)
      } else {
        addLong(other.arena.address(Self.offset(slot)), length: Self.length(slot), count: slot.count)
      }
    }
  }

  /// The `limit` most frequent words; equally frequent ones in the order of their bytes.
  package borrowing func mostFrequent(_ limit: Int) -> [(word: String, count: UInt64)] {
    guard limit > 0 else { return [] }
    let threshold = countReached(by: limit)
    var candidates: [(bytes: [UInt8], count: UInt64)] = []
    for index in 0..<capacity where slots[index].place != 0 && slots[index].count >= threshold {
      candidates.append((bytes(of: index), slots[index].count))
    }
    candidates.sort { left, right in
      left.count != right.count ? left.count > right.count : left.bytes.lexicographicallyPrecedes(right.bytes)
    }
    return candidates.prefix(limit).map { (String(decoding: $0.bytes, as: UTF8.self), $0.count) }
  }

  /// The count of the `limit`-th most frequent word, so that only the words in question become arrays.
  private borrowing func countReached(by limit: Int) -> UInt64 {
    guard limit < distinct else { return 0 }
    var counts: [UInt64] = []
    counts.reserveCapacity(distinct)
    for index in 0..<capacity where slots[index].place != 0 { counts.append(slots[index].count) }
    counts.sort(by: >)
    return counts[limit - 1]
  }

  private borrowing func bytes(of index: Int) -> [UInt8] {
    let length = Self.length(slots[index])
    if Self.isShort(slots[index]) {
      // unsafe: the two keys lie side by side at the head of the slot.
      return Array(UnsafeRawBufferPointer(start: slots + index, count: length))
    }
    return Array(UnsafeRawBufferPointer(start: arena.address(Self.offset(slots[index])), count: length))
  }

  // MARK: Slots

  @inline(__always)
  private mutating func addShort(_ key0: UInt64, _ key1: UInt64, _ length: UInt64, count: UInt64) {
    var index = Int(truncatingIfNeeded: Self.hash(key0, key1, length)) & (capacity &- 1)
    while true {
      // unsafe: the mask keeps `index` below `capacity`.
      let slot = slots + index
      if slot.pointee.key0 == key0, slot.pointee.key1 == key1, slot.pointee.place == length {
        slot.pointee.count &+= count
        return
      }
      if slot.pointee.place == 0 {
        return insertSlow(Slot(key0: key0, key1: key1, place: length, count: count), at: slot)
      }
      index = (index &+ 1) & (capacity &- 1)
    }
  }

  @inline(never)
  private mutating func addLong(_ start: UnsafeRawPointer, length: Int, count: UInt64) {
    let hash = Self.hash(start, length: length)
    var index = Int(truncatingIfNeeded: hash) & (capacity - 1)
    while true {
      let slot = slots + index
      if slot.pointee.place == 0 {
        let place = UInt64(arena.append(start, count: length)) << 8 | UInt64(length)
        return insertSlow(Slot(key0: hash, key1: 0, place: place, count: count), at: slot)
      }
      if slot.pointee.key0 == hash, !Self.isShort(slot.pointee), Self.length(slot.pointee) == length,
        memcmp(arena.address(Self.offset(slot.pointee)), start, length) == 0
      {
        slot.pointee.count &+= count
        return
      }
      index = (index + 1) & (capacity - 1)
    }
  }

  @inline(never)
  private mutating func insertSlow(_ word: Slot, at slot: UnsafeMutablePointer<Slot>) {
    slot.pointee = word
    distinct += 1
    if distinct * 8 > capacity * 5 { grow() }
  }

  private mutating func grow() {
    let old = slots
    let oldCapacity = capacity
    capacity *= 2
    slots = Self.emptySlots(capacity)
    for position in 0..<oldCapacity where old[position].place != 0 {
      let slot = old[position]
      let hash = Self.isShort(slot) ? Self.hash(slot.key0, slot.key1, slot.place) : slot.key0
      var index = Int(truncatingIfNeeded: hash) & (capacity - 1)
      while slots[index].place != 0 { index = (index + 1) & (capacity - 1) }
      slots[index] = slot
    }
    free(old)
  }

  private static func emptySlots(_ count: Int) -> UnsafeMutablePointer<Slot> {
    let hugePage = 2 << 20
    let size = count * MemoryLayout<Slot>.stride
    var memory: UnsafeMutableRawPointer?
    guard posix_memalign(&memory, size >= hugePage ? hugePage : 64, size) == 0, let memory else {
      fatalError("out of memory for \(count) words")
    }
    if size >= hugePage { madvise(memory, size, Self.adviceHugePages) }
    // Written rather than left to the kernel: a page that is probed before it is filled would be mapped twice, and the
    // second mapping interrupts the processors of all other readers.
    memset(memory, 0, size)
    // unsafe: all-zero bytes are an empty slot.
    return memory.bindMemory(to: Slot.self, capacity: count)
  }

  private static let adviceHugePages: Int32 = 14

  private static func isShort(_ slot: Slot) -> Bool { slot.place & 0xff <= 16 }
  private static func length(_ slot: Slot) -> Int { Int(slot.place & 0xff) }
  private static func offset(_ slot: Slot) -> Int { Int(slot.place >> 8) }

  // MARK: Hashing

  /// Ones over the first `length` (1...8) bytes in memory.
  @inline(__always)
  private static func prefixMask(_ length: Int) -> UInt64 {
    UInt64(littleEndian: UInt64.max &>> UInt64(truncatingIfNeeded: 64 &- 8 &* length))
  }

  @inline(__always)
  private static func hash(_ key0: UInt64, _ key1: UInt64, _ length: UInt64) -> UInt64 {
    let product = (key0 ^ 0x6a09_e667_f3bc_c909)
      .multipliedFullWidth(by: key1 ^ (length &* 0x9e37_79b9_7f4a_7c15) ^ 0xbb67_ae85_84ca_a73b)
    return product.high ^ product.low
  }

  private static func hash(_ start: UnsafeRawPointer, length: Int) -> UInt64 {
    var state = UInt64(length)
    var offset = 0
    while length - offset > 8 {
      // unsafe: `offset + 8` stays below `length`.
      state = hash(state, (start + offset).loadUnaligned(as: UInt64.self), 8)
      offset += 8
    }
    // unsafe: longer words have more than 16 bytes, so their last eight may be read as a word of their own.
    return hash(state, (start + length - 8).loadUnaligned(as: UInt64.self), 8)
  }
}

/// Bytes that are only ever appended, addressed by offset.
private struct ByteArena: ~Copyable {
  private var bytes: UnsafeMutableRawPointer?
  private var capacity = 0
  private var used = 0

  deinit { free(bytes) }

  // unsafe: offsets come from `append`, so `bytes` exists and they lie below `used`.
  borrowing func address(_ offset: Int) -> UnsafeRawPointer { UnsafeRawPointer(bytes! + offset) }

  mutating func append(_ start: UnsafeRawPointer, count: Int) -> Int {
    if used + count > capacity {
      capacity = max(4096, capacity * 2)
      guard let grown = realloc(bytes, capacity) else { fatalError("out of memory for \(capacity) bytes of words") }
      bytes = grown
    }
    memcpy(bytes! + used, start, count)
    used += count
    return used - count
  }
}
