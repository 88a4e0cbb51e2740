// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// The switch between the kernel and a simulation that stands in for it.
//
// It belongs to the thread: `gc_thread.simulated` points to the functions that take the kernel's place for this thread, or to nothing.
// So a program's other threads stay in the real world, and no switch is global but for the recorder's (`Switch.simulate`), which
// every operation of the library looks at anyway. It is asked at cold places alone: before a thread would sleep in the kernel, after
// it has to wake one, where a thread starts, where a clock is read.
//
// World.U1  All simulated threads of a process are of one simulation, and one of them runs at a time. The functions are called by
//     that one, so what is behind them needs no locks.
// World.U2  A thread enters the simulation at its first step and leaves it at its last: it never waits for one world while it is
//     in the other.
// World.U3  A thread of either world may wait in the library for what a thread of the other one does.
//     It waits in the kernel for a lock of the whole process (`ProcessLock`): no simulated thread stands still while it holds one,
//     so the holder is of the real world, and goes on.
//     It waits in its own world for all else. A simulated thread that wakes fewer than it wants to wakes in the kernel as well. A
//     thread of the real world wakes in the kernel alone: a simulated one that waits for it waits for ever, or until its deadline,
//     and the run fails with the escape.
//
// A stranger is a thread that uses the library while simulations go on, and is in none. It has the process's own engine all the time
// (Engine+Worlds.swift).
//
// Rejected: one global switch (the program's other threads would call into the simulation beside it); another `CPlatform`, as
// the checker has it (another library to link: what is tested would not be what is shipped).

/// The world in which the calling thread runs.
enum World {
  /// What stands in for the kernel. Instants are nanoseconds of the uptime clock, `UInt64.max` is never.
  final class Functions {
    /// As `Futex.wait`.
    let wait: (_ address: UnsafeRawPointer, _ expected: UInt32, _ deadline: UInt64) -> Bool
    /// As `Futex.wake`.
    let wake: (_ address: UnsafeRawPointer, _ count: Int) -> Int
    let sleep: (_ nanoseconds: UInt64) -> Void
    let now: () -> UInt64
    /// Starts a thread.
    let start: (_ name: String, _ body: @escaping () -> Void) -> Void
    /// Waits for descriptors; `look` returns how many events there are now, or a negated error.
    let poll: (_ timeout: UInt64, _ look: () -> Int) -> Int
    /// A descriptor of the process's own may have become ready.
    let mayEndPolls: () -> Void
    /// Something has happened that the recorder would write down: another thread may go on here.
    let note: (_ kind: UInt8, _ queue: UInt32) -> Void
    /// The calling thread has used the library in a way that cannot work.
    let misuse: (_ message: String) -> Never
    /// The main queue has items to run.
    let callMain: () -> Void
    let processors: Int
    /// What `note` is about, where that is no queue: its address.
    var object: UInt = 0
    /// Which run of the process's it is, from 1 on.
    var run: UInt32 = 0
    /// The main queue of the run: set by its first thread, at the start.
    var main: AnyObject?
    /// The engine of the run, likewise; and what belongs to that engine, made when it is first needed.
    var engine: UnsafeMutableRawPointer?
    var ioScheduler: UnsafeMutableRawPointer?
    var fileWatches: UnsafeMutableRawPointer?

    init(
      wait: @escaping (UnsafeRawPointer, UInt32, UInt64) -> Bool, wake: @escaping (UnsafeRawPointer, Int) -> Int,
      sleep: @escaping (UInt64) -> Void, now: @escaping () -> UInt64,
      start: @escaping (String, @escaping () -> Void) -> Void, poll: @escaping (UInt64, () -> Int) -> Int,
      mayEndPolls: @escaping () -> Void, note: @escaping (UInt8, UInt32) -> Void,
      misuse: @escaping (String) -> Never, callMain: @escaping () -> Void, processors: Int
    ) {
      self.wait = wait
      self.wake = wake
      self.sleep = sleep
      self.now = now
      self.start = start
      self.poll = poll
      self.mayEndPolls = mayEndPolls
      self.note = note
      self.misuse = misuse
      self.callMain = callMain
      self.processors = processors
    }
  }

  /// Nil in the real world.
  @inline(__always)
  static var current: Functions? {
    // unsafe: `enter` has put it there, and it stays until `leave`.
    simulated.map { Unmanaged<Functions>.fromOpaque($0).takeUnretainedValue() }
  }

  @inline(__always)
  static var isSimulated: Bool { simulated != nil }

  /// The functions, in the calling thread's record.
  @inline(__always)
  private static var simulated: UnsafeMutableRawPointer? {
    get { gc_thread_self().pointee.simulated }
    set { gc_thread_self().pointee.simulated = newValue }
  }

  /// Whether the calling thread is the simulation's first one, which stands for the main thread.
  static var isFirst: Bool { isSimulated && Thread.id == firstID }

  /// The first of the ids that simulated threads have, whatever the kernel calls them: the same ones in each run. They are the greatest
  /// ones that the kernel may give, which it comes to last.
  static let firstID: UInt32 = (1 << 22) - (1 << 12)
  static let mostThreads = 1 << 12 - 1

  /// The calling thread takes part in a simulation from now on. The functions are alive until it leaves.
  static func enter(_ functions: Functions, number: Int) {
    simulated = Unmanaged.passUnretained(functions).toOpaque()
    renumber(firstID + UInt32(number))
  }

