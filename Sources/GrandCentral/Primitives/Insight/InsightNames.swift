// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Numbers for the names of the program's own marks.
///
/// A name is a literal mostly, known by its address. A small table beside the region remembers the newest addresses, so that a mark
/// costs no lock. The names of spans are texts: each is looked for under the lock.
enum InsightNames {
  private static let remembered = 256
  /// The addresses and numbers that were asked for last: by address, each entry both in one word, 48 bits and 16.
  private static let table = Atomic<UInt>(0)
  /// Guarded by the region's lock: entries behind it have never been used.
  nonisolated(unsafe) private static var used = 1

  @inline(__always)
  static func number(of name: StaticString) -> UInt32 {
    let address = UInt(bitPattern: name.utf8Start)
    // pairs with: numberSlow – publishes the empty table
    if let table = UnsafePointer<Atomic<UInt64>>(bitPattern: table.load(ordering: .acquiring)) {
      // relaxed: address and number are one word.
      let seen = table[slot(address)].load(ordering: .relaxed)
      if seen >> 16 == UInt64(address) { return UInt32(truncatingIfNeeded: seen & 0xFFFF) }
    }
    return numberSlow(name)
  }

  @inline(__always)
  private static func slot(_ address: UInt) -> Int { Int((address ^ address >> 8) & UInt(remembered - 1)) }

  @inline(never)
  @_optimize(size)
  private static func numberSlow(_ name: StaticString) -> UInt32 {
    guard let memory = InsightRegion.awaited else { return 0 }
    InsightRegion.lock.lock()
    defer { InsightRegion.lock.unlock() }
    let text = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    let number = find(text, InsightRegion.names(memory))
    if number != 0 { remember(UInt(bitPattern: name.utf8Start), number) }
    return number
  }

  /// The number of a name that is no literal; 0 if the names are used up.
  static func number(of name: String) -> UInt32 {
    guard let memory = InsightRegion.awaited else { return 0 }
    var name = name
    return name.withUTF8 { text in
      InsightRegion.lock.lock()
      defer { InsightRegion.lock.unlock() }
      return find(text, InsightRegion.names(memory))
    }
  }

  /// The caller holds the lock.
  @_optimize(size)
  private static func find(
    _ name: UnsafeBufferPointer<UInt8>, _ entries: UnsafeMutablePointer<InsightLayout.NameEntry>
  ) -> UInt32 {
    let length = InsightText.length(of: name, room: entries.text.count)
    for number in 1..<used where entries[number].length == UInt32(length) {
      let text = (entries + number).text
      if (0..<length).allSatisfy({ text[$0] == name[$0] }) { return UInt32(number) }
    }
    if used == InsightRegion.layout.names { return 0 }
    let entry = entries + used
    for index in 0..<length { entry.text[index] = name[index] }
    // pairs with: readers in other processes – publishes the text
    entry.length.pointee.store(UInt32(length), ordering: .releasing)
    used += 1
    InsightRegion.head.pointee.names_used = UInt32(used)
    return UInt32(used - 1)
  }

  /// The caller holds the lock.
  @_optimize(size)
  private static func remember(_ address: UInt, _ number: UInt32) {
    // relaxed: written under the lock.
    var start = UnsafeMutablePointer<Atomic<UInt64>>(bitPattern: table.load(ordering: .relaxed))
    if start == nil {
      let made = UnsafeMutablePointer<Atomic<UInt64>>.allocate(capacity: remembered)
      for index in 0..<remembered { (made + index).initialize(to: Atomic(0)) }
      // pairs with: number – publishes the empty table
      table.store(UInt(bitPattern: made), ordering: .releasing)
      start = made
    }
    // relaxed: address and number are one word.
    start.unsafelyUnwrapped[slot(address)].store(UInt64(address) << 16 | UInt64(number), ordering: .relaxed)
  }

  /// Child of a fork, which has one thread: it begins with a region of its own.
  @_optimize(size)
  static func resetAfterFork() {
    used = 1
    // relaxed: there is one thread. The old table is left behind.
    table.store(0, ordering: .relaxed)
  }
}
