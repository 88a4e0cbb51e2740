// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// The live timers: one wheel per clock, under one lock.
///
/// `earliest` is the instant on the uptime clock by which a thread must look again. The wall and continuous wheels have their
/// own, because those clocks may step or run on while the machine sleeps.
struct Timers: ~Copyable, @unchecked Sendable {  // the wheels are guarded by `lock`
  typealias Wheel = UnsafeMutablePointer<TimerWheel>

  let lock = Lock()
  /// Guarded by `lock`: indexed by `Clock.rawValue`; each made with its clock's first timer.
  let wheels: UnsafeMutablePointer<Wheel?>
  /// Written under the lock: what each wheel waits for; `UInt64.max` for nothing.
  let earliest: UnsafeMutablePointer<Atomic<UInt64>>

  static let clocks = 3

  init() {
    // unsafe: both arrays live as long as the engine.
    wheels = .allocate(capacity: Self.clocks)
    earliest = .allocate(capacity: Self.clocks)
    wheels.initialize(repeating: nil, count: Self.clocks)
    for index in 0..<Self.clocks { (earliest + index).initialize(to: Atomic(.max)) }
  }

  var isEmpty: Bool {
    for index in 0..<Self.clocks {
      // seq-cst: asked by a sleeper after it has joined the idle list; the adder writes it first and looks at the
      // sleepers afterwards.
      if earliest[index].load(ordering: .sequentiallyConsistent) != .max { return false }
    }
    return true
  }

  func earliest(on clock: Clock) -> UInt64 {
    // seq-cst: the poller announces how long it will sleep, then looks here; the adder writes here, then looks at the
    // announcement.
    earliest[Int(clock.rawValue)].load(ordering: .sequentiallyConsistent)
  }

  /// Starts a timer. The entry belongs to the wheel until it fires or `cancel` has returned true.
  ///
  /// - Parameter isReturning: The calling thread will look after the timers by itself in a moment, if it is a worker.
  func add(
    _ entry: UnsafeMutablePointer<TimerEntry>, on clock: Clock, isReturning: Bool = false, in engine: borrowing Engine
  ) {
    let index = Int(clock.rawValue)
    lock.lock()
    insert(entry, index)
    let sooner = noteEarliest(index)
    lock.unlock()
    if sooner { announceEarliest(on: clock, isReturning: isReturning, in: engine) }
  }

  /// The caller holds the lock.
  private func insert(_ entry: UnsafeMutablePointer<TimerEntry>, _ index: Int) {
    wheel(index).pointee.insert(entry)
    entry.pointee.generation = Thread.forkGeneration
  }

  /// The caller holds the lock. What a forked child's parent has put into its wheel is in no list here.
  private func remove(_ entry: UnsafeMutablePointer<TimerEntry>, _ index: Int) {
    if entry.pointee.generation == Thread.forkGeneration { return wheel(index).pointee.remove(entry) }
    entry.pointee.list = TimerEntry.noList
  }

  /// Gives a pending timer another time.
  ///
  /// - Returns: false if it has fired, or is firing: then the entry is not the caller's.
  func move(
    _ entry: UnsafeMutablePointer<TimerEntry>, on clock: Clock, to deadline: UInt64, leeway: UInt64,
    in engine: borrowing Engine
  ) -> Bool {
    let index = Int(clock.rawValue)
    lock.lock()
    guard entry.pointee.isPending else {
      lock.unlock()
      return false
    }
    remove(entry, index)
    entry.pointee.schedule(deadline, leeway: leeway)
    insert(entry, index)
    let sooner = noteEarliest(index)
    lock.unlock()
    if sooner { announceEarliest(on: clock, isReturning: false, in: engine) }
    return true
  }

  private func announceEarliest(on clock: Clock, isReturning: Bool, in engine: borrowing Engine) {
    engine.poller.timerAdded(
      dueAt: uptimeOfEarliest(on: clock), needsArming: clock != .uptime, isReturning: isReturning, in: engine)
  }

  /// When `clock`'s wheel must be looked at, as an instant of the uptime clock, if no clock steps until then.
  func uptimeOfEarliest(on clock: Clock) -> UInt64 {
    let instant = earliest(on: clock)
    if clock == .uptime || instant == .max { return instant }
    return Clock.uptime.now().addingSaturated(instant.nanoseconds(from: clock.now()))
  }

