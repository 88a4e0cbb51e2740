// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

// Timers of one clock: insert and remove in constant time, next deadline without a search, never early.
//
// Eight levels of 64 lists. An instant is cut into digits:
//
//   | bits   | 63–58 | 57–52 | 51–46 | 45–40  | 39–34 | 33–28 | 27–22 | 21–16 | 15–0         |
//   |--------|-------|-------|-------|--------|-------|-------|-------|-------|--------------|
//   | level  | 7     | 6     | 5     | 4      | 3     | 2     | 1     | 0     | within a list |
//   | a list | 9 y   | 52 d  | 20 h  | 18 min | 17 s  | 0.3 s | 4 ms  | 66 µs |              |
//
// An entry is on the level of the highest digit in which its instant differs from `elapsed`, the instant up to which the
// wheel has been served, in the list of that digit. Level 0 also takes those that differ in no digit. One list more: `overdue`, for instants
// that had passed when they were inserted.
//
// T1  An entry on level L > 0 has elapsed's digits above L, and a greater one at L; on level 0 a greater or equal one.
//     Hence all of level L is due before anything of level L + 1, and a level's lists are in order of time.
// T2  `occupied[L]` has a bit for each list that is not empty.
// T3  A list's `soonest` is a lower bound of its entries' instants; while `isExact`, it is their minimum.
// T4  An entry moves to a lower level each time it moves: at most seven times in its life.
//
// advance   1  take out the lists that begin at or before now, in order: what is due goes to the answer, sorted by
//              deadline, the rest is kept aside. What stays in the wheel keeps T1: it begins after now, so now still
//              has all digits above it in common
//           2  elapsed := now     3  insert what was kept aside
//
// With very many timers their memory is cold, and each touch of an entry a cache miss: a due one is touched once here.
//
// Entries are placed by `instant`, which leeway has rounded; they fire when `deadline` has passed and their list comes
// up, so an entry with leeway often goes along with an earlier one.
// A clock that steps back by more than `stepBack` re-sorts the wheel; after smaller steps (callers whose readings of
// the clock overtake each other) `elapsed` stays, and early entries are kept in `overdue`, which is looked at each time.
//
// Rejected: a heap (cancel is logarithmic and touches strangers' memory); a wheel of ticks (a timer is late by a tick, or
// there is a level per six bits down to the nanosecond and a wake-up per level).
struct TimerWheel: ~Copyable {
  typealias Entry = UnsafeMutablePointer<TimerEntry>

  struct List {
    var first: Entry?
    var last: Entry?
    var soonest: UInt64 = .max
    var count = 0
    var isExact = true
  }

  /// M(user's lock), with everything behind it.
  struct State {
    var elapsed: UInt64
    var count = 0
  }

  static let levels = 8
  /// Bits of an instant below level 0.
  static let grain: UInt64 = 16
  /// Nanoseconds that the clock may go back without more ado.
  static let stepBack: UInt64 = 1_000_000_000
  /// How long a list may be for `nextDeadline` to look for its minimum after that has been removed.
  private static let shortList = 64
  private static let overdue = levels * 64
  private static let listCount = overdue + 1

  /// I
  let state: UnsafeMutablePointer<State>
  let lists: UnsafeMutablePointer<List>
  /// A word per level (T2).
  let occupied: UnsafeMutablePointer<UInt64>

  init(now: UInt64) {
    state = Memory.allocate(MemoryLayout<State>.size).bindMemory(to: State.self, capacity: 1)
    state.initialize(to: State(elapsed: now))
    let bytes = Self.listCount * MemoryLayout<List>.stride
    lists = Memory.allocate(bytes).bindMemory(to: List.self, capacity: Self.listCount)
    lists.initialize(repeating: List(), count: Self.listCount)
    occupied = Memory.allocate(Self.levels * 8).bindMemory(to: UInt64.self, capacity: Self.levels)
    occupied.initialize(repeating: 0, count: Self.levels)
  }

  /// Entries still pending stay with their users.
  deinit {
    Memory.free(UnsafeMutableRawPointer(occupied))
    Memory.free(UnsafeMutableRawPointer(lists))
    Memory.free(UnsafeMutableRawPointer(state))
  }

  var isEmpty: Bool { state.pointee.count == 0 }
  /// How many entries are pending.
  var count: Int { state.pointee.count }

  // MARK: Users

  /// Starts the timer. Its memory stays in place until it fires or is removed.
  ///
  /// Complexity: O(1)
  borrowing func insert(_ entry: Entry) {
    if entry.pointee.isPending { Fault.bug("a timer was started twice") }
    state.pointee.count += 1
    place(entry)
  }

  /// Stops a timer that is pending in this wheel.
  ///
  /// Complexity: O(1)
  borrowing func remove(_ entry: Entry) {
    if !entry.pointee.isPending { Fault.bug("a timer was stopped that is not pending") }
    unlink(entry)
    state.pointee.count -= 1
  }

  /// The earliest instant at which some timer must be served; nil if there is none.
  ///
  /// After the soonest timer of a long list was stopped this may be that timer's instant still, until it has come.
  ///
  /// Complexity: O(1)
  var nextDeadline: UInt64? {
    var next: UInt64?
    if lists[Self.overdue].count > 0 { next = soonest(Self.overdue) }
    if let index = firstList() { next = min(next ?? .max, soonest(index)) }
    return next
  }

