// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// The numbers of queues and other objects in the insight region, and their entries there.
///
/// An object gets its number when it is made, if that has been asked for, or when it is first recorded. Entries of objects
/// that have gone are used again, once the entries that were never used have run out and the object has been gone for a second
/// or so.
enum InsightObjects {
  enum Kind: UInt32 {
    case serial = 1
    case concurrent
    case workloop
    case main
    case global
    case source
    case timer
    case channel
    case group

    var isQueue: Bool { rawValue <= Kind.global.rawValue }
  }

  /// What an entry says of an object.
  struct Facts {
    var kind: Kind
    var address: UnsafeRawPointer
    /// A queue's label; what kind of source.
    var label = ""
    var target: UInt32 = 0
    var qos: UInt16 = 0
    var width: UInt16 = 1
    var begin = State()
    /// What an object that is no queue watches, waits for and has.
    var state = InsightLayout.ObjectState()
  }

  /// Guarded by the region's lock: entries behind it have never been used.
  nonisolated(unsafe) private static var used = 1
  /// Behind the last entry that has been used. The caller holds the region's lock.
  static var end: Int { used }

  /// Guarded by the region's lock: how many entries are of objects that have gone.
  nonisolated(unsafe) private static var gone = 0
  /// Guarded by the region's lock: where the search for an entry to use again goes on.
  nonisolated(unsafe) private static var cursor = 1
  /// So many entries does one search look at.
  private static let searched = 256

  /// A number for an object; 0 where there is no region, or no entry is free. `assign` stores it, under the lock: of two
  /// threads that ask at once the second one finds it by `known`.
  @inline(never)
  @_optimize(size)
  static func add(_ facts: Facts, known: () -> UInt32, assign: (UInt32) -> Void) -> UInt32 {
    guard let memory = InsightRegion.awaited else { return 0 }
    // The tool that has asked for objects may have died without turning them off.
    InsightRegion.lookAfterTool()
    InsightRegion.lock.lock()
    defer { InsightRegion.lock.unlock() }
    let existing = known()
    if existing != 0 { return existing }
    let number = freeEntry(memory)
    if number == 0 { return 0 }
    let entry = InsightRegion.objects(memory) + number
    InsightSequence(entry.sequence).change {
      entry.pointee.kind = facts.kind.rawValue
      entry.pointee.address = UInt64(UInt(bitPattern: facts.address))
      entry.pointee.made = Cycles.now
      entry.pointee.target = facts.target
      entry.pointee.qos = facts.qos
      entry.pointee.width = facts.width
      entry.pointee.suspensions = facts.begin.suspensions
      entry.pointee.inactive = facts.begin.isInactive ? 1 : 0
      entry.pointee.ended = 0
      if facts.kind.isQueue {
        InsightText.copy(facts.label, to: entry.label)
      } else {
        entry.state.pointee = facts.state
        entry.state.pointee.flags = facts.begin.isCancelled ? InsightLayout.cancelled : 0
        InsightText.copy(facts.label, to: entry.state.what)
      }
    }
    assign(UInt32(number))
    return UInt32(number)
  }

  /// The caller holds the lock.
  @_optimize(size)
  private static func freeEntry(_ memory: UnsafeMutableRawPointer) -> Int {
    let most = InsightRegion.layout.objects
    if used < most {
      used += 1
      InsightRegion.head.pointee.objects_used = UInt32(used)
      return used - 1
    }
    // Without this, a queue that has no number would search at each of its waits, under the lock that all share.
    if gone == 0 { return 0 }
    let now = Cycles.now
    for _ in 0..<min(searched, most) {
      cursor = cursor + 1 == most ? 1 : cursor + 1
      let ended = InsightRegion.objects(memory)[cursor].ended
      if ended != 0, now > ended, (now - ended) / 1_000 > Cycles.perMillisecond {
        gone -= 1
        return cursor
      }
    }
    return 0
  }

  /// The object that has the number goes.
  @inline(never)
  @_optimize(size)
  static func end(_ number: UInt32) {
    update(number) {
      $0.pointee.ended = max(1, Cycles.now)
      gone += 1
    }
    if Recorder.isOn { Recorder.note(.freed, queue: number) }
  }

