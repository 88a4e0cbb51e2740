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
    /// The main queue of the run: set by its first thread, at the start.
    var main: AnyObject?

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
    gc_thread_self().pointee.simulated.map { Unmanaged<Functions>.fromOpaque($0).takeUnretainedValue() }
  }

  @inline(__always)
  static var isSimulated: Bool { gc_thread_self().pointee.simulated != nil }

  /// Whether the calling thread is the simulation's first one, which stands for the main thread.
  static var isFirst: Bool { isSimulated && Thread.id == firstID }

  /// The first of the ids that simulated threads have, whatever the kernel calls them: the same ones in each run. They are the greatest
  /// ones that the kernel may give, which it comes to last.
  static let firstID: UInt32 = (1 << 22) - (1 << 12)
  static let mostThreads = 1 << 12 - 1

  /// The calling thread takes part in a simulation from now on. The functions are alive until it leaves.
  static func enter(_ functions: Functions, number: Int) {
    let thread = gc_thread_self()
    thread.pointee.simulated = Unmanaged.passUnretained(functions).toOpaque()
    thread.pointee.tid = firstID + UInt32(number)
  }

  /// It is back in the real world.
  static func leave() {
    let thread = gc_thread_self()
    thread.pointee.simulated = nil
    // The id is 0, so the next use asks the kernel for it.
    thread.pointee.tid = 0
  }

  /// For `Functions.note`, beside the recorder's kinds: the step that was noted before is done.
  static let done: UInt8 = 0
  /// An item of a queue is about to begin.
  static let itemBegins: UInt8 = 64
  static let signals: UInt8 = 65
  static let awaitsSignal: UInt8 = 66
  static let enters: UInt8 = 67
  static let leaves: UInt8 = 68
  static let awaitsGroup: UInt8 = 69

  /// Takes a step that the recorder does not write down. In a simulation another thread may go on before it, and behind it.
  static func step<Result>(_ kind: UInt8, _ body: () -> Result) -> Result {
    current?.note(kind, 0)
    defer { current?.note(done, 0) }
    return body()
  }

  // MARK: Clocks

  /// How far the wall clock of a simulation is ahead of its uptime clock: it begins in the year 2001.
  private static let wallDistance: UInt64 = 1_000_000_000_000_000_000

  static func distance(of clock: Clock) -> UInt64 { clock == .wall ? wallDistance : 0 }

  static func uptime(of deadline: Deadline) -> UInt64 {
    if deadline.isNever { return .max }
    let distance = distance(of: deadline.clock)
    return deadline.nanoseconds > distance ? deadline.nanoseconds - distance : 0
  }

  // MARK: Threads that take no part

  /// The kernel's id of a thread that has used the library beside a simulation; 0 if none has.
  private static let stranger = Atomic<UInt32>(0)

  /// Tells the simulation what the recorder would write down; or notes that the calling thread is not in it.
  @inline(never)
  static func note(_ kind: UInt8, _ queue: UInt32) {
    if let world = current { return world.note(kind, queue) }
    // relaxed: a number by itself.
    _ = stranger.compareExchange(expected: 0, desired: Thread.id, ordering: .relaxed)
  }

  /// The first stranger since this was asked before.
  static func takeStranger() -> UInt32 {
    // relaxed: a number by itself.
    stranger.exchange(0, ordering: .relaxed)
  }
}

/// Where one thread of the real world waits until another one tells it to go on: what threads of a simulation hand to each other.
final class Baton: Sendable {
  private let word = Atomic<UInt32>(Baton.empty)

  private static let empty: UInt32 = 0
  private static let token: UInt32 = 1
  private static let asleep: UInt32 = 2

  /// The waiter goes on, now or when it comes to wait.
  func pass() {
    // pairs with: take – publishes what the calling thread has done
    if word.exchange(Self.token, ordering: .releasing) == Self.asleep {
      _ = _withUnprotectedUnsafePointer(to: word) { gc_futex_wake($0, 1) }
    }
  }

  /// Waits for one `pass`. One thread at a time.
  func wait() {
    while !fallAsleep() {
      _ = _withUnprotectedUnsafePointer(to: word) { gc_futex_wait($0, Self.asleep, nil) }
    }
  }

  /// As `wait`, for so long at most.
  ///
  /// - Returns: false if the time has passed.
  func wait(nanoseconds: UInt64) -> Bool {
    let instant = gc_clock_uptime() + nanoseconds
    var deadline = timespec(tv_sec: Int(instant / 1_000_000_000), tv_nsec: Int(instant % 1_000_000_000))
    while !fallAsleep() {
      if gc_clock_uptime() >= instant { return false }
      _ = _withUnprotectedUnsafePointer(to: word) { gc_futex_wait($0, Self.asleep, &deadline) }
    }
    return true
  }

  private func take() -> Bool {
    // relaxed: a look; the exchange acquires.
    if word.load(ordering: .relaxed) != Self.token { return false }
    // pairs with: pass – publishes what the thread has done that ran before
    return word.exchange(Self.empty, ordering: .acquiring) == Self.token
  }

  /// Says that the thread sleeps, or takes the token that is there; true for the latter.
  private func fallAsleep() -> Bool {
    // relaxed: marking takes nothing over. The exchange fails because of a token, or of the mark of an earlier round.
    _ = word.compareExchange(expected: Self.empty, desired: Self.asleep, ordering: .relaxed)
    return take()
  }

  /// Starts a thread in the real world, also where the calling one is in the simulated one.
  static func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
    let box = Unmanaged.passRetained(BodyBox(body: body))
    let entry: Thread.Body = { raw in
      // unsafe: retained above, for this thread.
      Unmanaged<BodyBox>.fromOpaque(raw!).takeRetainedValue().body()
    }
    if gc_thread_start(entry, box.toOpaque(), 0) == 0 { return true }
    box.release()
    return false
  }
}

private final class BodyBox: Sendable {
  let body: @Sendable () -> Void
  init(body: @escaping @Sendable () -> Void) { self.body = body }
}
