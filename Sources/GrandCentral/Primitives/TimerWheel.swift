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
// An entry is on the level of the highest digit in which its instant differs from `elapsed`, the instant up to which the wheel
// has been served, in the list of that digit. Level 0 also takes entries that differ in no digit. There is one more list,
// `overdue`, for instants that had passed when they were inserted.
//
// TimerWheel.T1  An entry on level L > 0 has elapsed's digits above L, and a greater one at L; on level 0 a greater or
//     equal one. Hence all of level L is due before anything of level L + 1, and a level's lists are in order of time.
// TimerWheel.T2  `occupied[L]` has a bit for each list that is not empty.
// TimerWheel.T3  A list's `soonest` is a lower bound of its entries' instants; while `isExact`, it is their minimum.
// TimerWheel.T4  An entry moves to a lower level each time it moves: at most seven times in its life.
//
// advance   1  the lists that begin at or before now are emptied from their fronts, in order; `overdue` comes first
//           2  for each of them: elapsed := now, or the list's last instant if that comes before. Nothing is placed in a list
//              above level 0 after that: what has its digits is due
//           3  each entry that the list has now: it is due, or finds its list anew
//           4  no list begins at or before now: elapsed := now
//
// `advance` works in steps of so many entries. Between steps the user may let go of the lock: the wheel is complete then, but
// for TimerWheel.T1 and TimerWheel.T3 of the one list that is being emptied.
// TimerWheel.T5  If `left` > 0, `moving` is that list, and at most `left` entries at its front have not been looked at. The
//     list keeps elapsed's digit on its level; its bound is the least of `soonest`, for the entries that came later, and
//     `movingSoonest`.
//
// With very many timers their memory is cold, and each access to an entry is a cache miss: a due entry is accessed once here.
//
// Entries are placed by `instant`, which leeway has rounded; they fire when `deadline` has passed and their list comes
// up, so an entry with leeway often goes along with an earlier one.
// A clock that steps back by more than `stepBack` re-sorts the wheel; after smaller steps (callers whose readings of
// the clock overtake each other) `elapsed` stays, and early entries are kept in `overdue`, which is looked at each time.
//
// Rejected: a heap (cancel is logarithmic and touches other timers' memory); a wheel of ticks (a timer is late by a tick, or
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

  /// Guarded by user's lock, with everything behind it.
  struct State {
    var elapsed: UInt64
    var count = 0
    /// Between the first and the last step of an `advance`.
    var isAdvancing = false
    /// TimerWheel.T5
    var moving = 0
    var left = 0
    var movingSoonest: UInt64 = .max
  }

  static let levels = 8
  /// Bits of an instant below level 0.
  static let grain: UInt64 = 16
  /// How many nanoseconds the clock may step back without a new sorting of the wheel.
  static let stepBack: UInt64 = 1_000_000_000
  /// How long a list may be for `nextDeadline` to look for its minimum after that has been removed.
  private static let shortList = 64
  private static let overdue = levels * 64
  private static let listCount = overdue + 1

  let state: UnsafeMutablePointer<State>
  let lists: UnsafeMutablePointer<List>
  /// A word per level (TimerWheel.T2).
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

  var isEmpty: Bool { count == 0 }
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
  /// After the soonest timer of a long list was stopped, this may still be that timer's instant, until it has come.
  ///
  /// Complexity: O(1)
  var nextDeadline: UInt64? {
    var next: UInt64?
    if lists[Self.overdue].count > 0 { next = soonest(Self.overdue) }
    if let index = firstList() { next = min(next ?? .max, soonest(index)) }
    if state.pointee.left > 0 { next = min(next ?? .max, state.pointee.movingSoonest) }
    return next
  }

  /// Takes out each timer whose deadline is at or before `now`, in the order of their deadlines. They are no longer pending.
  ///
  /// Complexity: O(timers taken out), and each timer moves at most seven times before.
  borrowing func advance(to now: UInt64) -> TimerChain {
    var due = TimerChain()
    while !advance(to: now, limit: .max, into: &due) {}
    due.sort()
    return due
  }

  /// One step of `advance`: looks at no more than `limit` entries, and appends those that are due to `due`, unsorted.
  ///
  /// The same `now` is given at each step. Between steps timers may be started and stopped.
  ///
  /// - Returns: whether this was the last step.
  borrowing func advance(to now: UInt64, limit: Int, into due: inout TimerChain) -> Bool {
    if !state.pointee.isAdvancing {
      state.pointee.isAdvancing = true
      if now < state.pointee.elapsed, state.pointee.elapsed - now > Self.stepBack { resort(now) }
      if lists[Self.overdue].count > 0 { startMoving(Self.overdue) }
    }
    var budget = limit
    while state.pointee.left > 0 || startMovingNext(now) {
      if budget == 0 { return false }
      budget -= 1
      moveOne(now, &due)
    }
    state.pointee.elapsed = max(now, state.pointee.elapsed)
    state.pointee.isAdvancing = false
    return true
  }

  /// Takes out each timer that calls `fire`, in no order, whenever it is due; all, where that is nil. They are no longer pending.
  ///
  /// Complexity: O(all timers)
  borrowing func takeAll(firing fire: TimerEntry.Fire?) -> TimerChain {
    var taken = TimerChain()
    for index in 0...Self.overdue {
      var link = lists[index].first
      while let entry = link {
        link = entry.pointee.next
        if !entry.pointee.fires(fire) { continue }
        remove(entry)
        taken.append(entry)
      }
    }
    return taken
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

  /// The list whose entries come up next, `overdue` aside (TimerWheel.T1).
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
    let isMoving = state.pointee.left > 0 && state.pointee.moving == index
    if !list.pointee.isExact, !isMoving, list.pointee.count <= Self.shortList {
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

  /// Starts to empty the next list that begins at or before `now`.
  ///
  /// - Returns: false if there is none.
  private borrowing func startMovingNext(_ now: UInt64) -> Bool {
    guard let index = firstList() else { return false }
    let first = start(of: index)
    if first > now || index < 64 && lists[index].soonest > now { return false }
    let last = first + ((1 &<< (Self.grain + UInt64(index / 64) * 6)) - 1)
    state.pointee.elapsed = max(state.pointee.elapsed, min(now, last))
    startMoving(index)
    return true
  }

  private borrowing func startMoving(_ index: Int) {
    state.pointee.moving = index
    state.pointee.left = lists[index].count
    state.pointee.movingSoonest = lists[index].soonest
    lists[index].soonest = .max
    lists[index].isExact = true
  }

  /// Looks at the first entry of the list that is being emptied.
  private borrowing func moveOne(_ now: UInt64, _ due: inout TimerChain) {
    guard let entry = lists[state.pointee.moving].first else {
      // The others were stopped between two steps.
      state.pointee.left = 0
      return
    }
    unlink(entry)
    if entry.pointee.deadline <= now {
      state.pointee.count -= 1
      due.append(entry)
    } else {
      place(entry)
    }
    state.pointee.left -= 1
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
