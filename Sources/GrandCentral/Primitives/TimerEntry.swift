// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// One timer, in memory that its user provides and keeps in place while it is pending: 64 bytes, at best one cache line.
struct TimerEntry: ~Copyable {
  typealias Pointer = UnsafeMutablePointer<TimerEntry>
  typealias Fire = @convention(c) (UnsafeMutableRawPointer) -> Void

  /// The earliest instant at which the timer may fire. Set while the timer is not pending.
  private(set) var deadline: UInt64
  /// The instant at which it is served, chosen from `deadline` … `deadline + leeway`.
  private(set) var instant: UInt64

  /// Guarded by the wheel's lock. The user's once the entry has been handed to `fire`.
  var next: Pointer?
  /// Guarded by the wheel's lock.
  var previous: Pointer?

  /// What runs it, given the entry. The wheel itself does not call it.
  let fire: Fire
  /// The user's words.
  var context: UnsafeMutableRawPointer?
  var word: UInt64
  /// Guarded by the wheel's lock: which of the wheel's lists holds it.
  var list: UInt16 = TimerEntry.noList
  /// Guarded by the wheel's lock: the generation of the process whose wheel that is. A forked child has a copy of the entry, and not the wheel.
  var generation: UInt32 = 0

  static let noList: UInt16 = .max

  init(
    deadline: UInt64, leeway: UInt64 = 0, context: UnsafeMutableRawPointer? = nil, word: UInt64 = 0,
    fire: @escaping Fire = { _ in }
  ) {
    self.deadline = deadline
    instant = Self.served(deadline, leeway)
    self.context = context
    self.word = word
    self.fire = fire
  }

  /// Sets when it fires: from `deadline` on, and up to `leeway` later, to be served together with others. Not while it is
  /// pending.
  mutating func schedule(_ deadline: UInt64, leeway: UInt64) {
    self.deadline = deadline
    instant = Self.served(deadline, leeway)
  }

  /// In a simulation time comes to each deadline by itself.
  private static func served(_ deadline: UInt64, _ leeway: UInt64) -> UInt64 {
    World.isSimulated ? deadline : roundest(deadline, leeway)
  }

  /// Whether that is what runs it; true for nil.
  func fires(_ other: Fire?) -> Bool {
    guard let other else { return true }
    // unsafe: C functions are addresses.
    return unsafeBitCast(fire, to: UInt.self) == unsafeBitCast(other, to: UInt.self)
  }

  /// Whether a wheel holds it. Read under the wheel's lock.
  var isPending: Bool { list != Self.noList }

  /// The roundest instant from `deadline` to `deadline + leeway`: the one divisible by the highest power of two.
  ///
  /// Timers whose spans overlap meet there without knowing of each other.
  ///
  /// The bits of `deadline - 1` and of the end agree down to some bit where the end has a one: the end with everything
  /// below that bit cleared is after `deadline - 1`, and nothing rounder is.
  static func roundest(_ deadline: UInt64, _ leeway: UInt64) -> UInt64 {
    if leeway == 0 || deadline == 0 { return deadline }
    let (sum, overflow) = deadline.addingReportingOverflow(leeway)
    let end = overflow ? .max : sum
    let bit = UInt64(63 - ((deadline - 1) ^ end).leadingZeroBitCount)
    return end & (UInt64.max &<< bit)
  }
}

/// A chain of entries on its way from one list to another: linked by `next`, `previous` is not kept.
/// First all are appended, then the chain is sorted if need be, then all are popped.
struct TimerChain {
  private(set) var first: TimerEntry.Pointer?
  private var last: TimerEntry.Pointer?
  private(set) var count = 0
  private var isSorted = true

  /// unsafe: the entry is in no list, and its memory is the user's until it fires.
  mutating func append(_ entry: TimerEntry.Pointer) {
    entry.pointee.next = nil
    if let last {
      if entry.pointee.deadline < last.pointee.deadline { isSorted = false }
      last.pointee.next = entry
    } else {
      first = entry
    }
    last = entry
    count += 1
  }

  mutating func popFirst() -> TimerEntry.Pointer? {
    guard let entry = first else { return nil }
    first = entry.pointee.next
    return entry
  }

  /// Orders by deadline; equal ones stay in the order in which they were appended.
  mutating func sort() {
    guard !isSorted else { return }
    first = Self.sorted(&first, count)
    while let next = last?.pointee.next { last = next }
    isSorted = true
  }

  /// Takes `count` entries off `rest` and returns them in order.
  private static func sorted(_ rest: inout TimerEntry.Pointer?, _ count: Int) -> TimerEntry.Pointer? {
    if count == 0 { return nil }
    if count == 1 {
      let entry = rest
      rest = entry?.pointee.next
      entry?.pointee.next = nil
      return entry
    }
    let older = sorted(&rest, count / 2)
    let newer = sorted(&rest, count - count / 2)
    return merged(older, newer)
  }

  private static func merged(_ older: TimerEntry.Pointer?, _ newer: TimerEntry.Pointer?) -> TimerEntry.Pointer? {
    var (a, b) = (older, newer)
    var first: TimerEntry.Pointer?
    var last: TimerEntry.Pointer?
    while let left = a, let right = b {
      let leftComesFirst = left.pointee.deadline <= right.pointee.deadline
      let entry = leftComesFirst ? left : right
      if leftComesFirst { a = left.pointee.next } else { b = right.pointee.next }
      if let last { last.pointee.next = entry } else { first = entry }
      last = entry
    }
    let rest = a ?? b
    if let last { last.pointee.next = rest } else { first = rest }
    return first
  }
}