  /// It is back in the real world.
  static func leave() {
    simulated = nil
    // The id is 0, so the next use asks the kernel for it.
    renumber(0)
  }

  private static func renumber(_ id: UInt32) {
    let thread = gc_thread_self()
    thread.pointee.tid = id
    // Its place among the queues of a pool was that of the world before.
    thread.pointee.pool = nil
  }

  /// Takes no part while the body runs, under the same id.
  static func setAside(_ body: () -> Void) {
    let functions = simulated
    simulated = nil
    body()
    simulated = functions
  }

  /// For `Functions.note`, beside the recorder's kinds: the step that was noted before is done. In place of a queue there is 1 if the thread
  /// has another one to take on the same object.
  static let done: UInt8 = 0
  /// An item of a queue is about to begin.
  static let itemBegins: UInt8 = 64
  static let signals: UInt8 = 65
  static let awaitsSignal: UInt8 = 66
  static let enters: UInt8 = 67
  static let leaves: UInt8 = 68
  static let awaitsGroup: UInt8 = 69
  /// A thread is about to ask for its turn on a queue, to have a group notify, and to set a timer. These are points where all orders of
  /// operations are looked for, and nothing elsewhere.
  static let asksForTurn: UInt8 = 70
  static let asksToNotify: UInt8 = 71
  static let setsTimer: UInt8 = 72
  /// Likewise: to change a work item (to finish it, to cancel it, to have it notify) or a source (to merge data, to cancel it, to begin or end
  /// a delivery); and to look at one (to begin or await an item, to ask whether it is cancelled).
  static let changes: UInt8 = 73
  static let looks: UInt8 = 74
  /// Likewise: to take out the timers that are due, and to take out one.
  static let firesTimers: UInt8 = 75
  static let stopsTimer: UInt8 = 76
  /// No point: something is done whose orders are not looked for. In place of a queue there is the raw value of a `Beyond`.
  static let isBeyondOrders: UInt8 = 77
  /// A point, of which nothing is written down: indices of a parallel loop have been taken.
  static let claims: UInt8 = 78

  /// Takes a step that the recorder does not write down. In a simulation another thread may go on before it, and behind it.
  ///
  /// - Parameter object: What the step is taken on.
  static func step<Result>(_ kind: UInt8, on object: AnyObject, _ body: () -> Result) -> Result {
    tell(kind, on: object)
    defer { current?.note(done, 0) }
    return body()
  }

  /// As `step`, of a thread that takes another one on the object where this one has not got it what it wants.
  static func attempt(_ kind: UInt8, on object: AnyObject, _ body: () -> Bool) -> Bool {
    tell(kind, on: object)
    let isEnough = body()
    current?.note(done, isEnough ? 0 : 1)
    return isEnough
  }

  /// Another thread may go on before an operation on `object`.
  ///
  /// - Parameter timer: What the same step does to a timer: `setsTimer`, `stopsTimer`, or nothing.
  @inline(never)
  static func tell(_ kind: UInt8, on object: AnyObject, timer: UInt8 = done) {
    guard let world = current else { return }
    Sanitizer.unseen { world.object = UInt(bitPattern: ObjectIdentifier(object)) }
    if timer == done { return world.note(kind, 0) }
    world.note(kind, isPart)
    world.note(timer, 0)
  }

  /// Another thread may go on before an operation on the timers.
  @inline(never)
  static func tellOfTimers(_ kind: UInt8) { current?.note(kind, 0) }

  /// In place of a queue, and no queue's number: the operation belongs to the step that is noted next, and no point is before it.
  static let isPart = UInt32.max

  /// What is done whose orders are not looked for.
  enum Beyond: UInt32 {
    /// A task of Swift runs.
    case tasks
    /// The end of an object submits something: which thread lets go of it last is not ordered.
    case references
    /// A thread waits for a lock of the library.
    case locks
    /// The kernel is asked for events, or to transfer data.
    case kernel
    /// A queue upon a queue is activated: it asks for its turn there.
    case activation
    /// `asyncAndWait` on a queue upon a queue: how it asks for its turns depends on whether the queue is idle.
    case asyncAndWait
    /// A pool of queues chooses by the thread or by the load, or tells its figures.
    case pools
  }

  @inline(never)
  static func goBeyondOrders(_ what: Beyond) { current?.note(isBeyondOrders, what.rawValue) }

  /// Another thread may go on before the indices of a parallel loop that have been taken are done.
  @inline(never)
  static func hasClaimed() { current?.note(claims, 0) }

  // MARK: Clocks

  /// How far the wall clock of a simulation is ahead of its uptime clock: it begins in the year 2001.
  private static let wallDistance: UInt64 = 1_000_000_000_000_000_000

  /// Whether Swift's clocks go with the time of a simulation, on its threads.
  static let haveSwiftClocks = Atomic<Bool>(false)

  static func distance(of clock: Clock) -> UInt64 { clock == .wall ? wallDistance : 0 }

  static func uptime(of deadline: Deadline) -> UInt64 {
    if deadline.isNever { return .max }
    let distance = distance(of: deadline.clock)
    return deadline.nanoseconds > distance ? deadline.nanoseconds - distance : 0
  }
}