  /// Takes out each timer whose deadline is at or before `now`, in the order of their deadlines within a list, and of
  /// the lists. They are no longer pending.
  ///
  /// Complexity: O(timers taken out), and each timer moves at most seven times before.
  borrowing func advance(to now: UInt64) -> TimerChain {
    if now < state.pointee.elapsed, state.pointee.elapsed - now > Self.stepBack { resort(now) }
    var later = TimerChain()
    var due = TimerChain()
    if lists[Self.overdue].count > 0 { collect(Self.overdue, now, &due, &later) }
    while let index = firstList(), start(of: index) <= now {
      if index < 64, lists[index].soonest > now { break }
      collect(index, now, &due, &later)
    }
    state.pointee.elapsed = max(now, state.pointee.elapsed)
    while let entry = later.popFirst() { place(entry) }
    return due
  }

  // MARK: Lists

  private borrowing func place(_ entry: Entry) {
    link(entry, to: list(for: entry.pointee.instant))
  }

  private borrowing func list(for instant: UInt64) -> Int {
    let elapsed = state.pointee.elapsed
    if instant <= elapsed { return Self.overdue }
    let digits = instant &>> Self.grain
    let difference = digits ^ (elapsed &>> Self.grain)
    let level = difference == 0 ? 0 : (63 - difference.leadingZeroBitCount) / 6
    return level * 64 + Int(truncatingIfNeeded: (digits &>> UInt64(level * 6)) & 63)
  }

  /// The list whose entries come up next, `overdue` aside (T1).
  private borrowing func firstList() -> Int? {
    for level in 0..<Self.levels {
      let bits = occupied[level]
      if bits != 0 { return level * 64 + bits.trailingZeroBitCount }
    }
    return nil
  }

  /// The first instant that belongs to a list.
  private borrowing func start(of index: Int) -> UInt64 {
    let shift = Self.grain + UInt64(index / 64) * 6
    // A shift by 64, on the topmost level, leaves nothing: there are no digits above it.
    let above = (state.pointee.elapsed >> (shift + 6)) << (shift + 6)
    return above | (UInt64(index % 64) << shift)
  }

  private borrowing func link(_ entry: Entry, to index: Int) {
    let list = lists + index
    entry.pointee.list = UInt16(index)
    entry.pointee.next = nil
    entry.pointee.previous = list.pointee.last
    if let last = list.pointee.last {
      last.pointee.next = entry
    } else {
      list.pointee.first = entry
      if index < Self.overdue { occupied[index / 64] |= 1 &<< UInt64(index % 64) }
    }
    list.pointee.last = entry
    list.pointee.count += 1
    if entry.pointee.instant <= list.pointee.soonest {
      list.pointee.soonest = entry.pointee.instant
      list.pointee.isExact = true
    }
  }

  private borrowing func unlink(_ entry: Entry) {
    let index = Int(entry.pointee.list)
    let list = lists + index
    let (next, previous) = (entry.pointee.next, entry.pointee.previous)
    if let previous { previous.pointee.next = next } else { list.pointee.first = next }
    if let next { next.pointee.previous = previous } else { list.pointee.last = previous }
    entry.pointee.list = TimerEntry.noList
    entry.pointee.next = nil
    entry.pointee.previous = nil
    list.pointee.count -= 1
    if list.pointee.count == 0 {
      empty(index)
    } else if entry.pointee.instant == list.pointee.soonest {
      list.pointee.isExact = false
    }
  }

  private borrowing func empty(_ index: Int) {
    lists[index] = List()
    if index < Self.overdue { occupied[index / 64] &= ~(1 &<< UInt64(index % 64)) }
  }

  private borrowing func soonest(_ index: Int) -> UInt64 {
    let list = lists + index
    if !list.pointee.isExact, list.pointee.count <= Self.shortList {
      var soonest = UInt64.max
      var next = list.pointee.first
      while let entry = next {
        soonest = min(soonest, entry.pointee.instant)
        next = entry.pointee.next
      }
      list.pointee.soonest = soonest
      list.pointee.isExact = true
    }
    return list.pointee.soonest
  }

  // MARK: Moving on

  /// Empties a list: what is due goes to `all`, the rest to `later`.
  private borrowing func collect(_ index: Int, _ now: UInt64, _ all: inout TimerChain, _ later: inout TimerChain) {
    var due = TimerChain()
    var next = lists[index].first
    empty(index)
    while let entry = next {
      next = entry.pointee.next
      if entry.pointee.deadline <= now {
        entry.pointee.list = TimerEntry.noList
        due.append(entry)
      } else {
        later.append(entry)
      }
    }
    due.sort()
    state.pointee.count -= due.count
    all.append(due)
  }

  /// The clock was set back: everything finds its list anew.
  @inline(never)
  private borrowing func resort(_ now: UInt64) {
    var all = TimerChain()
    for index in 0...Self.overdue {
      var next = lists[index].first
      empty(index)
      while let entry = next {
        next = entry.pointee.next
        all.append(entry)
      }
    }
    state.pointee.elapsed = now
    while let entry = all.popFirst() { place(entry) }
  }
}