  /// The object is suspended so often. Of two threads that come at once, the second one counts what is newest.
  static func suspend(_ number: UInt32, _ count: @autoclosure () -> UInt32) {
    update(number) { $0.pointee.suspensions = count() }
  }

  /// The object was cancelled, or closed.
  static func cancel(_ number: UInt32) { update(number) { $0.state.pointee.flags = InsightLayout.cancelled } }

  /// The object has another target.
  static func retarget(_ number: UInt32, _ target: UInt32) { update(number) { $0.pointee.target = target } }

  /// The object is not inactive any more.
  static func activate(_ number: UInt32) { update(number) { $0.pointee.inactive = 0 } }

  /// How often an object is suspended, and whether it is inactive, cancelled or closed.
  struct State {
    var suspensions: UInt32 = 0
    var isInactive = false
    var isCancelled = false
  }

  /// The state is read under the lock: of two threads that change it at once, the second one finds the newest.
  static func setState(_ number: UInt32, _ read: () -> State) {
    update(number) { entry in
      let state = read()
      entry.pointee.suspensions = state.suspensions
      entry.pointee.inactive = state.isInactive ? 1 : 0
      entry.state.pointee.flags = state.isCancelled ? InsightLayout.cancelled : 0
    }
  }

  /// When a timer fires next, by its clock.
  static func setSchedule(_ number: UInt32, due: UInt64, interval: UInt64, leeway: UInt64, clock: Clock) {
    update(number) {
      $0.state.show(due: due, interval: interval, leeway: leeway, clock: UInt32(clock.rawValue))
    }
  }

  /// A channel's descriptor, its operations that have not ended, and the barriers that wait for them.
  static func setOperations(_ number: UInt32, descriptor: Int32, count: Int, barriers: Int) {
    update(number) {
      $0.state.show(descriptor: descriptor, operations: UInt64(count), barriers: UInt32(clamping: barriers))
    }
  }

  /// A group is entered or left, a channel has bytes to write or has written them.
  ///
  /// Several threads do that at once, and without the lock: each adds its part.
  enum Sum { case count, bytes }

  @inline(never)
  static func add(_ change: Int, to sum: Sum, of number: UInt32) {
    guard let state = state(of: number) else { return }
    // relaxed: a figure.
    (sum == .count ? state.count : state.bytes).pointee
      .wrappingAdd(UInt64(bitPattern: Int64(change)), ordering: .relaxed)
  }

  /// A group has been entered, or is being left: a reader that finds the same moment twice knows that nothing was entered or left.
  @inline(never)
  static func addMembers(_ change: Int, of number: UInt32) {
    add(change, to: .count, of: number)
    state(of: number)?.show(change: Cycles.now)
  }

  /// Since when an operation of a channel has waited for its descriptor, by the counter; 0: none does any more. There is one such
  /// operation for either direction, and it alone says so.
  @inline(never)
  static func setWait(_ number: UInt32, reads: Bool, since moment: UInt64) {
    state(of: number)?.show(reads: reads, since: moment)
  }

  private static func state(of number: UInt32) -> UnsafeMutablePointer<InsightLayout.ObjectState>? {
    guard let memory = InsightRegion.memory, number != 0, Int(number) < InsightRegion.layout.objects else { return nil }
    return (InsightRegion.objects(memory) + Int(number)).state
  }

  /// Changes what belongs together in the entry of a number.
  @inline(never)
  private static func update(_ number: UInt32, _ body: (UnsafeMutablePointer<InsightLayout.ObjectEntry>) -> Void) {
    guard let memory = InsightRegion.memory else { return }
    InsightRegion.lock.lock()
    // A number of the parent's says nothing in the child of a fork.
    if number != 0, Int(number) < used {
      let entry = InsightRegion.objects(memory) + Int(number)
      InsightSequence(entry.sequence).change { body(entry) }
    }
    InsightRegion.lock.unlock()
  }

  /// Child of a fork, which has one thread: it begins with a region of its own.
  @_optimize(size)
  static func resetAfterFork() {
    used = 1
    gone = 0
    cursor = 1
  }
}
