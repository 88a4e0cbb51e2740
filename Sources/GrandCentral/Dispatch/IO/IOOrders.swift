// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Some operations, one of each order at most (`IOOperation.order`): the newest. It is noted, found and forgotten at a constant cost
/// on average, however many orders there are. The lock of its owner guards it.
///
/// Nearly always there is one order. The table is made when a second one comes. An operation is at the place that the bits of its
/// order choose, or at the next one that is free; an order that has been forgotten keeps its place until the table moves.
struct IOOrders {
  struct Entry {
    /// 0 if the place is free.
    var order: UInt = 0
    /// Nil if the order has been forgotten.
    var newest: IOOperation?
  }

  private static let leastPlaces = 16

  /// How many orders have an operation here.
  private(set) var count = 0
  /// The operation of the only order, while there is no table.
  private var only: IOOperation?
  /// The table: half of its places are free, or more. Their number is a power of two.
  private var entries: [Entry] = []
  /// Places that are not free.
  private var taken = 0

  @inline(__always)
  func newest(of order: UInt) -> IOOperation? { count == 0 ? nil : search(order) }

  @inline(never)
  @_optimize(size)
  private func search(_ order: UInt) -> IOOperation? {
    if entries.isEmpty { return only.flatMap { $0.order == order ? $0 : nil } }
    return entries[place(of: order)].newest
  }

  /// The operation, which is of an order, takes the place of the one that was noted of that.
  @_optimize(size)
  mutating func note(_ operation: IOOperation) {
    let order = operation.order
    if entries.isEmpty {
      if count == 0 || only?.order == order {
        only = operation
        count = 1
        return
      }
    }
    if taken * 2 >= entries.count { move() }
    let place = place(of: order)
    if entries[place].order == 0 {
      entries[place].order = order
      taken += 1
    }
    if entries[place].newest == nil { count += 1 }
    entries[place].newest = operation
  }

  /// The order has no operation here any more.
  @_optimize(size)
  mutating func forget(_ order: UInt) {
    if newest(of: order) == nil { return }
    count -= 1
    if entries.isEmpty {
      only = nil
      return
    }
    entries[place(of: order)].newest = nil
    if count > 0 || entries.count == Self.leastPlaces { return }
    entries = []
    taken = 0
  }

  /// Where the order is, or would be.
  private func place(of order: UInt) -> Int {
    let mask = entries.count - 1
    // Addresses differ in the middle. The product's upper half depends on all bits.
    var place = Int(truncatingIfNeeded: (order &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask
    while entries[place].order != 0, entries[place].order != order { place = (place + 1) & mask }
    return place
  }

  /// Makes a table with room for as many orders again as have an operation, and for one more.
  @_optimize(size)
  private mutating func move() {
    var room = Self.leastPlaces
    while room < count * 4 { room *= 2 }
    let former = entries
    entries = Array(repeating: Entry(), count: room)
    taken = count
    if let only { entries[place(of: only.order)] = Entry(order: only.order, newest: only) }
    only = nil
    for entry in former where entry.newest != nil { entries[place(of: entry.order)] = entry }
  }
}