  /// Stops a timer.
  ///
  /// - Returns: false if it has fired, or is firing: then the entry is not the caller's.
  func cancel(_ entry: UnsafeMutablePointer<TimerEntry>, on clock: Clock) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    guard entry.pointee.isPending else { return false }
    let index = Int(clock.rawValue)
    remove(entry, index)
    // relaxed: the only effect of an emptied wheel is that a sleeper may sleep longer.
    if wheel(index).pointee.isEmpty { earliest[index].store(.max, ordering: .relaxed) }
    return true
  }

  /// Fires every timer that is due. The caller holds the poller's role.
  ///
  /// Due entries are unlinked under the lock and run outside of it: what they run may start and cancel timers.
  ///
  /// - Parameter searcher: The calling worker, if it is counted as searching.
  /// - Returns: whether there were any.
  func fireDue(by searcher: Worker.Pointer? = nil, in engine: borrowing Engine) -> Bool {
    var anyFired = false
    for index in 0..<Self.clocks {
      // relaxed: a hint; a timer added now brings its own wake-up.
      let due = earliest[index].load(ordering: .relaxed)
      if due == .max { continue }
      let now = Clock(rawValue: UInt8(index))!.now()
      if due <= now, fire(index, now, by: searcher, in: engine) { anyFired = true }
    }
    return anyFired
  }

  /// After so many entries, some ten microseconds, the lock is passed on to the threads that wait for it.
  private static let entriesAtOnce = 256
  /// After so many of these steps the caller searches no more: a million timers take a tenth of a second.
  private static let longestSearch = 4

  private func fire(_ index: Int, _ now: UInt64, by searcher: Worker.Pointer?, in engine: borrowing Engine) -> Bool {
    var due = TimerChain()
    if Recorder.isOn { World.tellOfTimers(World.firesTimers) }
    lock.lock()
    let isLong = !wheel(index).pointee.advance(to: now, limit: Self.entriesAtOnce, into: &due)
    if isLong { advanceSlow(index, now, into: &due, by: searcher, in: engine) }
    _ = noteEarliest(index)
    lock.unlock()
    due.sort()
    let anyFired = due.first != nil
    while let entry = due.popFirst() {
      // Very many timers are cold: the next one's line is fetched while this one fires.
      gc_prefetch(due.first)
      entry.pointee.fire(UnsafeMutableRawPointer(entry))
    }
    if isLong { searcher?.pointee.endAsIfInJob(engine) }
    return anyFired
  }

  /// The caller holds the lock.
  @inline(never)
  @_optimize(size)
  private func advanceSlow(
    _ index: Int, _ now: UInt64, into due: inout TimerChain, by searcher: Worker.Pointer?, in engine: borrowing Engine
  ) {
    var steps = 0
    repeat {
      lock.makeWay()
      steps += 1
      if steps == Self.longestSearch, let searcher {
        lock.unlock()
        searcher.pointee.beginAsIfInJob(engine)
        lock.lock()
      }
    } while !wheel(index).pointee.advance(to: now, limit: Self.entriesAtOnce, into: &due)
  }

  /// The caller holds the lock.
  @inline(__always)
  private func wheel(_ index: Int) -> Wheel { wheels[index] ?? makeWheel(index) }

  @inline(never)
  private func makeWheel(_ index: Int) -> Wheel {
    // unsafe: lives as long as the engine.
    let wheel = Wheel.allocate(capacity: 1)
    wheel.initialize(to: TimerWheel(now: Clock(rawValue: UInt8(index))!.now()))
    wheels[index] = wheel
    return wheel
  }

  /// The caller holds the lock.
  ///
  /// - Returns: whether a thread may have to look sooner than before.
  private func noteEarliest(_ index: Int) -> Bool {
    let next = wheel(index).pointee.nextDeadline ?? .max
    // relaxed: written under the lock only.
    let before = earliest[index].load(ordering: .relaxed)
    if next == before { return false }
    // seq-cst: see `earliest(on:)`.
    earliest[index].store(next, ordering: .sequentiallyConsistent)
    return next < before
  }

  /// Takes out the timers of one clock that call `fire`, whenever they are due; all, where that is nil.
  func takeAll(_ clock: Clock, firing fire: TimerEntry.Fire?) -> TimerChain {
    let index = Int(clock.rawValue)
    lock.lock()
    defer { lock.unlock() }
    if wheels[index] == nil { return TimerChain() }
    let taken = wheel(index).pointee.takeAll(firing: fire)
    _ = noteEarliest(index)
    return taken
  }

  func lockForFork() { lock.lock() }
  func unlockAfterFork() { lock.unlock() }
}

extension UInt64 {
  /// The nanoseconds from `now` to this instant; `max` stays "for ever".
  func nanoseconds(from now: UInt64) -> UInt64 {
    if self == .max { return .max }
    return self > now ? self - now : 0
  }

  func addingSaturated(_ other: UInt64) -> UInt64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
